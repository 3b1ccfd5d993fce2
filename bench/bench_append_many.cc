// What many appenders of one table gain from sharing its versions: appends of one small file each, already staged, through Metasrv
// over RocksDB and the local object store, with the election running, as the program wires them.
//
//   many   32 threads, each of which appends its files one after another
//   one    one thread that appends as many files one after another
//
// A block fills two fresh tables with the same number of appends, one by each of the two, the first one changing; the figures are
// medians over the blocks. Staging is not measured. An append that fails ends the program, but for a conflict, which is counted and
// asked for again. Afterwards every table is read with SQL, and each row has to be there exactly once; its versions are counted in
// its metadata.
//
// --json prints one object to standard output, and the table to standard error:
//   benchmark ("append_many"), blocks, appenders, appends (of a table)
//   runs: one object
//     many_per_s, one_per_s           appends per second
//     many_p50_ms, one_p50_ms         median time of one append
//     many_versions, one_versions     table versions that the appends made
//     ratio                           median over the blocks of many_per_s / one_per_s
//     conflicts                       of all appends
//     acknowledged, rows              appends that were answered, and rows found. They have to be equal

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/cli/connection.h"
#include "lake/cli/embedded_connection.h"
#include "lake/engine/data_file_writer.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/metasrv/service.h"
#include "lake/sql/session.h"
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

constexpr std::chrono::seconds kPatience{60};

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// A table, and an append of one row for each number from 0 on.
struct Job {
  lake::catalog::TableName name;
  std::vector<lake::metasrv::AppendRequest> appends;
};

// What appending everything of a job showed.
struct Sample {
  double per_s = 0;
  double p50_ms = 0;
  std::size_t versions = 0;
};

class Lake {
 public:
  Lake(const std::string& dir, lake::Clock& clock, lake::Random& random)
      : dir_(dir),
        clock_(clock),
        random_(random),
        connection_(
            Must(lake::cli::EmbeddedConnect(clock, random)({.data_dir = dir + "/lake",
                                                            .access = lake::cli::Access::kWrite,
                                                            .wait = kPatience,
                                                            .purpose = "bench_append_many"}))),
        writer_(Must(connection_->writer())) {
    Must(service().CreateNamespace({.ns = kNamespace}, Call()));
  }

  // Makes an empty table and stages a data file for each of its appends.
  Job Prepare(int appends) {
    Job job{.name = {.ns = kNamespace, .name = fmt::format("t{}", ++tables_)}};
    for (int number = 0; number < appends; ++number) {
      const std::string input = fmt::format("{}/input.csv", dir_);
      std::ofstream(input) << "id,name\n" << number << ",\"row number " << number << "\"\n";
      if (number == 0) {
        Must(service().CreateTable(
            {.name = job.name, .schema = Must(writer_->InferSchema(Input(input)))}, Call()));
      }
      job.appends.push_back(Stage(job.name, input, number));
    }
    return job;
  }

  // Appends everything with so many threads.
  Sample Append(const Job& job, std::size_t appenders) {
    std::vector<std::vector<double>> latencies_ms(appenders);
    std::vector<std::unique_ptr<lake::Thread>> threads;
    threads.reserve(appenders);
    Gate gate;
    for (std::size_t appender = 0; appender < appenders; ++appender) {
      threads.push_back(std::make_unique<lake::Thread>("appender", [&, appender] {
        gate.Pass();
        for (std::size_t at = appender; at < job.appends.size(); at += appenders) {
          latencies_ms[appender].push_back(AppendOne(job.appends[at]));
        }
      }));
    }
    const Instant begun = clock_.Now();
    gate.Open();
    for (const auto& thread : threads) {
      thread->Join();
    }
    const double elapsed_ms = Milliseconds(clock_.Now() - begun);
    std::vector<double> all_ms;
    for (const std::vector<double>& mine : latencies_ms) {
      all_ms.insert(all_ms.end(), mine.begin(), mine.end());
    }
    acknowledged_ += all_ms.size();
    const auto table = Must(service().LoadTable(job.name, clock_.Now() + kPatience));
    return {.per_s = static_cast<double>(all_ms.size()) * 1000 / elapsed_ms,
            .p50_ms = Median(std::move(all_ms)),
            .versions = table.metadata->snapshots.size()};
  }

  // Reads a table and compares it with its job. Returns how many rows there are.
  std::uint64_t CheckRows(const Job& job) {
    const std::string expected =
        fmt::format("{0} {0} 0 {1}", job.appends.size(), job.appends.size() - 1);
    lake::sql::QueryResult result =
        Must(Must(connection_->session())
                 ->Execute(fmt::format("SELECT concat_ws(' ', count(*), count(DISTINCT "
                                       "id), min(id), max(id)) FROM {}",
                                       job.name.ToString())));
    const auto batch = Must(result.Next());
    if (!batch || batch->row_count() != 1 || batch->Text(0, 0) != expected) {
      Die(fmt::format("{} is to have rows, ids, first and last id {}, and has {}",
                      job.name.ToString(), expected,
                      batch ? std::string(batch->Text(0, 0)) : "none"));
    }
    return job.appends.size();
  }

  std::uint64_t acknowledged() const { return acknowledged_; }

  std::uint64_t conflicts() const { return conflicts_; }

 private:
  static inline const lake::catalog::Namespace kNamespace{{"bench"}};

  static lake::engine::StageInput Input(const std::string& path) {
    return {.path = path, .format = lake::engine::InputFormat::kCsv};
  }

  lake::metasrv::MetaService& service() { return connection_->service(); }

  lake::metasrv::CallOptions Call() {
    return {.operation = lake::Uuid::Random7(clock_, random_),
            .retryable = true,
            .deadline = clock_.Now() + kPatience};
  }

  lake::metasrv::AppendRequest Stage(const lake::catalog::TableName& name, const std::string& input,
                                     int number) {
    const auto table = Must(service().LoadTable(name, clock_.Now() + kPatience));
    auto staged = Must(writer_->Stage(
        {.schema = std::make_shared<const lake::iceberg::Schema>(table.metadata->current_schema()),
         .inputs = {Input(input)},
         .data_location = table.registration.location + "/data",
         .on_progress = {}}));
    if (staged.files.size() != 1 || staged.row_count != 1) {
      Die("one row was staged as something else than one file");
    }
    return {.name = name,
            .incarnation = table.registration.incarnation,
            .content = {fmt::format("row {}", number)},
            .files = std::move(staged.files)};
  }

  // Appends until it is done, and returns how many milliseconds that took.
  double AppendOne(const lake::metasrv::AppendRequest& request) {
    const Instant begun = clock_.Now();
    while (true) {
      const auto appended = service().Append(request, Call());
      if (appended.has_value()) {
        return Milliseconds(clock_.Now() - begun);
      }
      if (appended.error().code() != lake::ErrorCode::kConflict) {
        Die(appended.error().ToString());
      }
      ++conflicts_;
    }
  }

  const std::string dir_;
  lake::Clock& clock_;
  lake::Random& random_;
  std::unique_ptr<lake::cli::Connection> connection_;
  lake::engine::DataFileWriter* writer_;
  int tables_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::atomic<std::uint64_t> conflicts_{0};
};

struct Plan {
  std::size_t appenders = 32;
  int appends = 192;
  int blocks = kBlocksMin + 1;
};

struct Figures {
  double many_per_s = 0;
  double one_per_s = 0;
  double many_p50_ms = 0;
  double one_p50_ms = 0;
  double many_versions = 0;
  double one_versions = 0;
  double ratio = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t rows = 0;
};

Figures Measure(const std::string& parent, const Plan& plan) {
  enum : std::size_t { kMany, kOne, kCount };

  lake::RealClock clock;
  lake::SystemRandom random;
  const ScratchDir dir(parent);
  Lake lake(dir.path(), clock, random);
  const std::size_t appenders[kCount] = {plan.appenders, 1};
  std::vector<double> per_s[kCount];
  std::vector<double> p50_ms[kCount];
  std::vector<double> versions[kCount];
  std::vector<double> ratios;
  Figures figures;
  for (int block = 0; block < plan.blocks; ++block) {
    fmt::print(stderr, "block {} of {}\n", block + 1, plan.blocks);
    const Job jobs[kCount] = {lake.Prepare(plan.appends), lake.Prepare(plan.appends)};
    for (std::size_t turn = 0; turn < kCount; ++turn) {
      const std::size_t which = (turn + static_cast<std::size_t>(block)) % kCount;
      const Sample sample = lake.Append(jobs[which], appenders[which]);
      per_s[which].push_back(sample.per_s);
      p50_ms[which].push_back(sample.p50_ms);
      versions[which].push_back(static_cast<double>(sample.versions));
    }
    ratios.push_back(per_s[kMany].back() / per_s[kOne].back());
    for (const Job& job : jobs) {
      figures.rows += lake.CheckRows(job);
    }
  }
  figures.many_per_s = Median(per_s[kMany]);
  figures.one_per_s = Median(per_s[kOne]);
  figures.many_p50_ms = Median(p50_ms[kMany]);
  figures.one_p50_ms = Median(p50_ms[kOne]);
  figures.many_versions = Median(versions[kMany]);
  figures.one_versions = Median(versions[kOne]);
  figures.ratio = Median(ratios);
  figures.conflicts = lake.conflicts();
  figures.acknowledged = lake.acknowledged();
  if (figures.rows != figures.acknowledged) {
    Die(fmt::format("{} appends of a row were acknowledged, and there are {} rows",
                    figures.acknowledged, figures.rows));
  }
  return figures;
}

void PrintTable(std::FILE* out, const Plan& plan, const Figures& figures) {
  fmt::print(out, "\n{} appends of one file to a table: medians over {} interleaved blocks\n\n",
             plan.appends, plan.blocks);
  fmt::print(out, "{:>9} {:>10} {:>8} {:>9}\n", "appenders", "appends/s", "p50 ms", "versions");
  fmt::print(out, "{:>9} {:>10.0f} {:>8.1f} {:>9.0f}\n", plan.appenders, figures.many_per_s,
             figures.many_p50_ms, figures.many_versions);
  fmt::print(out, "{:>9} {:>10.0f} {:>8.1f} {:>9.0f}\n", 1, figures.one_per_s, figures.one_p50_ms,
             figures.one_versions);
  fmt::print(out, "\n{:.1f} times as fast, {} conflicts, {} appends acknowledged, {} rows found\n",
             figures.ratio, figures.conflicts, figures.acknowledged, figures.rows);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures many appenders of one table against one.\n\nExample: bench_append_many --json > "
      "append_many.json");
  Plan plan;
  std::string disk = std::filesystem::temp_directory_path();
  bool quick = false;
  bool json = false;
  app.add_option("--appenders", plan.appenders, "number of threads")
      ->check(CLI::Range(2, 500))
      ->capture_default_str();
  app.add_option("--appends", plan.appends, "appends that fill a table")
      ->check(CLI::Range(2, 100'000))
      ->capture_default_str();
  app.add_option("--disk", disk, "a directory on the disk to measure")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--blocks", plan.blocks, "interleaved blocks to measure")
      ->check(CLI::Range(kBlocksMin, 1000))
      ->capture_default_str();
  app.add_flag("--quick", quick, "one block of few appends: shows that it runs, measures nothing");
  app.add_flag("--json", json, "print JSON, and the table to standard error");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    plan.blocks = 1;
    plan.appends = 64;
  }

  const Figures figures = Measure(disk, plan);
  PrintTable(json ? stderr : stdout, plan, figures);
  if (json) {
    fmt::print(R"({{"benchmark":"append_many","blocks":{},"appenders":{},"appends":{},"runs":[{{)"
               R"("many_per_s":{:.1f},"one_per_s":{:.1f},"many_p50_ms":{:.2f},"one_p50_ms":{:.2f},)"
               R"("many_versions":{:.0f},"one_versions":{:.0f},"ratio":{:.2f},"conflicts":{},)"
               R"("acknowledged":{},"rows":{}}}]}})"
               "\n",
               plan.blocks, plan.appenders, plan.appends, figures.many_per_s, figures.one_per_s,
               figures.many_p50_ms, figures.one_p50_ms, figures.many_versions, figures.one_versions,
               figures.ratio, figures.conflicts, figures.acknowledged, figures.rows);
  }
  return 0;
}
