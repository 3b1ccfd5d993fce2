// How fast rows become part of a table: an append by Lake against DuckDB writing the same rows to a file that is then made
// durable.
//
//   lake     what `lake append` does in an open lake, through the command line's own connection: digest the input, look the
//            operation up, stage the rows as data files (statistics collected, file and directory synced), reserve, make a new
//            table version, publish it through the fence.
//   duckdb   COPY of the same rows with the same codec, row groups, threads and DuckDB library, then fsync of the file and of its
//            directory. No statistics, no table, no metadata.
//
// A block does each of the two once, the first one changing; the figures are medians over the blocks. Starting either is not
// measured. The rows that both wrote are counted.
//
// --json prints one object to standard output, and the table to standard error:
//   benchmark ("append"), blocks, threads, rows
//   runs: one object
//     lake_ms, duckdb_ms      median time of one append
//     lake_rows_per_s, duckdb_rows_per_s
//     ratio                   median over the blocks of duckdb_ms / lake_ms: Lake's speed as a part of DuckDB's

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <duckdb.hpp>
#include <fmt/format.h>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/cli/connection.h"
#include "lake/cli/embedded_connection.h"
#include "lake/cli/inputs.h"
#include "lake/engine/data_file_writer.h"
#include "lake/metasrv/service.h"
#include "lake/sql/parquet_data_file_writer.h"
#include "lake/testing/bench_support.h"

namespace {

using lake::testing::Die;
using lake::testing::kBlocksMin;
using lake::testing::Median;
using lake::testing::Must;
using lake::testing::ScratchDir;

constexpr std::chrono::seconds kPatience{60};
constexpr std::string_view kFlights =
    "tools/npm/node_modules/vega-datasets/data/flights-3m.parquet";

// Makes a file or a directory durable.
void Sync(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fsync(descriptor) != 0 || close(descriptor) != 0) {
    Die(fmt::format("cannot sync {}", path));
  }
}

class Lake {
 public:
  Lake(const std::string& dir, const std::string& input, lake::Clock& clock, lake::Random& random)
      : clock_(clock),
        random_(random),
        input_{.path = input, .format = lake::engine::InputFormat::kParquet},
        connection_(
            Must(lake::cli::EmbeddedConnect(clock, random)({.data_dir = dir,
                                                            .access = lake::cli::Access::kWrite,
                                                            .wait = kPatience,
                                                            .purpose = "bench_append"}))),
        writer_(Must(connection_->writer())) {
    Must(connection_->service().CreateNamespace({.ns = kTable.ns}, Call()));
    Must(connection_->service().CreateTable(
        {.name = kTable,
         .schema = Must(writer_->InferSchema({.path = input_.path, .format = input_.format}))},
        Call()));
  }

  // Appends the input and returns how many rows that were.
  std::uint64_t Append() {
    const auto inputs = Must(lake::cli::Inputs::Open({input_}, STDIN_FILENO));
    lake::metasrv::AppendRequest request{.name = kTable};
    request.content = Must(inputs.Digest([](double) {}));
    const lake::metasrv::CallOptions call = Call();
    if (Must(connection_->service().FindAppend(request, call)).has_value()) {
      Die("a fresh operation has happened before");
    }
    const auto table = Must(connection_->service().LoadTable(kTable, call.deadline));
    request.incarnation = table.registration.incarnation;
    auto staged = Must(writer_->Stage(
        {.schema = std::make_shared<const lake::iceberg::Schema>(table.metadata->current_schema()),
         .inputs = inputs.ToStage(),
         .data_location = table.registration.location + "/data",
         .on_progress = {}}));
    Must(inputs.CheckUnchanged());
    request.files = std::move(staged.files);
    Must(connection_->service().Append(request, call));
    return staged.row_count;
  }

 private:
  static inline const lake::catalog::TableName kTable{.ns = {{"bench"}}, .name = "flights"};

  lake::metasrv::CallOptions Call() {
    return {.operation = lake::Uuid::Random7(clock_, random_),
            .retryable = true,
            .deadline = clock_.Now() + kPatience};
  }

  lake::Clock& clock_;
  lake::Random& random_;
  const lake::cli::InputArgument input_;
  std::unique_ptr<lake::cli::Connection> connection_;
  lake::engine::DataFileWriter* writer_;
};

class DuckDb {
 public:
  DuckDb(std::string dir, std::string input)
      : dir_(std::move(dir)), input_(std::move(input)), database_(nullptr), connection_(database_) {
    std::filesystem::create_directory(dir_);
  }

  // Writes the input to a file and returns how many rows that were.
  std::uint64_t Append() {
    const std::string path = fmt::format("{}/{}.parquet", dir_, ++files_);
    const auto copied = connection_.Query(fmt::format(
        "COPY (SELECT * FROM read_parquet('{}')) TO '{}' (FORMAT parquet, COMPRESSION zstd, "
        "ROW_GROUP_SIZE {}, USE_TMP_FILE false)",
        input_, path, lake::sql::ParquetDataFileWriter::Options().row_group_rows));
    if (copied->HasError()) {
      Die(copied->GetError());
    }
    Sync(path);
    Sync(dir_);
    return copied->GetValue(0, 0).GetValue<std::uint64_t>();
  }

  std::int64_t threads() {
    return connection_.Query("SELECT current_setting('threads')")
        ->GetValue(0, 0)
        .GetValue<std::int64_t>();
  }

 private:
  const std::string dir_;
  const std::string input_;
  duckdb::DuckDB database_;
  duckdb::Connection connection_;
  int files_ = 0;
};

struct Figures {
  std::uint64_t rows = 0;
  std::int64_t threads = 0;
  double lake_ms = 0;
  double duckdb_ms = 0;
  double ratio = 0;
};

template <typename Work>
double Milliseconds(const lake::Clock& clock, Work work) {
  const lake::Instant begun = clock.Now();
  work();
  return std::chrono::duration<double, std::milli>(clock.Now() - begun).count();
}

Figures Measure(const std::string& parent, const std::string& input, int blocks) {
  lake::RealClock clock;
  lake::SystemRandom random;
  const ScratchDir dir(parent);
  Lake lake(dir.path() + "/lake", input, clock, random);
  DuckDb duckdb(dir.path() + "/duckdb", input);
  std::vector<double> lake_ms;
  std::vector<double> duckdb_ms;
  std::vector<double> ratios;
  Figures figures{.rows = duckdb.Append(), .threads = duckdb.threads()};
  const auto check = [&](std::uint64_t rows) {
    if (rows != figures.rows) {
      Die(fmt::format("{} rows were written, expected {}", rows, figures.rows));
    }
  };
  check(lake.Append());
  for (int block = 0; block < blocks; ++block) {
    double lake_time = 0;
    double duckdb_time = 0;
    const auto time_lake = [&] { lake_time = Milliseconds(clock, [&] { check(lake.Append()); }); };
    const auto time_duckdb = [&] {
      duckdb_time = Milliseconds(clock, [&] { check(duckdb.Append()); });
    };
    if (block % 2 == 0) {
      time_lake();
      time_duckdb();
    } else {
      time_duckdb();
      time_lake();
    }
    lake_ms.push_back(lake_time);
    duckdb_ms.push_back(duckdb_time);
    ratios.push_back(duckdb_time / lake_time);
  }
  figures.lake_ms = Median(lake_ms);
  figures.duckdb_ms = Median(duckdb_ms);
  figures.ratio = Median(ratios);
  return figures;
}

double RowsPerSecond(const Figures& figures, double ms) {
  return static_cast<double>(figures.rows) * 1000 / ms;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Appends a Parquet file with Lake and writes it with DuckDB, and compares the times.\n\n"
      "Example: bench_append --json > append.json");
  std::string input(kFlights);
  std::string disk = std::filesystem::temp_directory_path();
  int blocks = kBlocksMin + 1;
  bool quick = false;
  bool json = false;
  app.add_option("--input", input, "the Parquet file")->capture_default_str();
  app.add_option("--disk", disk, "a directory on the disk to measure")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--blocks", blocks, "interleaved blocks to measure")
      ->check(CLI::Range(kBlocksMin, 1000))
      ->capture_default_str();
  app.add_flag("--quick", quick, "one block: shows that it runs, measures nothing");
  app.add_flag("--json", json, "print JSON, and the table to standard error");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    blocks = 1;
  }
  if (!std::filesystem::exists(input)) {
    Die(fmt::format("{} does not exist: run tools/setup, or name a file with --input", input));
  }

  const Figures figures = Measure(disk, input, blocks);
  std::FILE* const table = json ? stderr : stdout;
  fmt::print(table, "\nappending {} rows with {} threads: medians over {} interleaved blocks\n\n",
             figures.rows, figures.threads, blocks);
  fmt::print(table, "{:>9} {:>10} {:>12} {:>14} {:>12}\n", "lake ms", "duckdb ms", "lake rows/s",
             "duckdb rows/s", "lake/duckdb");
  fmt::print(table, "{:>9.0f} {:>10.0f} {:>12.0f} {:>14.0f} {:>12.2f}\n", figures.lake_ms,
             figures.duckdb_ms, RowsPerSecond(figures, figures.lake_ms),
             RowsPerSecond(figures, figures.duckdb_ms), figures.ratio);
  if (json) {
    fmt::print(
        R"({{"benchmark":"append","blocks":{},"threads":{},"rows":{},"runs":[{{"lake_ms":{:.1f},)"
        R"("duckdb_ms":{:.1f},"lake_rows_per_s":{:.0f},"duckdb_rows_per_s":{:.0f},"ratio":{:.3f}}}]}})"
        "\n",
        blocks, figures.threads, figures.rows, figures.lake_ms, figures.duckdb_ms,
        RowsPerSecond(figures, figures.lake_ms), RowsPerSecond(figures, figures.duckdb_ms),
        figures.ratio);
  }
  return 0;
}
