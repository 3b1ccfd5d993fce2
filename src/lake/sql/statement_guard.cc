#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lake/sql/catalog_internal.h"
#include "lake/sql/statement_guard_internal.h"

namespace lake::sql {
namespace {

using duckdb::StatementType;

// Settings that only change how a query runs or what it returns. Everything else is refused: a
// setting can name a file to write, load code, or open what the guard closes.
constexpr std::array<std::string_view, 25> kSettings = {
    "calendar",
    "default_collation",
    "default_null_order",
    "default_order",
    "enable_external_file_cache",
    "explain_output",
    "ieee_floating_point_ops",
    "integer_division",
    "lambda_syntax",
    "max_expression_depth",
    "max_memory",
    "memory_limit",
    "null_order",
    "old_implicit_casting",
    "order_by_non_integer_literal",
    "perfect_ht_threshold",
    "pivot_limit",
    "preserve_identifier_case",
    "preserve_insertion_order",
    "scalar_subquery_error_on_multiple_rows",
    "schema",
    "search_path",
    "threads",
    "timezone",
    "worker_threads",
};

// Pragmas that only show something.
constexpr std::array<std::string_view, 9> kPragmas = {
    "collations",  "database_list", "database_size", "functions", "platform",
    "show_tables", "table_info",    "user_agent",    "version",
};

template <std::size_t N>
bool Contains(const std::array<std::string_view, N>& names, const std::string& name) {
  const std::string lower = duckdb::StringUtil::Lower(name);
  return std::ranges::find(names, lower) != names.end();
}

std::unexpected<Error> Refuse(std::string_view what) {
  return PermissionDenied(fmt::format(
      "{} is refused: sql only reads; change tables with `lake table` and `lake append`", what));
}

// Functions that are called for their effect (a checkpoint, a log) are refused; those that answer with rows are few, and can
// be read with SELECT as well.
Status CheckCall(const duckdb::CallStatement& statement) {
  constexpr std::array<std::string_view, 3> kPrefixes = {"lake_", "duckdb_", "pragma_"};
  const std::string name = duckdb::StringUtil::Lower(
      statement.function->Cast<duckdb::FunctionExpression>().function_name);
  const bool shows = std::ranges::any_of(
      kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  return shows ? Status() : Refuse("CALL " + name);
}

Status CheckSet(const duckdb::SetStatement& statement) {
  if (statement.scope == duckdb::SetScope::VARIABLE || Contains(kSettings, statement.name)) {
    return {};
  }
  return PermissionDenied(
      fmt::format("the setting {} cannot be changed in lake sql", statement.name));
}

Status CheckAttach(const duckdb::AttachInfo& info) {
  const bool asks_to_write = std::ranges::any_of(info.parsed_options, [](const auto& option) {
    return duckdb::StringUtil::CIEquals(option.first, "read_write") ||
           duckdb::StringUtil::CIEquals(option.first, "readwrite");
  });
  if (asks_to_write) {
    return Refuse("ATTACH with READ_WRITE");
  }
  const auto read_only = std::ranges::find_if(info.parsed_options, [](const auto& option) {
    return duckdb::StringUtil::CIEquals(option.first, "read_only") ||
           duckdb::StringUtil::CIEquals(option.first, "readonly");
  });
  if (read_only == info.parsed_options.end()) {
    return Refuse("ATTACH without READ_ONLY");
  }
  // An option without a value stands for true; anything but a plain true is not worth telling.
  const auto& value = read_only->second;
  if (value != nullptr) {
    const std::string text = duckdb::StringUtil::Lower(value->ToString());
    if (text != "true" && text != "1" && text != "cast('t' as boolean)") {
      return Refuse("ATTACH without READ_ONLY");
    }
  }
  return {};
}

// A PIVOT without given values makes a temporary type of the values it finds.
bool IsPivotHelper(const duckdb::SQLStatement& statement) {
  constexpr std::string_view kPrefix = "__pivot_enum_";
  if (statement.type == StatementType::CREATE_STATEMENT) {
    const auto& info = *statement.Cast<duckdb::CreateStatement>().info;
    return info.type == duckdb::CatalogType::TYPE_ENTRY && info.temporary &&
           static_cast<const duckdb::CreateTypeInfo&>(info).name.starts_with(kPrefix);
  }
  if (statement.type == StatementType::DROP_STATEMENT) {
    const auto& info = *statement.Cast<duckdb::DropStatement>().info;
    return info.type == duckdb::CatalogType::TYPE_ENTRY && info.name.starts_with(kPrefix);
  }
  return false;
}

}  // namespace

Status CheckOnlyReads(const duckdb::SQLStatement& statement) {
  switch (statement.type) {
    case StatementType::CALL_STATEMENT:
      return CheckCall(statement.Cast<duckdb::CallStatement>());
    case StatementType::SELECT_STATEMENT:
    case StatementType::EXECUTE_STATEMENT:
    case StatementType::TRANSACTION_STATEMENT:
      return {};
    case StatementType::EXPLAIN_STATEMENT:
      return CheckOnlyReads(*statement.Cast<duckdb::ExplainStatement>().stmt);
    case StatementType::PREPARE_STATEMENT:
      return CheckOnlyReads(*statement.Cast<duckdb::PrepareStatement>().statement);
    case StatementType::MULTI_STATEMENT:
      for (const auto& part : statement.Cast<duckdb::MultiStatement>().statements) {
        if (!IsPivotHelper(*part)) {
          LAKE_TRY_VOID(CheckOnlyReads(*part));
        }
      }
      return {};
    case StatementType::SET_STATEMENT:
      return CheckSet(statement.Cast<duckdb::SetStatement>());
    case StatementType::PRAGMA_STATEMENT: {
      const std::string& name = statement.Cast<duckdb::PragmaStatement>().info->name;
      return Contains(kPragmas, name) ? Status() : Refuse("PRAGMA " + name);
    }
    case StatementType::DROP_STATEMENT:
      // DEALLOCATE of a prepared statement.
      if (statement.Cast<duckdb::DropStatement>().info->type ==
          duckdb::CatalogType::PREPARED_STATEMENT) {
        return {};
      }
      return Refuse("DROP");
    case StatementType::ATTACH_STATEMENT:
      return CheckAttach(*statement.Cast<duckdb::AttachStatement>().info);
    case StatementType::DETACH_STATEMENT:
      if (!duckdb::StringUtil::CIEquals(statement.Cast<duckdb::DetachStatement>().info->name,
                                        kCatalogName)) {
        return {};
      }
      return Refuse("DETACH lake");
    default:
      return Refuse(duckdb::StatementTypeToString(statement.type));
  }
}

}  // namespace lake::sql
