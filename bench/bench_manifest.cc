// How fast a manifest of 100,000 entries is decoded: Lake's reader against avro-c, in the same run.
//
//   bench_manifest [--entries N] [--blocks N] [--json]
//
// Both read the same bytes from memory, from the first to the last entry. Lake checks every entry
// and fills a ManifestEntry; avro-c fills its generic value, which a program would still have to
// pick the fields out of. What both found is compared. A block times each of the two once, in
// alternating order; the figures are medians over the blocks.
//
// --json prints one object to standard output, and the table to standard error:
//   benchmark      "manifest"
//   entries        entries of the manifest
//   blocks         interleaved blocks measured
//   runs           one object per Avro codec:
//     codec          "null" or "deflate"
//     file_bytes     size of the manifest
//     lake_ms        median time of a whole decode by Lake
//     avro_c_ms      median time of a whole decode by avro-c
//     speedup        median over the blocks of avro-c's time divided by Lake's
//     lake_entries_per_s, avro_c_entries_per_s

#include <avro.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_reader.h"
#include "lake/iceberg/manifest_writer.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"
#include "lake/testing/bench_support.h"

namespace {

using lake::iceberg::AvroCodec;
using lake::iceberg::FieldId;
using lake::iceberg::ManifestEntry;
using lake::testing::Die;
using lake::testing::kBlocksMin;
using lake::testing::Median;
using lake::testing::Must;

constexpr int kEntriesDefault = 100'000;
constexpr int kColumns = 10;

// A manifest as an append leaves it: ten columns with sizes, counts and bounds.
lake::iceberg::ManifestWriter::Finished WriteManifest(int entries, AvroCodec codec) {
  lake::iceberg::Schema::Parts parts;
  for (int i = 1; i <= kColumns; ++i) {
    parts.fields.push_back(
        {.id = FieldId{i},
         .name = fmt::format("column_{}", i),
         .type = i % 2 == 0 ? lake::iceberg::Type::String() : lake::iceberg::Type::Long()});
  }
  lake::SystemRandom random;
  auto writer = Must(lake::iceberg::ManifestWriter::Make(
      {.manifest_path = "file:///warehouse/metadata/m0.avro",
       .schema = Must(lake::iceberg::Schema::Make(std::move(parts))),
       .snapshot_id = lake::iceberg::SnapshotId{3051729675574597004},
       .codec = codec},
      random));
  for (int number = 0; number < entries; ++number) {
    ManifestEntry entry{.snapshot_id = lake::iceberg::SnapshotId{3051729675574597004}};
    lake::iceberg::DataFile& file = entry.data_file;
    file.file_path = fmt::format(
        "file:///warehouse/0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b/data/"
        "0193a1b2-8000-7000-8000-{:012x}-00000.parquet",
        number);
    file.record_count = 100'000 + number;
    file.file_size_in_bytes = 10'000'000 + number * 17;
    for (int i = 1; i <= kColumns; ++i) {
      const FieldId id{i};
      const std::int64_t salt = number * 31 + i;
      file.column_sizes.Set(id, 900'000 + salt % 1000);
      file.value_counts.Set(id, file.record_count);
      file.null_value_counts.Set(id, salt % 7);
      if (i % 2 == 0) {
        file.lower_bounds.Set(id, fmt::format("aaaa{:012}", salt));
        file.upper_bounds.Set(id, fmt::format("zzzz{:012}", salt));
      } else {
        const std::string bytes = fmt::format("{:08}", salt % 100'000'000);
        file.lower_bounds.Set(id, bytes);
        file.upper_bounds.Set(id, bytes);
      }
    }
    file.split_offsets = {4, 5'000'000};
    const lake::Status appended = writer.Append(entry);
    if (!appended.has_value()) {
      Die(appended.error().ToString());
    }
  }
  return Must(writer.Finish());
}

// What a decode found; the same for both readers.
struct Sums {
  std::int64_t entries = 0;
  std::int64_t records = 0;
  std::int64_t bounds = 0;

  bool operator==(const Sums&) const = default;
};

Sums DecodeWithLake(const std::string& file) {
  auto reader = Must(lake::iceberg::ManifestReader::OpenUncommitted(file, "manifest"));
  Sums sums;
  ManifestEntry entry;
  while (Must(reader.Next(entry))) {
    ++sums.entries;
    sums.records += entry.data_file.record_count;
    sums.bounds += static_cast<std::int64_t>(entry.data_file.lower_bounds.size());
  }
  return sums;
}

// Follows a path of field names through an avro-c value and its unions.
avro_value_t Descend(avro_value_t value, std::span<const char* const> path) {
  for (const char* name : path) {
    avro_value_t member;
    if (avro_value_get_by_name(&value, name, &member, nullptr) != 0) {
      Die(avro_strerror());
    }
    value = member;
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): avro-c's macro stands for 'no type' with -1.
    if (avro_value_get_type(&value) == AVRO_UNION) {
      if (avro_value_get_current_branch(&value, &member) != 0) {
        Die(avro_strerror());
      }
      value = member;
    }
  }
  return value;
}

Sums DecodeWithAvroC(std::string& file) {
  std::FILE* stream = fmemopen(file.data(), file.size(), "r");
  avro_file_reader_t reader = nullptr;
  if (stream == nullptr || avro_file_reader_fp(stream, "manifest", 1, &reader) != 0) {
    Die(avro_strerror());
  }
  const avro_schema_t schema = avro_file_reader_get_writer_schema(reader);
  avro_value_iface_t* iface = avro_generic_class_from_schema(schema);
  avro_value_t value;
  if (avro_generic_value_new(iface, &value) != 0) {
    Die(avro_strerror());
  }
  constexpr const char* kRecords[] = {"data_file", "record_count"};
  constexpr const char* kBounds[] = {"data_file", "lower_bounds"};
  Sums sums;
  int outcome = 0;
  while ((outcome = avro_file_reader_read_value(reader, &value)) == 0) {
    ++sums.entries;
    std::int64_t records = 0;
    avro_value_t at = Descend(value, kRecords);
    avro_value_get_long(&at, &records);
    sums.records += records;
    std::size_t bounds = 0;
    at = Descend(value, kBounds);
    avro_value_get_size(&at, &bounds);
    sums.bounds += static_cast<std::int64_t>(bounds);
    avro_value_reset(&value);
  }
  if (outcome != EOF) {
    Die(avro_strerror());
  }
  avro_value_decref(&value);
  avro_value_iface_decref(iface);
  avro_schema_decref(schema);
  avro_file_reader_close(reader);
  return sums;
}

struct Run {
  AvroCodec codec;
  std::size_t file_bytes = 0;
  double lake_ms = 0;
  double avro_c_ms = 0;
  double speedup = 0;
};

Run Measure(AvroCodec codec, int entries, int blocks) {
  auto finished = WriteManifest(entries, codec);
  std::string& file = finished.file;
  lake::RealClock clock;
  Sums lake_sums;
  Sums avro_c_sums;
  const auto timed = [&clock](auto&& work) {
    const auto begin = clock.Now();
    work();
    return std::chrono::duration<double, std::milli>(clock.Now() - begin).count();
  };
  const auto lake = [&] { return timed([&] { lake_sums = DecodeWithLake(file); }); };
  const auto avro_c = [&] { return timed([&] { avro_c_sums = DecodeWithAvroC(file); }); };
  lake();
  avro_c();
  if (lake_sums != avro_c_sums || lake_sums.entries != entries) {
    Die("the two readers found different things");
  }
  std::vector<double> lake_ms;
  std::vector<double> avro_c_ms;
  std::vector<double> ratios;
  for (int block = 0; block < blocks; ++block) {
    if (block % 2 == 0) {
      lake_ms.push_back(lake());
      avro_c_ms.push_back(avro_c());
    } else {
      avro_c_ms.push_back(avro_c());
      lake_ms.push_back(lake());
    }
    ratios.push_back(avro_c_ms.back() / lake_ms.back());
  }
  return {.codec = codec,
          .file_bytes = file.size(),
          .lake_ms = Median(lake_ms),
          .avro_c_ms = Median(avro_c_ms),
          .speedup = Median(ratios)};
}

void PrintTable(std::FILE* out, int entries, int blocks, const std::vector<Run>& runs) {
  fmt::print(out, "decoding a manifest of {} entries: medians over {} interleaved blocks\n\n",
             entries, blocks);
  fmt::print(out, "{:<10} {:>10} {:>10} {:>11} {:>10}\n", "codec", "file MiB", "lake ms",
             "avro-c ms", "speedup");
  for (const Run& run : runs) {
    fmt::print(out, "{:<10} {:>10.1f} {:>10.1f} {:>11.1f} {:>9.1f}x\n", AvroCodecName(run.codec),
               static_cast<double>(run.file_bytes) / (1 << 20), run.lake_ms, run.avro_c_ms,
               run.speedup);
  }
}

void PrintJson(int entries, int blocks, const std::vector<Run>& runs) {
  fmt::print(R"({{"benchmark":"manifest","entries":{},"blocks":{},"runs":[)", entries, blocks);
  const char* separator = "";
  for (const Run& run : runs) {
    fmt::print(
        R"({}{{"codec":"{}","file_bytes":{},"lake_ms":{:.2f},"avro_c_ms":{:.2f},"speedup":{:.3f},)"
        R"("lake_entries_per_s":{:.0f},"avro_c_entries_per_s":{:.0f}}})",
        separator, AvroCodecName(run.codec), run.file_bytes, run.lake_ms, run.avro_c_ms,
        run.speedup, entries * 1000 / run.lake_ms, entries * 1000 / run.avro_c_ms);
    separator = ",";
  }
  fmt::print("]}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Decodes a manifest with Lake and with avro-c and compares the times.");
  app.footer("Example: bench_manifest --blocks 21 --json");
  int entries = kEntriesDefault;
  int blocks = kBlocksMin + 1;
  bool json = false;
  app.add_option("--entries", entries, "entries of the manifest")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--blocks", blocks, "interleaved blocks to measure")
      ->check(CLI::Range(kBlocksMin, 1000))
      ->capture_default_str();
  app.add_flag("--json", json, "print JSON, and the table to standard error");
  CLI11_PARSE(app, argc, argv);

  std::vector<Run> runs;
  for (const AvroCodec codec : {AvroCodec::kNull, AvroCodec::kDeflate}) {
    runs.push_back(Measure(codec, entries, blocks));
  }
  PrintTable(json ? stderr : stdout, entries, blocks, runs);
  if (json) {
    PrintJson(entries, blocks, runs);
  }
  return 0;
}
