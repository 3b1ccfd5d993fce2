#include "lake/sql/session.h"

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/sql/catalog_internal.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/instance_internal.h"
#include "lake/sql/result_internal.h"
#include "lake/sql/statement_guard_internal.h"

namespace lake::sql {
namespace {

using Statements = duckdb::vector<duckdb::unique_ptr<duckdb::SQLStatement>>;

// What SHOW TABLES answers while the search path is the one a session starts with. DuckDB would
// list the tables of the first schema only, which here stands for no namespace.
constexpr const char* kShowTables =
    "SELECT schema_name AS namespace, table_name AS name FROM duckdb_tables() "
    "WHERE database_name = '{}' AND (current_schema() = '{}' OR in_search_path(database_name, "
    "schema_name)) ORDER BY ALL";

bool IsShowTables(const duckdb::SQLStatement& statement) {
  if (statement.type != duckdb::StatementType::SELECT_STATEMENT) {
    return false;
  }
  const auto& node = *statement.Cast<duckdb::SelectStatement>().node;
  if (node.type != duckdb::QueryNodeType::SELECT_NODE) {
    return false;
  }
  const auto& from = node.Cast<duckdb::SelectNode>().from_table;
  return from != nullptr && from->type == duckdb::TableReferenceType::SHOW_REF &&
         from->Cast<duckdb::ShowRef>().table_name == "\"tables\"";
}

// Parses a text as the parser leaves it: pragmas are not yet expanded.
Result<Statements> ParseRaw(duckdb::ClientContext& context, const std::string& sql) {
  try {
    duckdb::Parser parser(context.GetParserOptions());
    parser.ParseQuery(sql);
    return std::move(parser.statements);
  } catch (const std::exception& exception) {
    duckdb::ErrorData error(exception);
    error.AddErrorLocation(sql);
    return std::unexpected(ToError(error));
  }
}

// Whether the writer of Parquet files would make a floating-point number of it.
bool IsTooWideForParquet(const duckdb::LogicalType& type) {
  return type.id() == duckdb::LogicalTypeId::HUGEINT ||
         type.id() == duckdb::LogicalTypeId::UHUGEINT;
}

// Checks that the rows of a query keep every digit in a Parquet file.
Status CheckFitsParquet(const std::vector<std::string>& names,
                        const std::vector<duckdb::LogicalType>& types) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (duckdb::TypeVisitor::Contains(types[i], IsTooWideForParquet)) {
      return Unimplemented(
          fmt::format("column {0} is {1}, as sums of integers are, for which Parquet has no type: "
                      "cast it, e.g. {0}::decimal(38,0)",
                      names[i], types[i].ToString()));
    }
  }
  return {};
}

}  // namespace

struct SqlSession::Impl {
  Instance instance;
  std::unique_ptr<duckdb::Connection> connection;
  std::atomic<bool> interrupted = false;

  duckdb::ClientContext& context() const { return *connection->context; }

  // Parses a text and checks that all of it only reads.
  Result<Statements> ParseChecked(const std::string& sql) const {
    LAKE_TRY(auto statements, ParseRaw(context(), sql));
    for (const auto& statement : statements) {
      LAKE_TRY_VOID(CheckOnlyReads(*statement));
    }
    return statements;
  }

  // Starts a statement. Rows come as they are asked for.
  Result<duckdb::unique_ptr<duckdb::QueryResult>> Start(
      duckdb::unique_ptr<duckdb::SQLStatement> statement) const {
    auto pending = connection->PendingQuery(std::move(statement), /*allow_stream_result=*/true);
    PassInterruptOn();
    if (pending->HasError()) {
      return std::unexpected(ToError(pending->GetErrorObject()));
    }
    auto result = pending->Execute();
    if (result->HasError()) {
      return std::unexpected(ToError(result->GetErrorObject()));
    }
    if (PassInterruptOn()) {
      return Cancelled("the statement was interrupted");
    }
    return result;
  }

 private:
  // DuckDB forgets an interrupt when a statement begins, and without it waits for the end of what a
  // statement that nobody wants any more has begun.
  bool PassInterruptOn() const {
    if (interrupted) {
      connection->Interrupt();
    }
    return interrupted;
  }
};

SqlSession::SqlSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SqlSession::~SqlSession() = default;

Result<std::unique_ptr<SqlSession>> SqlSession::Open(TableSource& tables,
                                                     objstore::ObjectStore& objects,
                                                     const Clock& clock, const Options& options) {
  auto impl = std::make_unique<Impl>();
  const InstanceOptions instance_options{.threads = options.threads,
                                         .memory_limit_bytes = options.memory_limit_bytes,
                                         .temp_directory = options.temp_directory};
  LAKE_TRY(impl->instance, OpenInstance(objects, clock, instance_options, &tables));
  LAKE_TRY(impl->connection, Connect(impl->instance));
  return std::unique_ptr<SqlSession>(new SqlSession(std::move(impl)));
}

Result<std::vector<std::string>> SqlSession::Split(std::string_view sql) {
  LAKE_TRY(const auto statements, impl_->ParseChecked(std::string(sql)));
  std::vector<std::string> result;
  result.reserve(statements.size());
  for (const auto& statement : statements) {
    result.push_back(statement->query.substr(statement->stmt_location, statement->stmt_length));
  }
  return result;
}

Result<QueryResult> SqlSession::Execute(std::string_view sql) {
  const std::string text(sql);
  return CatchDuckDb([&]() -> Result<QueryResult> {
    if (const auto checked = impl_->ParseChecked(text); !checked.has_value()) {
      return std::unexpected(checked.error());
    }
    auto statements = impl_->connection->ExtractStatements(text);
    if (statements.empty()) {
      return InvalidArgument("there is no statement");
    }
    for (auto& statement : statements) {
      if (IsShowTables(*statement)) {
        LAKE_TRY(auto replaced, ParseRaw(impl_->context(), fmt::format(kShowTables, kCatalogName,
                                                                       kDefaultSchemaName)));
        statement = std::move(replaced[0]);
      }
    }
    for (std::size_t i = 0; i + 1 < statements.size(); ++i) {
      LAKE_TRY(auto result, impl_->Start(std::move(statements[i])));
      LAKE_TRY_VOID(Drain(*result));
    }
    LAKE_TRY(auto last, impl_->Start(std::move(statements.back())));
    return QueryResult(
        std::make_unique<QueryResult::Stream>(impl_->connection->context, std::move(last)));
  });
}

Result<std::uint64_t> SqlSession::CopyQueryTo(std::string_view sql, const std::string& path) {
  return CatchDuckDb([&]() -> Result<std::uint64_t> {
    LAKE_TRY(auto statements, impl_->ParseChecked(std::string(sql)));
    if (statements.size() != 1 || statements[0]->type != duckdb::StatementType::SELECT_STATEMENT) {
      return InvalidArgument("only the rows of a single query can be written to a file");
    }
    const auto prepared = impl_->connection->Prepare(statements[0]->Copy());
    if (prepared->HasError()) {
      return std::unexpected(ToError(prepared->GetErrorObject()));
    }
    LAKE_TRY_VOID(CheckFitsParquet(prepared->GetNames(), prepared->GetTypes()));
    auto copy = duckdb::make_uniq<duckdb::CopyStatement>();
    copy->info->is_from = false;
    copy->info->file_path = path;
    copy->info->format = "parquet";
    copy->info->select_statement = std::move(statements[0]->Cast<duckdb::SelectStatement>().node);
    copy->info->options["compression"] = {duckdb::Value("zstd")};
    copy->info->options["use_tmp_file"] = {duckdb::Value::BOOLEAN(false)};

    impl_->instance.files->Allow(path);
    auto rows = [&]() -> Result<std::uint64_t> {
      LAKE_TRY(auto result, impl_->Start(std::move(copy)));
      const auto chunk = result->Fetch();
      if (result->HasError()) {
        return std::unexpected(ToError(result->GetErrorObject()));
      }
      LAKE_CHECK(chunk != nullptr && chunk->size() == 1, "COPY answers with a count");
      return chunk->GetValue(0, 0).GetValue<std::uint64_t>();
    }();
    impl_->instance.files->Forbid(path);
    return rows;
  });
}

void SqlSession::Interrupt() {
  impl_->interrupted = true;
  impl_->connection->Interrupt();
}

void SqlSession::Resume() {
  impl_->interrupted = false;
}

}  // namespace lake::sql
