// What a table costs a query: aggregations over a table in Lake against DuckDB's read_parquet on the very files of that table.
//
//   lake     lake::sql::SqlSession as `lake sql` opens it: find the table, read its snapshot's manifests, plan, scan.
//   duckdb   the same text over read_parquet([the table's data files]), by the same DuckDB library in the same process, with the
//            same number of threads.
//
// The table is made the way people make one: the input in slices of equal size, each an append of its own. A query's time is from
// handing the text over until its last row was fetched. Both have run each query once before; a block times every query once with
// each of the two, the first one changing; the figures are medians over the blocks. The answers of both are compared.
//
// --json prints one object to standard output, and the table to standard error:
//   benchmark ("sql"), blocks, threads, rows, files
//   runs: one object for each query
//     query                 the text, with t for the table
//     lake_ms, duckdb_ms    median times
//     ratio                 median over the blocks of lake_ms / duckdb_ms

#include <chrono>
#include <cstddef>
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
#include <fmt/ranges.h>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/cli/connection.h"
#include "lake/cli/embedded_connection.h"
#include "lake/engine/data_file_writer.h"
#include "lake/metasrv/service.h"
#include "lake/sql/session.h"
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

// {} is the table.
constexpr std::string_view kQueries[] = {
    "SELECT count(*), sum(delay), avg(distance) FROM {}",
    "SELECT origin, count(*), avg(delay) FROM {} GROUP BY origin ORDER BY origin",
    "SELECT date_trunc('month', date) AS month, destination, sum(distance) FROM {} WHERE delay > "
    "15 "
    "GROUP BY ALL ORDER BY ALL",
};

using Rows = std::vector<std::vector<std::string>>;

class DuckDb {
 public:
  DuckDb() : database_(nullptr), connection_(database_) {}

  // Runs a query and fetches its rows; returns how many there are.
  std::uint64_t Run(const std::string& sql) {
    const auto result = connection_.Query(sql);
    if (result->HasError()) {
      Die(result->GetError());
    }
    std::uint64_t rows = 0;
    while (const auto chunk = result->Fetch()) {
      rows += chunk->size();
    }
    return rows;
  }

  Rows Ask(const std::string& sql) {
    const auto result = connection_.Query(sql);
    if (result->HasError()) {
      Die(result->GetError());
    }
    Rows rows(result->RowCount());
    for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) {
      for (duckdb::idx_t column = 0; column < result->ColumnCount(); ++column) {
        rows[row].push_back(result->GetValue(column, row).ToString());
      }
    }
    return rows;
  }

 private:
  duckdb::DuckDB database_;
  duckdb::Connection connection_;
};

class Lake {
 public:
  Lake(const std::string& dir, lake::Clock& clock, lake::Random& random)
      : clock_(clock),
        random_(random),
        connection_(
            Must(lake::cli::EmbeddedConnect(clock, random)({.data_dir = dir,
                                                            .access = lake::cli::Access::kWrite,
                                                            .wait = kPatience,
                                                            .purpose = "bench_sql"}))),
        session_(Must(connection_->session())) {}

  static std::string TableText() { return kTable.ToString(); }

  // Makes the table with the rows of every slice, each an append of its own. Returns the paths of its data files.
  std::vector<std::string> Fill(const std::vector<std::string>& slices) {
    lake::engine::DataFileWriter& writer = *Must(connection_->writer());
    lake::metasrv::MetaService& service = connection_->service();
    Must(service.CreateNamespace({.ns = kTable.ns}, Call()));
    Must(service.CreateTable(
        {.name = kTable, .schema = Must(writer.InferSchema({.path = slices.front()}))}, Call()));
    const auto table = Must(service.LoadTable(kTable, clock_.Now() + kPatience));
    std::vector<std::string> paths;
    for (const std::string& slice : slices) {
      auto staged = Must(writer.Stage({.schema = std::make_shared<const lake::iceberg::Schema>(
                                           table.metadata->current_schema()),
                                       .inputs = {{.path = slice}},
                                       .data_location = table.registration.location + "/data",
                                       .on_progress = {}}));
      for (const lake::iceberg::DataFile& file : staged.files) {
        paths.push_back(file.file_path.substr(file.file_path.find('/')));
      }
      Must(service.Append({.name = kTable,
                           .incarnation = table.registration.incarnation,
                           .content = {slice},
                           .files = std::move(staged.files)},
                          Call()));
    }
    return paths;
  }

  // Runs a query and fetches its rows; returns how many there are.
  std::uint64_t Run(const std::string& sql) {
    lake::sql::QueryResult result = Must(session_->Execute(sql));
    std::uint64_t rows = 0;
    while (const auto batch = Must(result.Next())) {
      rows += batch->row_count();
    }
    return rows;
  }

  Rows Ask(const std::string& sql) {
    lake::sql::QueryResult result = Must(session_->Execute(sql));
    Rows rows;
    while (const auto batch = Must(result.Next())) {
      for (std::size_t row = 0; row < batch->row_count(); ++row) {
        std::vector<std::string>& texts = rows.emplace_back();
        for (std::size_t column = 0; column < result.columns().size(); ++column) {
          texts.emplace_back(batch->IsNull(row, column) ? "NULL" : batch->Text(row, column));
        }
      }
    }
    return rows;
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
  std::unique_ptr<lake::cli::Connection> connection_;
  lake::sql::SqlSession* session_;
};

struct Query {
  std::string_view text;
  std::vector<double> lake_ms;
  std::vector<double> duckdb_ms;
  std::vector<double> ratios;
};

struct Results {
  std::vector<Query> queries;
  std::string threads;
  std::string rows;
  std::size_t files = 0;
};

// Cuts the input into files of about equal length.
std::vector<std::string> Cut(DuckDb& duckdb, const std::string& dir, const std::string& input,
                             int slices) {
  std::vector<std::string> paths;
  const std::string source = fmt::format("read_parquet('{}', file_row_number = true)", input);
  for (int slice = 0; slice < slices; ++slice) {
    paths.push_back(fmt::format("{}/slice-{}.parquet", dir, slice));
    const auto border = [&](int number) {
      return fmt::format("(SELECT count(*) * {} // {} FROM read_parquet('{}'))", number, slices,
                         input);
    };
    duckdb.Run(fmt::format(
        "COPY (SELECT * EXCLUDE file_row_number FROM {} WHERE file_row_number >= {} AND "
        "file_row_number < {}) TO '{}' (FORMAT parquet)",
        source, border(slice), border(slice + 1), paths.back()));
  }
  return paths;
}

template <typename Work>
double Milliseconds(const lake::Clock& clock, Work work) {
  const lake::Instant begun = clock.Now();
  work();
  return std::chrono::duration<double, std::milli>(clock.Now() - begun).count();
}

Results Measure(const std::string& parent, const std::string& input, int slices, int blocks) {
  lake::RealClock clock;
  lake::SystemRandom random;
  const ScratchDir dir(parent);
  DuckDb duckdb;
  Lake lake(dir.path() + "/lake", clock, random);
  const std::vector<std::string> files = lake.Fill(Cut(duckdb, dir.path(), input, slices));
  const std::string source = fmt::format("read_parquet(['{}'])", fmt::join(files, "', '"));

  Results results{.files = files.size()};
  results.threads = duckdb.Ask("SELECT current_setting('threads')").front().front();
  if (lake.Ask("SELECT current_setting('threads')").front().front() != results.threads) {
    Die("the two have different numbers of threads");
  }
  results.rows = duckdb.Ask("SELECT count(*) FROM " + source).front().front();
  for (const std::string_view text : kQueries) {
    if (lake.Ask(fmt::format(fmt::runtime(text), Lake::TableText())) !=
        duckdb.Ask(fmt::format(fmt::runtime(text), source))) {
      Die(fmt::format("the two give different answers: {}", text));
    }
    results.queries.push_back({.text = text, .lake_ms = {}, .duckdb_ms = {}, .ratios = {}});
  }
  for (int block = 0; block < blocks; ++block) {
    for (Query& query : results.queries) {
      const std::string lake_sql = fmt::format(fmt::runtime(query.text), Lake::TableText());
      const std::string duckdb_sql = fmt::format(fmt::runtime(query.text), source);
      const auto time_lake = [&] {
        query.lake_ms.push_back(Milliseconds(clock, [&] { lake.Run(lake_sql); }));
      };
      const auto time_duckdb = [&] {
        query.duckdb_ms.push_back(Milliseconds(clock, [&] { duckdb.Run(duckdb_sql); }));
      };
      if (block % 2 == 0) {
        time_lake();
        time_duckdb();
      } else {
        time_duckdb();
        time_lake();
      }
      query.ratios.push_back(query.lake_ms.back() / query.duckdb_ms.back());
    }
  }
  return results;
}

void PrintTable(std::FILE* out, const Results& results, int blocks) {
  fmt::print(out,
             "\naggregating {} rows in {} files with {} threads: medians over {} interleaved "
             "blocks\n\n",
             results.rows, results.files, results.threads, blocks);
  fmt::print(out, "{:>8} {:>10} {:>12}  {}\n", "lake ms", "duckdb ms", "lake/duckdb", "query");
  for (const Query& query : results.queries) {
    fmt::print(out, "{:>8.1f} {:>10.1f} {:>12.2f}  {}\n", Median(query.lake_ms),
               Median(query.duckdb_ms), Median(query.ratios),
               fmt::format(fmt::runtime(query.text), "t"));
  }
}

void PrintJson(const Results& results, int blocks) {
  fmt::print(R"({{"benchmark":"sql","blocks":{},"threads":{},"rows":{},"files":{},"runs":[)",
             blocks, results.threads, results.rows, results.files);
  const char* separator = "";
  for (const Query& query : results.queries) {
    fmt::print(R"({}{{"query":"{}","lake_ms":{:.2f},"duckdb_ms":{:.2f},"ratio":{:.3f}}})",
               separator, fmt::format(fmt::runtime(query.text), "t"), Median(query.lake_ms),
               Median(query.duckdb_ms), Median(query.ratios));
    separator = ",";
  }
  fmt::print("]}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs aggregations over a table in Lake and over its files in DuckDB, and compares the "
      "times.\n\nExample: bench_sql --json > sql.json");
  std::string input(kFlights);
  std::string disk = std::filesystem::temp_directory_path();
  int blocks = 2 * kBlocksMin + 1;
  int slices = 12;
  bool quick = false;
  bool json = false;
  app.add_option("--input", input, "the flights file: Parquet with the columns of the queries")
      ->capture_default_str();
  app.add_option("--slices", slices, "appends that the table is made of")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--disk", disk, "where the table goes")
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

  const Results results = Measure(disk, input, slices, blocks);
  PrintTable(json ? stderr : stdout, results, blocks);
  if (json) {
    PrintJson(results, blocks);
  }
  return 0;
}
