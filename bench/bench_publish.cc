// What the fence costs: small publications per second through lake::lease::FencedStore, with the election running, against the
// disk itself and against the simplest correct way.
//
//   raw      RocksDB's own synced Put from as many threads, which RocksDB groups by itself. Nothing is checked.
//   mutex    one mutex around: read the term and compare, read the key, synced Put.
//   fenced   Lake: RocksMetaStore, AuthoritySlot, Election and FencedStore as lake::server wires them.
//
// Each has a database directory of its own. A publication is one record of the same bytes under a fresh key, expected to be
// absent. A block lets the given number of threads publish as fast as they are answered for a fixed time, with each of the three
// in turn, the first one changing; the figures are medians over the blocks. All of it happens once on a disk and once in memory
// (tmpfs), where a sync costs nothing, so that what Lake itself costs stands out.
//
// Afterwards Lake's store is closed and opened again, and every publication that was acknowledged has to be there, and no other.
//
// --json prints one object to standard output, and the tables to standard error. Per-writer objects stand in `runs` (disk) and in
// `tmpfs`:
//   writers                             threads that publish
//   raw_per_s, mutex_per_s, fenced_per_s    publications per second
//   raw_p50_us, fenced_p50_us           median time of one publication
//   fenced_to_raw, fenced_to_mutex      median over the blocks of the quotient of the rates
//   p50_ratio                           median over the blocks of fenced_p50 / raw_p50
//   overhead_us                         (tmpfs) median over the blocks of 1/fenced_per_s - 1/raw_per_s
// and beside them: benchmark ("publish"), blocks, block_ms, record_bytes, acknowledged, recovered.

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <linux/magic.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <sys/statfs.h>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/election.h"
#include "lake/lease/epoch.h"
#include "lake/lease/fenced_store.h"
#include "lake/metastore/rocksdb/rocks_metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/bench_support.h"

namespace {

using lake::Duration;
using lake::Instant;
using lake::testing::Die;
using lake::testing::Gate;
using lake::testing::kBlocksMin;
using lake::testing::Median;
using lake::testing::Must;
using lake::testing::ScratchDir;

constexpr std::size_t kRecordBytes = 256;
constexpr std::chrono::seconds kPatience{60};
// Below one partition, as operations are.
constexpr std::string_view kKeyPrefix = "op/benchmark/";
constexpr std::string_view kTermKey = "lease/term";

void Must(const rocksdb::Status& status) {
  if (!status.ok()) {
    Die(status.ToString());
  }
}

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double Microseconds(Duration duration) {
  return Seconds(duration) * 1e6;
}

bool IsInMemory(const std::string& path) {
  struct statfs info{};
  if (statfs(path.c_str(), &info) != 0) {
    Die(fmt::format("cannot look at {}", path));
  }
  return info.f_type == TMPFS_MAGIC;
}

// The key of a publication. The keys of one run sort in the order of (run, writer, number).
std::string Key(int run, int writer, std::uint64_t number) {
  return fmt::format("{}{:04}-{:03}-{:012}", kKeyPrefix, run, writer, number);
}

// One of the three. Publish is called by many threads, returns when the record is durable, and ends the program when it fails.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual void Publish(std::string key) = 0;

 protected:
  const std::string& record() const { return record_; }

 private:
  const std::string record_ = std::string(kRecordBytes, 'r');
};

class RawRocks : public Contender {
 public:
  explicit RawRocks(const std::string& path) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size =
        lake::metastore::RocksMetaStore::Options().write_buffer_bytes;  // They flush alike.
    rocksdb::DB* db = nullptr;
    Must(rocksdb::DB::Open(options, path, &db));
    db_.reset(db);
    synced_.sync = true;
  }

  void Publish(std::string key) override { Must(db_->Put(synced_, key, record())); }

 protected:
  rocksdb::DB& db() { return *db_; }

  const rocksdb::WriteOptions& synced() const { return synced_; }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions synced_;
};

class OneMutex final : public RawRocks {
 public:
  explicit OneMutex(const std::string& path) : RawRocks(path) {
    Must(db().Put(synced(), std::string(kTermKey), term_));
  }

  void Publish(std::string key) override {
    const lake::MutexLock lock(mutex_);
    std::string found;
    Must(db().Get({}, std::string(kTermKey), &found));
    if (found != term_ || !db().Get({}, key, &found).IsNotFound()) {
      Die("one mutex: an expectation does not hold");
    }
    Must(db().Put(synced(), key, record()));
  }

 private:
  const std::string term_ = std::string(kRecordBytes, 't');
  lake::Mutex mutex_;
};

class Fenced final : public Contender {
 public:
  Fenced(const std::string& path, lake::Clock& clock, lake::Random& random)
      : clock_(clock),
        store_(Must(lake::metastore::RocksMetaStore::Open(clock, {.path = path}))),
        slot_(clock),
        fenced_(*store_, clock, slot_),
        election_(Must(lake::lease::Election::Create(
            *store_, clock, slot_,
            {.identity = {.node = "bench",
                          .session = lake::Uuid::Random7(clock, random),
                          .address = ""},
             .config = {},
             .single_instance = true,
             .on_won = {}}))) {
    election_->Start();
    Must(election_->WaitForAuthority(clock.Now() + kPatience));
    epoch_ = Must(fenced_.CurrentEpoch());
  }

  void Publish(std::string key) override {
    lake::metastore::Transaction transaction;
    transaction.Put(std::move(key), lake::metastore::Expectation::Absent(), record());
    const auto answer = Must(fenced_.Commit(transaction, epoch_, clock_.Now() + kPatience));
    if (!std::holds_alternative<lake::metastore::Committed>(answer)) {
      Die("fenced: an expectation does not hold");
    }
  }

  void Release() {
    Must(election_->Release([](lake::Deadline) {}, clock_.Now() + kPatience));
  }

 private:
  lake::Clock& clock_;
  std::unique_ptr<lake::metastore::RocksMetaStore> store_;
  lake::lease::AuthoritySlot slot_;
  lake::lease::FencedStore fenced_;
  std::unique_ptr<lake::lease::Election> election_;
  lake::lease::Epoch epoch_;
};

struct Sample {
  double per_s = 0;
  double p50_us = 0;
  std::vector<std::uint64_t> published;  // By each writer.
};

// Lets `writers` threads publish for about `time`.
Sample Measure(const lake::Clock& clock, Contender& contender, int run, int writers,
               Duration time) {
  std::vector<std::vector<double>> latencies_us(static_cast<std::size_t>(writers));
  Instant end;
  Gate gate;
  std::vector<std::unique_ptr<lake::Thread>> threads;
  threads.reserve(static_cast<std::size_t>(writers));
  for (int writer = 0; writer < writers; ++writer) {
    threads.push_back(std::make_unique<lake::Thread>("writer", [&, writer] {
      std::vector<double>& mine = latencies_us[static_cast<std::size_t>(writer)];
      gate.Pass();
      Instant begun = clock.Now();
      while (begun < end) {
        contender.Publish(Key(run, writer, mine.size()));
        const Instant done = clock.Now();
        mine.push_back(Microseconds(done - begun));
        begun = done;
      }
    }));
  }
  const Instant start = clock.Now();
  end = start + time;
  gate.Open();
  for (const auto& thread : threads) {
    thread->Join();
  }
  const Duration elapsed = clock.Now() - start;
  Sample sample;
  std::vector<double> all_us;
  for (const std::vector<double>& mine : latencies_us) {
    sample.published.push_back(mine.size());
    all_us.insert(all_us.end(), mine.begin(), mine.end());
  }
  sample.per_s = static_cast<double>(all_us.size()) / Seconds(elapsed);
  sample.p50_us = Median(std::move(all_us));
  return sample;
}

struct Plan {
  std::vector<int> writers = {1, 8, 32, 128};
  int blocks = kBlocksMin + 1;
  int block_ms = 500;
};

struct Run {
  int writers = 0;
  double raw_per_s = 0;
  double mutex_per_s = 0;
  double fenced_per_s = 0;
  double raw_p50_us = 0;
  double fenced_p50_us = 0;
  double fenced_to_raw = 0;
  double fenced_to_mutex = 0;
  double p50_ratio = 0;
  double overhead_us = 0;
};

// The publications of one place that were acknowledged.
struct Acknowledged {
  int run = 0;
  std::vector<std::uint64_t> published;  // By each writer.
};

struct Contenders {
  RawRocks raw;
  OneMutex mutex;
  Fenced fenced;
};

Run MeasureWriters(const lake::Clock& clock, Contenders& contenders, int writers, const Plan& plan,
                   std::vector<Acknowledged>& acknowledged) {
  enum : std::size_t { kRaw, kMutex, kFenced, kCount };

  Contender* const all[kCount] = {&contenders.raw, &contenders.mutex, &contenders.fenced};
  std::vector<double> per_s[kCount];
  std::vector<double> p50_us[kCount];
  std::vector<double> to_raw;
  std::vector<double> to_mutex;
  std::vector<double> p50_ratio;
  std::vector<double> overhead_us;
  for (int block = 0; block < plan.blocks; ++block) {
    Sample samples[kCount];
    for (std::size_t turn = 0; turn < kCount; ++turn) {
      const std::size_t which = (turn + static_cast<std::size_t>(block)) % kCount;
      const int run = static_cast<int>(acknowledged.size());
      samples[which] =
          Measure(clock, *all[which], run, writers, std::chrono::milliseconds(plan.block_ms));
      per_s[which].push_back(samples[which].per_s);
      p50_us[which].push_back(samples[which].p50_us);
    }
    to_raw.push_back(samples[kFenced].per_s / samples[kRaw].per_s);
    to_mutex.push_back(samples[kFenced].per_s / samples[kMutex].per_s);
    p50_ratio.push_back(samples[kFenced].p50_us / samples[kRaw].p50_us);
    overhead_us.push_back(1e6 / samples[kFenced].per_s - 1e6 / samples[kRaw].per_s);
    acknowledged.push_back(
        {.run = static_cast<int>(acknowledged.size()), .published = samples[kFenced].published});
  }
  return {.writers = writers,
          .raw_per_s = Median(per_s[kRaw]),
          .mutex_per_s = Median(per_s[kMutex]),
          .fenced_per_s = Median(per_s[kFenced]),
          .raw_p50_us = Median(p50_us[kRaw]),
          .fenced_p50_us = Median(p50_us[kFenced]),
          .fenced_to_raw = Median(to_raw),
          .fenced_to_mutex = Median(to_mutex),
          .p50_ratio = Median(p50_ratio),
          .overhead_us = Median(overhead_us)};
}

// What a place showed.
struct Results {
  std::vector<Run> runs;
  std::uint64_t acknowledged = 0;
  std::uint64_t recovered = 0;
};

// Opens the store again and compares its keys with those that were acknowledged, one by one.
std::uint64_t Recount(lake::Clock& clock, const std::string& path,
                      const std::vector<Acknowledged>& acknowledged) {
  const auto store = Must(lake::metastore::RocksMetaStore::Open(clock, {.path = path}));
  lake::metastore::Page page;
  std::size_t at = 0;
  std::string after;
  std::uint64_t found = 0;
  // Returns the next key of the store; nothing at the end.
  const auto next = [&]() -> std::optional<std::string> {
    while (at == page.entries.size()) {
      if (found != 0 && !page.next.has_value()) {
        return std::nullopt;
      }
      page = Must(
          store->Scan(kKeyPrefix, after, lake::metastore::kScanLimitMax, clock.Now() + kPatience));
      after = page.next.value_or("");
      at = 0;
      if (page.entries.empty() && !page.next.has_value()) {
        return std::nullopt;
      }
    }
    ++found;
    return page.entries[at++].key;
  };
  for (const Acknowledged& run : acknowledged) {
    for (std::size_t writer = 0; writer < run.published.size(); ++writer) {
      for (std::uint64_t number = 0; number < run.published[writer]; ++number) {
        const std::string expected = Key(run.run, static_cast<int>(writer), number);
        const std::optional<std::string> key = next();
        if (key != expected) {
          Die(fmt::format("after reopening: {} was acknowledged, {} was found", expected,
                          key.value_or("nothing")));
        }
      }
    }
  }
  if (const std::optional<std::string> key = next(); key.has_value()) {
    Die(fmt::format("after reopening: {} was found and never acknowledged", *key));
  }
  return found;
}

Results MeasurePlace(lake::Clock& clock, lake::Random& random, const std::string& parent,
                     const Plan& plan) {
  const ScratchDir dir(parent);
  const std::string lake_path = dir.path() + "/lake";
  std::vector<Acknowledged> acknowledged;
  Results results;
  {
    Contenders contenders{.raw = RawRocks(dir.path() + "/raw"),
                          .mutex = OneMutex(dir.path() + "/mutex"),
                          .fenced = Fenced(lake_path, clock, random)};
    for (const int writers : plan.writers) {
      fmt::print(stderr, "{}: {} writers\n", parent, writers);
      results.runs.push_back(MeasureWriters(clock, contenders, writers, plan, acknowledged));
    }
    contenders.fenced.Release();
  }
  for (const Acknowledged& run : acknowledged) {
    for (const std::uint64_t published : run.published) {
      results.acknowledged += published;
    }
  }
  results.recovered = Recount(clock, lake_path, acknowledged);
  return results;
}

void PrintTable(std::FILE* out, std::string_view place, const Results& results) {
  fmt::print(out, "\nsynced publications on {}: {} acknowledged, {} there after reopening\n\n",
             place, results.acknowledged, results.recovered);
  fmt::print(out, "{:>7} {:>9} {:>9} {:>9} {:>10} {:>13} {:>11} {:>8} {:>8} {:>12}\n", "writers",
             "raw/s", "mutex/s", "fenced/s", "raw p50 us", "fenced p50 us", "fenced/raw", "/mutex",
             "p50", "overhead us");
  for (const Run& run : results.runs) {
    fmt::print(out,
               "{:>7} {:>9.0f} {:>9.0f} {:>9.0f} {:>10.0f} {:>13.0f} {:>11.2f} {:>7.1f}x {:>7.2f}x "
               "{:>12.1f}\n",
               run.writers, run.raw_per_s, run.mutex_per_s, run.fenced_per_s, run.raw_p50_us,
               run.fenced_p50_us, run.fenced_to_raw, run.fenced_to_mutex, run.p50_ratio,
               run.overhead_us);
  }
}

std::string RunsJson(const Results& results) {
  std::string json;
  for (const Run& run : results.runs) {
    json += fmt::format(
        R"({}{{"writers":{},"raw_per_s":{:.0f},"mutex_per_s":{:.0f},"fenced_per_s":{:.0f},)"
        R"("raw_p50_us":{:.1f},"fenced_p50_us":{:.1f},"fenced_to_raw":{:.3f},"fenced_to_mutex":{:.2f},)"
        R"("p50_ratio":{:.3f},"overhead_us":{:.2f}}})",
        json.empty() ? "" : ",", run.writers, run.raw_per_s, run.mutex_per_s, run.fenced_per_s,
        run.raw_p50_us, run.fenced_p50_us, run.fenced_to_raw, run.fenced_to_mutex, run.p50_ratio,
        run.overhead_us);
  }
  return "[" + json + "]";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures fenced publications against raw RocksDB and against one mutex.\n\nExample: "
      "bench_publish --json > publish.json");
  Plan plan;
  std::string disk = std::filesystem::temp_directory_path();
  std::string memory = "/dev/shm";
  bool quick = false;
  bool json = false;
  app.add_option("--writers", plan.writers, "numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1, 999))
      ->capture_default_str();
  app.add_option("--blocks", plan.blocks, "interleaved blocks to measure")
      ->check(CLI::Range(kBlocksMin, 1000))
      ->capture_default_str();
  app.add_option("--block-ms", plan.block_ms, "time of each of the three in a block")
      ->check(CLI::Range(10, 60'000))
      ->capture_default_str();
  app.add_option("--disk", disk, "a directory on the disk to measure")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--tmpfs", memory, "a directory in memory; empty: none")->capture_default_str();
  app.add_flag("--quick", quick, "blocks of 50 ms: shows that it runs, measures nothing");
  app.add_flag("--json", json, "print JSON, and the tables to standard error");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    plan.blocks = kBlocksMin;
    plan.block_ms = 50;
  }
  if (IsInMemory(disk)) {
    Die(fmt::format(
        "{} is in memory, where a sync costs nothing: name a directory on a disk with --disk",
        disk));
  }

  lake::RealClock clock;
  lake::SystemRandom random;
  std::FILE* const tables = json ? stderr : stdout;
  const Results on_disk = MeasurePlace(clock, random, disk, plan);
  PrintTable(tables, disk, on_disk);
  Results in_memory;
  if (!memory.empty()) {
    in_memory = MeasurePlace(clock, random, memory, plan);
    PrintTable(tables, memory, in_memory);
  }
  if (json) {
    fmt::print(
        R"({{"benchmark":"publish","blocks":{},"block_ms":{},"record_bytes":{},"runs":{},"tmpfs":{},)"
        R"("acknowledged":{},"recovered":{}}})"
        "\n",
        plan.blocks, plan.block_ms, kRecordBytes, RunsJson(on_disk), RunsJson(in_memory),
        on_disk.acknowledged, on_disk.recovered);
  }
  return 0;
}
