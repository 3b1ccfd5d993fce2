#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lake/sql/error_internal.h"
#include "lake/sql/input_source_internal.h"
#include "lake/sql/type_mapping_internal.h"

namespace lake::sql {
namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using engine::InputFormat;
using iceberg::NestedField;
using iceberg::TypeKind;

// What DuckDB would otherwise choose by looking at the first rows is fixed, except the delimiter, the names and the types.
constexpr std::string_view kCsvDialect =
    "quote = '\"', escape = '\"', comment = '', skip = 0, allow_quoted_nulls = false";

// How rows of CSV are read: as text, to be converted by us.
constexpr std::string_view kCsvAsText = "header = true, all_varchar = true";

std::string Quote(const std::string& identifier) {
  return duckdb::KeywordHelper::WriteQuoted(identifier, '"');
}

std::string Literal(const std::string& text) {
  return duckdb::KeywordHelper::WriteQuoted(text, '\'');
}

// Returns the path as a pattern that stands for that one file.
std::string PathLiteral(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[') {
      pattern += std::string("[") + c + ']';
    } else {
      pattern += c;
    }
  }
  return Literal(pattern);
}

// Turns what DuckDB says about a line of a CSV file, which it quotes, into a line number and the reason.
std::string ExplainCsvLine(std::string text) {
  constexpr std::string_view kOnLine = "CSV Error on Line: ";
  if (!text.starts_with(kOnLine)) {
    return text;
  }
  const std::string line = text.substr(kOnLine.size(), text.find('\n') - kOnLine.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  return fmt::format("line {}: {}", line, text.substr(text.rfind('\n') + 1));
}

// Returns what DuckDB says without its advice, which is about its own SQL.
std::string Explain(const duckdb::ErrorData& error) {
  std::string text = error.RawMessage();
  for (const std::string_view tail : {"\n\nLINE ", "\nPossible ", "\nTry setting"}) {
    text = text.substr(0, text.find(tail));
  }
  text = ExplainCsvLine(std::move(text));
  text = text.substr(0, text.find("\n\n"));
  std::ranges::replace(text, '\n', ' ');
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return text;
}

// Turns an error of reading an input into ours. `where` names the input.
Error InputError(const duckdb::ErrorData& error, const std::string& where) {
  switch (error.Type()) {
    case duckdb::ExceptionType::OUT_OF_MEMORY:
      return Error(ErrorCode::kUnavailable, Explain(error)).With(where);
    case duckdb::ExceptionType::INTERRUPT:
      return Error(ErrorCode::kCancelled, Explain(error)).With(where);
    case duckdb::ExceptionType::INTERNAL:
    case duckdb::ExceptionType::FATAL:
      return Error(ErrorCode::kInternal, Explain(error)).With(where);
    default:
      return Error(ErrorCode::kInvalidArgument, Explain(error)).With(where);
  }
}

Status CheckFile(const std::string& path) {
  if (!duckdb::Value::StringIsValid(path.data(), path.size())) {
    return InvalidArgument(
        path + ": the name is not valid UTF-8; rename the file or append it from standard input");
  }
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return NotFound(path + ": there is no such file");
  }
  if (error) {
    return InvalidArgument(path + ": " + error.message());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return InvalidArgument(path + ": is not a regular file");
  }
  return {};
}

// The columns of an input as DuckDB sees them.
struct InputColumns {
  std::vector<std::string> names;
  std::vector<LogicalType> types;
};

Result<InputColumns> DescribeRelation(duckdb::Connection& connection, const std::string& path,
                                      const std::string& relation) {
  const auto prepared = connection.Prepare("SELECT * FROM " + relation);
  if (prepared->HasError()) {
    return std::unexpected(InputError(prepared->error, path));
  }
  InputColumns columns;
  columns.names.assign(prepared->GetNames().begin(), prepared->GetNames().end());
  columns.types.assign(prepared->GetTypes().begin(), prepared->GetTypes().end());
  return columns;
}

Result<bool> HasRows(duckdb::Connection& connection, const std::string& path,
                     const std::string& relation) {
  const auto result = connection.Query("SELECT 1 FROM " + relation + " LIMIT 1");
  if (result->HasError()) {
    return std::unexpected(InputError(result->GetErrorObject(), path));
  }
  return result->RowCount() != 0;
}

std::string CsvRelation(const std::string& path, std::string_view options) {
  return fmt::format("read_csv({}, {}, {})", PathLiteral(path), kCsvDialect, options);
}

// Looks at the names in all of a JSON file, at every depth.
std::string JsonSniffRelation(const std::string& path) {
  return fmt::format(
      "read_json({}, sample_size = -1, field_appearance_threshold = 0, map_inference_threshold = "
      "-1)",
      PathLiteral(path));
}

// --- types --------------------------------------------------------------------------------------------------------------

// Returns the type with every primitive replaced by text: the form in which JSON is read.
LogicalType AsText(const iceberg::Type& type) {
  switch (type.kind()) {
    case TypeKind::kStruct: {
      duckdb::child_list_t<LogicalType> children;
      for (const NestedField& field : type.fields()) {
        children.emplace_back(field.name, AsText(field.type));
      }
      return LogicalType::STRUCT(std::move(children));
    }
    case TypeKind::kList:
      return LogicalType::LIST(AsText(type.element().type));
    case TypeKind::kMap:
      return LogicalType::MAP(AsText(type.key().type), AsText(type.value().type));
    default:
      return LogicalType::VARCHAR;
  }
}

// Returns the condition under which a text means another value in the type `wide` than in `exact`.
std::string DiffersByValue(const std::string& text, const LogicalType& exact,
                           const LogicalType& wide) {
  return fmt::format("CAST(TRY_CAST({0} AS {1}) AS {2}) IS DISTINCT FROM TRY_CAST({0} AS {2})",
                     text, exact.ToString(), wide.ToString());
}

// SaysMore for numbers with `scale` digits of fraction. Digits are counted in the text. Only a number with an exponent is compared
// by value, in the type `wide`; where that has no more digits than the column it is refused.
std::string SaysMoreDigits(const std::string& text, std::uint8_t scale, const LogicalType& exact,
                           const LogicalType& wide) {
  const std::string plain = fmt::format(R"(\s*[+-]?[\d_]*(\.\d{{0,{}}}0*)?\s*)", scale);
  const std::string by_value = exact == wide ? "true" : DiffersByValue(text, exact, wide);
  return fmt::format(
      "CASE WHEN {0} IS NULL OR regexp_full_match({0}, {1}) THEN false "
      "WHEN regexp_matches({0}, '[eE]') THEN {2} ELSE true END",
      text, Literal(plain), by_value);
}

// Returns the condition under which a text, which the type's cast accepts, says more than the value that comes out: DuckDB
// rounds and cuts. Nothing for types where that cannot be. Plain forms are told by their looks, because the comparison with a
// value of more digits is slow.
std::string SaysMore(const iceberg::Type& type, const std::string& text) {
  switch (type.kind()) {
    case TypeKind::kInt:
      return SaysMoreDigits(text, 0, LogicalType::INTEGER, LogicalType::DECIMAL(38, 18));
    case TypeKind::kLong:
      return SaysMoreDigits(text, 0, LogicalType::BIGINT, LogicalType::DECIMAL(38, 18));
    case TypeKind::kDecimal: {
      const auto precision = static_cast<std::uint8_t>(type.precision());
      const auto scale = static_cast<std::uint8_t>(type.scale());
      // As many more digits of fraction as there is room for.
      return SaysMoreDigits(
          text, scale, LogicalType::DECIMAL(precision, scale),
          LogicalType::DECIMAL(38, static_cast<std::uint8_t>(38 - (precision - scale))));
    }
    case TypeKind::kDate:
      return fmt::format(
          "CASE WHEN {0} IS NULL OR regexp_full_match({0}, {1}) THEN false ELSE {2} END", text,
          Literal(R"(\s*\d+-\d+-\d+\s*)"),
          DiffersByValue(text, LogicalType::DATE, LogicalType::TIMESTAMP));
    case TypeKind::kTime:
    case TypeKind::kTimestamptz:
      return fmt::format("regexp_matches({}, {})", text, Literal(R"(:\d{2}\.\d{6}0*[1-9])"));
    case TypeKind::kTimestamp:
      // An offset from UTC has no place here; DuckDB would apply and forget it.
      return fmt::format("regexp_matches({}, {})", text,
                         Literal(R"(:\d{2}\.\d{6}0*[1-9]|:\d{2}(\.\d+)?\s*[+-]\d)"));
    case TypeKind::kFloat:
    case TypeKind::kDouble:
      // A number too large to hold is no infinity.
      return fmt::format("(regexp_matches({0}, '[0-9]') AND isinf(TRY_CAST({0} AS {1})))", text,
                         type.kind() == TypeKind::kFloat ? "FLOAT" : "DOUBLE");
    default:
      return {};
  }
}

bool IsNumber(const LogicalType& type) {
  return type.IsNumeric();
}

bool IsMoment(LogicalTypeId id) {
  switch (id) {
    case LogicalTypeId::DATE:
    case LogicalTypeId::TIMESTAMP:
    case LogicalTypeId::TIMESTAMP_SEC:
    case LogicalTypeId::TIMESTAMP_MS:
    case LogicalTypeId::TIMESTAMP_NS:
      return true;
    default:
      return false;
  }
}

// Whether values of a file's primitive type may become values of the table's at all.
bool Compatible(const LogicalType& from, const iceberg::Type& to) {
  switch (to.kind()) {
    case TypeKind::kInt:
    case TypeKind::kLong:
    case TypeKind::kFloat:
    case TypeKind::kDouble:
    case TypeKind::kDecimal:
      return IsNumber(from);
    case TypeKind::kDate:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampNs:
      return IsMoment(from.id());
    case TypeKind::kTime:
      return from.id() == LogicalTypeId::TIME || from.id() == LogicalTypeId::TIME_NS;
    case TypeKind::kString:
      return from.id() == LogicalTypeId::VARCHAR || from.id() == LogicalTypeId::ENUM;
    default: {
      const auto exact = ToDuckDbType(to);
      return exact.has_value() && *exact == from;
    }
  }
}

// Checks that a file's type can become the table's, at every depth. `what` names the column, e.g. "column a.b".
Status CheckCompatible(const LogicalType& from, const iceberg::Type& to, const std::string& what) {
  const auto mismatch = [&]() -> Status {
    return InvalidArgument(fmt::format("{} is {} in the file but {} in the table", what,
                                       from.ToString(), to.ToString()));
  };
  switch (to.kind()) {
    case TypeKind::kStruct: {
      if (from.id() != LogicalTypeId::STRUCT) {
        return mismatch();
      }
      duckdb::case_insensitive_map_t<const LogicalType*> children;
      for (const auto& [name, type] : duckdb::StructType::GetChildTypes(from)) {
        children.emplace(name, &type);
      }
      for (const NestedField& field : to.fields()) {
        const std::string inner = what + "." + field.name;
        const auto found = children.find(field.name);
        if (found != children.end()) {
          LAKE_TRY_VOID(CheckCompatible(*found->second, field.type, inner));
          children.erase(found);
        } else if (field.required) {
          return InvalidArgument(fmt::format("required {} is missing", inner));
        }
      }
      if (!children.empty()) {
        return InvalidArgument(
            fmt::format("{}.{} is not in the table", what, children.begin()->first));
      }
      return {};
    }
    case TypeKind::kList:
      if (from.id() != LogicalTypeId::LIST && from.id() != LogicalTypeId::ARRAY) {
        return mismatch();
      }
      return CheckCompatible(from.id() == LogicalTypeId::LIST
                                 ? duckdb::ListType::GetChildType(from)
                                 : duckdb::ArrayType::GetChildType(from),
                             to.element().type, what + ".element");
    case TypeKind::kMap:
      if (from.id() != LogicalTypeId::MAP) {
        return mismatch();
      }
      LAKE_TRY_VOID(CheckCompatible(duckdb::MapType::KeyType(from), to.key().type, what + ".key"));
      return CheckCompatible(duckdb::MapType::ValueType(from), to.value().type, what + ".value");
    default:
      return Compatible(from, to) ? Status() : mismatch();
  }
}

// Checks that a JSON value has no names that the table lacks. Values are checked when they are converted.
Status CheckJsonNames(const LogicalType& from, const iceberg::Type& to, const std::string& what) {
  if (from.id() == LogicalTypeId::LIST && to.kind() == TypeKind::kList) {
    return CheckJsonNames(duckdb::ListType::GetChildType(from), to.element().type,
                          what + ".element");
  }
  if (from.id() != LogicalTypeId::STRUCT) {
    return {};
  }
  if (to.kind() == TypeKind::kMap) {
    for (const auto& [name, type] : duckdb::StructType::GetChildTypes(from)) {
      LAKE_TRY_VOID(CheckJsonNames(type, to.value().type, what + ".value"));
    }
  }
  if (to.kind() == TypeKind::kStruct) {
    for (const auto& [name, type] : duckdb::StructType::GetChildTypes(from)) {
      // Names in JSON are exact, and so is the reader.
      const auto field = std::ranges::find(to.fields(), name, &NestedField::name);
      if (field == to.fields().end()) {
        return InvalidArgument(fmt::format("{}.{} is not in the table", what, name));
      }
      LAKE_TRY_VOID(CheckJsonNames(type, field->type, fmt::format("{}.{}", what, name)));
    }
  }
  return {};
}

// Whether every value of a file's type has an equal one of the table's type.
bool AlwaysFits(const LogicalType& from, const LogicalType& to) {
  if (from == to) {
    return true;
  }
  switch (to.id()) {
    case LogicalTypeId::BIGINT:
      if (from.id() == LogicalTypeId::INTEGER || from.id() == LogicalTypeId::UINTEGER) {
        return true;
      }
      [[fallthrough]];
    case LogicalTypeId::INTEGER:
      return from.id() == LogicalTypeId::TINYINT || from.id() == LogicalTypeId::SMALLINT ||
             from.id() == LogicalTypeId::UTINYINT || from.id() == LogicalTypeId::USMALLINT;
    case LogicalTypeId::DOUBLE:
      return from.id() == LogicalTypeId::FLOAT || from.id() == LogicalTypeId::INTEGER;
    case LogicalTypeId::VARCHAR:
      return from.id() == LogicalTypeId::ENUM;
    case LogicalTypeId::DECIMAL:
      return from.id() == LogicalTypeId::UBIGINT &&
             duckdb::DecimalType::GetWidth(to) - duckdb::DecimalType::GetScale(to) >= 20;
    default:
      return false;
  }
}

// --- expressions --------------------------------------------------------------------------------------------------------

// Builds the expression that becomes a column's value.
class Converter {
 public:
  // `from` is the type in the input. With `text`, it is text of some form that stands for a value.
  Converter(const NestedField& field, LogicalType to, LogicalType from, bool text)
      : field_(field), to_(std::move(to)), from_(std::move(from)), text_(text) {}

  std::string Convert(const std::string& source) {
    return WithoutNulls(text_ ? FromText(source) : FromValue(source));
  }

 private:
  static std::string Cast(const std::string& expression, const LogicalType& type) {
    return fmt::format("CAST({} AS {})", expression, type.ToString());
  }

  // Converts text. A nested value is converted as a whole or not at all, so there it is DuckDB that says what does not fit.
  std::string FromText(std::string source) {
    const LogicalType as_text = AsText(field_.type);
    if (from_ != as_text) {
      source = Cast(source, as_text);
    }
    if (to_ == as_text) {
      return source;
    }
    const std::string more = AnyLeaf(field_.type, source, SaysMore);
    if (field_.type.is_nested()) {
      const std::string value = Cast(source, to_);
      return more.empty() ? value : Unless(more, source, value);
    }
    const std::string value = fmt::format("TRY_CAST({} AS {})", source, to_.ToString());
    return Unless(value + " IS NULL" + (more.empty() ? more : " OR " + more), source, value);
  }

  // Converts a value of the type that it has in the file.
  std::string FromValue(const std::string& source) {
    if (AlwaysFits(from_, to_)) {
      return from_ == to_ ? source : Cast(source, to_);
    }
    const char* cast = field_.type.is_nested() ? "CAST" : "TRY_CAST";
    const std::string value = fmt::format("{}({} AS {})", cast, source, to_.ToString());
    return Unless(
        fmt::format("CAST({} AS {}) IS DISTINCT FROM {}", value, from_.ToString(), source), source,
        value);
  }

  // Returns `value`, or the error that `source` does not fit if it is not null and `wrong` is the case.
  std::string Unless(const std::string& wrong, const std::string& source,
                     const std::string& value) const {
    return fmt::format(
        "CASE WHEN {0} IS NOT NULL AND ({1}) THEN error('the value ' || left(CAST({0} AS VARCHAR), "
        "100) || {2}) ELSE {3} END",
        source, wrong, Literal(" does not fit " + field_.type.ToString()), value);
  }

  std::string WithoutNulls(std::string value) {
    const std::string nulls = AnyRequiredNull(field_.type, value);
    if (!nulls.empty()) {
      value = fmt::format("CASE WHEN {} THEN error('a required field inside is null') ELSE {} END",
                          nulls, value);
    }
    if (field_.required) {
      value =
          fmt::format("coalesce({}, error('the column is required, but a value is null'))", value);
    }
    return value;
  }

  std::string FreshName() { return fmt::format("v{}", next_name_++); }

  static void Add(std::string& condition, const std::string& alternative) {
    if (!alternative.empty()) {
      condition += (condition.empty() ? "" : " OR ") + alternative;
    }
  }

  static std::string FieldOf(const std::string& value, const std::string& name) {
    return fmt::format("struct_extract({}, {})", value, Literal(name));
  }

  // Whether any of the list's elements meets the condition that `body` makes of it. Nothing, if that is nothing.
  template <typename Body>
  std::string AnyElement(const std::string& list, Body body) {
    const std::string name = FreshName();
    const std::string condition = body(name);
    if (condition.empty()) {
      return {};
    }
    return fmt::format("coalesce(len(list_filter({}, lambda {}: {})) > 0, false)", list, name,
                       condition);
  }

  // Returns the condition under which `value` holds a null where the type allows none, below its top.
  std::string AnyRequiredNull(const iceberg::Type& type, const std::string& value) {
    std::string condition;
    const auto look = [&](const NestedField& field, const std::string& child) {
      std::string found;
      if (field.required) {
        found = child + " IS NULL";
      }
      Add(found, AnyRequiredNull(field.type, child));
      return found;
    };
    switch (type.kind()) {
      case TypeKind::kStruct:
        for (const NestedField& field : type.fields()) {
          Add(condition, look(field, FieldOf(value, field.name)));
        }
        return condition.empty() ? condition
                                 : fmt::format("({} IS NOT NULL AND ({}))", value, condition);
      case TypeKind::kList:
        return AnyElement(
            value, [&](const std::string& element) { return look(type.element(), element); });
      case TypeKind::kMap:
        Add(condition, AnyElement(fmt::format("map_keys({})", value), [&](const std::string& key) {
              return AnyRequiredNull(type.key().type, key);
            }));
        Add(condition,
            AnyElement(fmt::format("map_values({})", value),
                       [&](const std::string& element) { return look(type.value(), element); }));
        return condition;
      default:
        return {};
    }
  }

  // Returns the condition under which any primitive inside `value` meets what `test` makes of it.
  template <typename Test>
  std::string AnyLeaf(const iceberg::Type& type, const std::string& value, Test test) {
    std::string condition;
    switch (type.kind()) {
      case TypeKind::kStruct:
        for (const NestedField& field : type.fields()) {
          Add(condition, AnyLeaf(field.type, FieldOf(value, field.name), test));
        }
        return condition.empty() ? condition : "coalesce(" + condition + ", false)";
      case TypeKind::kList:
        return AnyElement(value, [&](const std::string& element) {
          return AnyLeaf(type.element().type, element, test);
        });
      case TypeKind::kMap:
        Add(condition, AnyElement(fmt::format("map_keys({})", value), [&](const std::string& key) {
              return AnyLeaf(type.key().type, key, test);
            }));
        Add(condition,
            AnyElement(fmt::format("map_values({})", value), [&](const std::string& element) {
              return AnyLeaf(type.value().type, element, test);
            }));
        return condition;
      default:
        return test(type, value);
    }
  }

  const NestedField& field_;
  const LogicalType to_;
  const LogicalType from_;
  const bool text_;
  int next_name_ = 0;
};

// --- matching -----------------------------------------------------------------------------------------------------------

struct Match {
  // By column of the table: the index of the input's column.
  std::vector<std::optional<std::size_t>> sources;
};

Result<Match> MatchNames(const std::vector<std::string>& names, const iceberg::Schema& schema) {
  Match match;
  match.sources.resize(schema.fields().size());
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = std::ranges::find_if(schema.fields(), [&](const NestedField& field) {
      return duckdb::StringUtil::CIEquals(field.name, names[i]);
    });
    if (found == schema.fields().end()) {
      unknown.push_back(names[i]);
      continue;
    }
    auto& source = match.sources[static_cast<std::size_t>(found - schema.fields().begin())];
    if (source.has_value()) {
      return InvalidArgument(fmt::format("has two columns for the table's column {}: {} and {}",
                                         found->name, names[*source], names[i]));
    }
    source = i;
  }
  std::vector<std::string> missing;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < schema.fields().size(); ++i) {
    known.push_back(schema.fields()[i].name);
    if (schema.fields()[i].required && !match.sources[i].has_value()) {
      missing.push_back(schema.fields()[i].name);
    }
  }
  std::string problem;
  if (!unknown.empty()) {
    problem = fmt::format("has columns that the table has not: {}", fmt::join(unknown, ", "));
  }
  if (!missing.empty()) {
    problem += fmt::format("{}lacks required columns: {}", problem.empty() ? "" : "; ",
                           fmt::join(missing, ", "));
  }
  if (!problem.empty()) {
    return InvalidArgument(
        fmt::format("{} (the table's columns are {})", problem, fmt::join(known, ", ")));
  }
  return match;
}

// What an input looks like from outside.
struct Shape {
  InputColumns columns;
  bool empty = false;  // It has neither columns nor rows.
};

// Returns the first line of a CSV file that is not empty, as it is written, or nothing if it cannot be had.
std::string FirstLine(duckdb::Connection& connection, const std::string& path) {
  const auto line = connection.Query(
      fmt::format("SELECT line FROM read_csv({}, auto_detect = false, header = false, delim = "
                  "'\x01', quote = '', escape = '', columns = {{line: 'VARCHAR'}}) "
                  "WHERE line <> '' LIMIT 1",
                  PathLiteral(path)));
  if (line->HasError() || line->RowCount() == 0) {
    return {};
  }
  return line->GetValue(0, 0).ToString();
}

// Returns the delimiter that stands in a line of names most often, outside of quotes, and how often.
std::pair<char, std::size_t> LikelyDelimiter(std::string_view line) {
  constexpr std::string_view kDelimiters = ",;\t|";
  std::array<std::size_t, kDelimiters.size()> counts{};
  bool quoted = false;
  for (const char c : line) {
    const std::size_t which = kDelimiters.find(c);
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && which != std::string_view::npos) {
      ++counts.at(which);
    }
  }
  const auto most = std::ranges::max_element(counts);
  return {kDelimiters[static_cast<std::size_t>(most - counts.begin())], *most};
}

// Returns CSV of `columns` columns, read as text as it stands, without guessing.
std::string PlainCsvRelation(const std::string& path, const std::string& delimiter,
                             std::size_t columns, bool header) {
  std::string texts;
  for (std::size_t i = 0; i < columns; ++i) {
    texts += fmt::format("{}c{}: 'VARCHAR'", i == 0 ? "" : ", ", i);
  }
  return CsvRelation(
      path, fmt::format("auto_detect = false, header = {}, delim = {}, columns = {{{}}}", header,
                        Literal(delimiter), texts));
}

// Returns whether the first line of a CSV file announces several columns; an error names a line that then is longer or shorter.
// DuckDB takes a file whose lines differ in length for one of a single column.
Result<bool> AnnouncesSeveralColumns(duckdb::Connection& connection, const std::string& path) {
  const auto [delimiter, count] = LikelyDelimiter(FirstLine(connection, path));
  if (count == 0) {
    return false;
  }
  const auto rows = connection.Query(
      "SELECT count(*) FROM " + PlainCsvRelation(path, std::string(1, delimiter), count + 1, true));
  if (rows->HasError()) {
    return std::unexpected(InputError(rows->GetErrorObject(), path));
  }
  return true;
}

// Checks that each column of a CSV file has a name of its own: DuckDB would make names up for the others.
Status CheckNamesOfCsv(duckdb::Connection& connection, const std::string& path,
                       std::size_t columns) {
  const auto sniffed = connection.Query(fmt::format("SELECT Delimiter FROM sniff_csv({}, {}, {})",
                                                    PathLiteral(path), kCsvDialect, kCsvAsText));
  if (sniffed->HasError()) {
    return std::unexpected(InputError(sniffed->GetErrorObject(), path));
  }
  const auto line = connection.Query(
      fmt::format("SELECT * FROM {} LIMIT 1",
                  PlainCsvRelation(path, sniffed->GetValue(0, 0).ToString(), columns, false)));
  if (line->HasError()) {
    return std::unexpected(InputError(line->GetErrorObject(), path));
  }
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < columns; ++i) {
    const duckdb::Value written = line->GetValue(i, 0);
    std::string name = written.IsNull() ? "" : written.ToString();
    duckdb::StringUtil::Trim(name);
    if (name.empty()) {
      return InvalidArgument(
          fmt::format("{}: line 1: column {} has no name; give it one", path, i + 1));
    }
    const auto [other, is_new] = seen.emplace(duckdb::StringUtil::Lower(name), i);
    if (!is_new) {
      return InvalidArgument(fmt::format("{}: line 1: columns {} and {} have the same name, {}",
                                         path, other->second + 1, i + 1, name));
    }
  }
  return {};
}

Result<Shape> LookAtCsv(duckdb::Connection& connection, const std::string& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 && !error) {
    return InvalidArgument(path + ": is empty; a csv file begins with the names of its columns");
  }
  auto columns = DescribeRelation(connection, path, CsvRelation(path, kCsvAsText));
  if (!columns.has_value() || columns->names.size() == 1) {
    LAKE_TRY(const bool several, AnnouncesSeveralColumns(connection, path));
    if (!columns.has_value()) {
      return std::unexpected(columns.error());
    }
    if (several) {
      return InvalidArgument(path + ": it cannot be told how its fields are separated");
    }
  }
  LAKE_TRY_VOID(CheckNamesOfCsv(connection, path, columns->names.size()));
  return Shape{.columns = *std::move(columns)};
}

Result<Shape> LookAtJson(duckdb::Connection& connection, const std::string& path) {
  LAKE_TRY(auto columns, DescribeRelation(connection, path, JsonSniffRelation(path)));
  // This is also what DuckDB calls the single column of a file that holds no objects.
  if (columns.names.size() == 1 && columns.names[0] == "json") {
    LAKE_TRY(const bool rows,
             HasRows(connection, path, fmt::format("read_json_objects({})", PathLiteral(path))));
    if (!rows) {
      return Shape{.columns = {}, .empty = true};
    }
    LAKE_TRY(
        const bool other,
        HasRows(
            connection, path,
            fmt::format(
                "(FROM read_json_objects({}, format = 'auto') WHERE json_type(json) <> 'OBJECT')",
                PathLiteral(path))));
    if (other) {
      return InvalidArgument(path + ": holds values that are not json objects");
    }
    LAKE_TRY(const bool named,
             HasRows(connection, path,
                     fmt::format("(FROM read_json_objects({}, format = 'auto') WHERE "
                                 "json_exists(json, '$.json'))",
                                 PathLiteral(path))));
    if (!named) {
      return InvalidArgument(path + ": holds json objects without any names");
    }
  }
  return Shape{.columns = std::move(columns)};
}

Result<Shape> LookAt(duckdb::Connection& connection, const engine::StageInput& input) {
  LAKE_TRY_VOID(CheckFile(input.path));
  switch (input.format) {
    case InputFormat::kParquet: {
      LAKE_TRY(auto columns,
               DescribeRelation(connection, input.path,
                                fmt::format("read_parquet({})", PathLiteral(input.path))));
      return Shape{.columns = std::move(columns)};
    }
    case InputFormat::kCsv:
      return LookAtCsv(connection, input.path);
    case InputFormat::kJson:
      return LookAtJson(connection, input.path);
  }
  return Internal("an input of no format");
}

}  // namespace

Result<InputSource> InputSource::Open(duckdb::Connection& connection,
                                      const engine::StageInput& input,
                                      const iceberg::Schema& schema) {
  LAKE_TRY(const Shape shape, LookAt(connection, input));
  InputSource source;
  source.path_ = input.path;
  auto matched = MatchNames(shape.empty ? std::vector<std::string>() : shape.columns.names, schema);
  if (!matched.has_value() && !shape.empty) {
    return std::unexpected(matched.error().With(input.path));
  }
  if (shape.empty) {
    matched = Match{.sources = std::vector<std::optional<std::size_t>>(schema.fields().size())};
  }

  std::string json_columns;
  for (std::size_t i = 0; i < schema.fields().size(); ++i) {
    const NestedField& field = schema.fields()[i];
    LAKE_TRY(const auto to, ToDuckDbType(field.type));
    if (!matched->sources[i].has_value()) {
      source.columns_.push_back({field.name, fmt::format("CAST(NULL AS {})", to.ToString())});
      continue;
    }
    const std::size_t index = *matched->sources[i];
    const std::string& name = shape.columns.names[index];
    const LogicalType& described = shape.columns.types[index];
    const std::string what = "column " + field.name;
    LogicalType from = described;
    if (input.format == InputFormat::kParquet) {
      LAKE_TRY_VOID(WithContext(CheckCompatible(described, field.type, what), input.path));
    } else if (input.format == InputFormat::kJson) {
      LAKE_TRY_VOID(WithContext(CheckJsonNames(described, field.type, what), input.path));
      from = AsText(field.type);
      json_columns += fmt::format("{}{}: {}", json_columns.empty() ? "" : ", ", Literal(name),
                                  Literal(from.ToString()));
    }
    Converter converter(field, to, from, input.format != InputFormat::kParquet);
    source.columns_.push_back({field.name, converter.Convert(Quote(name))});
  }

  switch (input.format) {
    case InputFormat::kParquet:
      source.relation_ = fmt::format("read_parquet({})", PathLiteral(input.path));
      break;
    case InputFormat::kCsv:
      source.relation_ = CsvRelation(input.path, kCsvAsText);
      break;
    case InputFormat::kJson:
      source.relation_ = json_columns.empty() ? std::string("(SELECT 1 LIMIT 0)")
                                              : fmt::format("read_json({}, columns = {{{}}})",
                                                            PathLiteral(input.path), json_columns);
      break;
  }
  return source;
}

std::string InputSource::Select() const {
  std::string expressions;
  for (const Column& column : columns_) {
    expressions += fmt::format("{}{} AS {}", expressions.empty() ? "" : ", ", column.expression,
                               Quote(column.name));
  }
  return fmt::format("SELECT {} FROM {}", expressions, relation_);
}

Status InputSource::Diagnose(duckdb::Connection& connection) const {
  const auto rows = connection.Query("SELECT count(*) FROM " + relation_);
  if (rows->HasError()) {
    return std::unexpected(InputError(rows->GetErrorObject(), path_));
  }
  for (const Column& column : columns_) {
    const auto read = connection.Query(
        fmt::format("SELECT bit_xor(hash({})) FROM {}", column.expression, relation_));
    if (read->HasError()) {
      return std::unexpected(
          InputError(read->GetErrorObject(), fmt::format("{}: column {}", path_, column.name)));
    }
  }
  return {};
}

Result<iceberg::Schema> InferInputSchema(duckdb::Connection& connection,
                                         const engine::StageInput& input) {
  LAKE_TRY(Shape shape, LookAt(connection, input));
  if (shape.empty) {
    return InvalidArgument(input.path + ": holds nothing from which columns could be told");
  }
  if (input.format == InputFormat::kCsv) {
    // Only dates that read the same everywhere are taken for dates, because only those can be written.
    LAKE_TRY(
        shape.columns,
        DescribeRelation(
            connection, input.path,
            CsvRelation(input.path, "header = true, sample_size = -1, dateformat = '%Y-%m-%d'")));
  } else if (input.format == InputFormat::kJson) {
    LAKE_TRY(shape.columns, DescribeRelation(connection, input.path,
                                             fmt::format("read_json({}, sample_size = -1)",
                                                         PathLiteral(input.path))));
  }
  return ToIcebergSchema(input.path, shape.columns.names, shape.columns.types);
}

}  // namespace lake::sql
