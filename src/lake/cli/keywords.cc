#include "lake/cli/keywords.h"

#include <algorithm>
#include <cctype>

#include "lake/cli/prompt.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

std::string Identifier(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool starts_well = !name.empty() && !(name.front() >= '0' && name.front() <= '9');
  if (starts_well && std::ranges::all_of(name, plain) &&
      !std::ranges::binary_search(SqlKeywords(), name)) {
    return std::string(name);
  }
  return DoubleQuoted(name);
}

}  // namespace

const std::vector<std::string>& SqlKeywords() {
  // Sorted.
  static const std::vector<std::string> kKeywords = {
      "all",
      "and",
      "any",
      "as",
      "asc",
      "at",
      "avg",
      "begin",
      "between",
      "by",
      "case",
      "cast",
      "coalesce",
      "commit",
      "count",
      "cross",
      "date",
      "desc",
      "describe",
      "distinct",
      "else",
      "end",
      "except",
      "exclude",
      "exists",
      "explain",
      "false",
      "from",
      "full",
      "group",
      "having",
      "in",
      "inner",
      "intersect",
      "interval",
      "is",
      "join",
      "lake_files",
      "lake_manifests",
      "lake_snapshots",
      "lateral",
      "left",
      "like",
      "limit",
      "max",
      "min",
      "not",
      "null",
      "nulls",
      "offset",
      "on",
      "or",
      "order",
      "outer",
      "over",
      "partition",
      "pivot",
      "qualify",
      "read_csv",
      "read_json",
      "read_parquet",
      "recursive",
      "right",
      "rollback",
      "round",
      "sample",
      "select",
      "set",
      "show",
      "sum",
      "summarize",
      "tables",
      "then",
      "timestamp",
      "true",
      "union",
      "unnest",
      "unpivot",
      "using",
      "values",
      "version",
      "when",
      "where",
      "window",
      "with",
  };
  return kKeywords;
}

std::string SqlTableName(const catalog::TableName& name) {
  return Identifier(name.ns.ToString()) + "." + Identifier(name.name);
}

std::vector<std::string> SqlCompletions(std::string_view word,
                                        const std::vector<catalog::TableName>& tables) {
  const bool upper = !word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0;
  std::vector<std::string> candidates = SqlKeywords();
  if (upper) {
    for (std::string& keyword : candidates) {
      std::ranges::transform(keyword, keyword.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    }
  }
  for (const catalog::TableName& table : tables) {
    candidates.push_back(SqlTableName(table));
  }
  return Matching(word, candidates);
}

}  // namespace lake::cli
