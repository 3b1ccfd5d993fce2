#include "lake/cli/column.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "lake/catalog/names.h"
#include "lake/cli/text.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/type.h"

namespace lake::cli {
namespace {

constexpr std::string_view kAcceptedTypes =
    "boolean, int, long, float, double, decimal(p,s), date, time, timestamp, timestamptz, string, "
    "uuid, fixed(length), binary, "
    "struct<name type, …>, list<type>, map<type,type>";

// The version of the table format that new tables have.
constexpr int kNewTableFormatVersion = 2;

struct Alias {
  std::string_view name;
  std::string_view iceberg;
};

// What people coming from SQL write; the answer is the name to use instead.
constexpr std::array kAliases = std::to_array<Alias>({
    {"bigint", "long"},
    {"blob", "binary"},
    {"bool", "boolean"},
    {"bytea", "binary"},
    {"char", "string"},
    {"datetime", "timestamp"},
    {"float4", "float"},
    {"float8", "double"},
    {"int32", "int"},
    {"int64", "long"},
    {"integer", "int"},
    {"numeric", "decimal(p,s)"},
    {"real", "float"},
    {"smallint", "int"},
    {"text", "string"},
    {"timestamp_tz", "timestamptz"},
    {"tinyint", "int"},
    {"varchar", "string"},
});

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool IsWordEnd(char c) {
  return IsSpace(c) || c == '<' || c == '>' || c == '(' || c == ')' || c == '[' || c == ']' ||
         c == ',' || c == ':' || c == '"';
}

// A recursive-descent reader of one column. The ids in what it returns mean nothing yet.
class ColumnParser {
 public:
  explicit ColumnParser(std::string_view text) : text_(text) {}

  Result<iceberg::NestedField> Parse() {
    LAKE_TRY(iceberg::NestedField field, ParseField(0));
    SkipSpace();
    if (at_ != text_.size()) {
      return Refuse(fmt::format("'{}' is too much after the type", text_.substr(at_)));
    }
    return field;
  }

 private:
  std::unexpected<Error> Refuse(std::string_view why) const {
    return InvalidArgument(fmt::format("column '{}': {}", text_, why));
  }

  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) {
      ++at_;
    }
  }

  bool Accept(char c) {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  Status Expect(char c, std::string_view where) {
    if (Accept(c)) {
      return {};
    }
    return Refuse(fmt::format("expected '{}' {}", c, where));
  }

  std::string_view ReadWord() {
    SkipSpace();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !IsWordEnd(text_[at_])) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  bool AcceptRequired() {
    const std::size_t before = at_;
    if (Lower(ReadWord()) == "required") {
      return true;
    }
    at_ = before;
    return false;
  }

  Result<std::string> ReadName() {
    if (!Accept('"')) {
      const std::string_view word = ReadWord();
      if (word.empty()) {
        return Refuse("a column is written 'name type [required]'");
      }
      return std::string(word);
    }
    std::string name;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c != '"') {
        name += c;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        name += '"';
        ++at_;
      } else if (name.empty()) {
        return Refuse("a column has no empty name");
      } else {
        return name;
      }
    }
    return Refuse("the name's closing double quote is missing");
  }

  Result<iceberg::NestedField> ParseField(std::size_t depth) {
    iceberg::NestedField field;
    LAKE_TRY(field.name, ReadName());
    if (depth > 0) {
      Accept(':');
    }
    SkipSpace();
    if (at_ == text_.size()) {
      return Refuse(
          fmt::format("'{}' has no type; a column is written 'name type [required]'", field.name));
    }
    LAKE_TRY(field.type, ParseType(depth));
    field.required = AcceptRequired();
    return field;
  }

  Result<iceberg::Type> ParseType(std::size_t depth) {
    if (depth >= iceberg::kTypeDepthMax) {
      return Refuse(fmt::format("types nest deeper than {}", iceberg::kTypeDepthMax));
    }
    const std::string_view word = ReadWord();
    const std::string name = Lower(word);
    if (name == "struct") {
      return ParseStruct(depth);
    }
    if (name == "list") {
      return ParseList(depth);
    }
    if (name == "map") {
      return ParseMap(depth);
    }
    if (name == "decimal") {
      return ParseDecimal();
    }
    if (name == "fixed") {
      return ParseFixed();
    }
    return ParseSimple(name, word);
  }

  Result<iceberg::Type> ParseSimple(const std::string& name, std::string_view shown) {
    const Result<iceberg::Type> type = iceberg::Type::Parse(name);
    if (!type.has_value()) {
      const auto* alias = std::ranges::find(kAliases, name, &Alias::name);
      const std::string hint = alias == kAliases.end()
                                   ? ""
                                   : fmt::format(" (in Iceberg it is called {})", alias->iceberg);
      return Refuse(
          fmt::format("there is no type '{}'{}; there are {}", shown, hint, kAcceptedTypes));
    }
    const int version = iceberg::MinFormatVersion(type->kind());
    if (version > kNewTableFormatVersion) {
      return Refuse(
          fmt::format("the type '{}' needs format version {}, and Lake makes tables of version {}; "
                      "there are {}",
                      shown, version, kNewTableFormatVersion, kAcceptedTypes));
    }
    return *type;
  }

  Result<iceberg::Type> ParseStruct(std::size_t depth) {
    LAKE_TRY_VOID(Expect('<', "after struct, as in struct<id long, name string>"));
    std::vector<iceberg::NestedField> fields;
    do {
      LAKE_TRY(iceberg::NestedField field, ParseField(depth + 1));
      fields.push_back(std::move(field));
    } while (Accept(','));
    LAKE_TRY_VOID(Expect('>', "or ',' after a struct's field"));
    return iceberg::Type::Struct(std::move(fields));
  }

  Result<iceberg::Type> ParseList(std::size_t depth) {
    LAKE_TRY_VOID(Expect('<', "after list, as in list<string>"));
    LAKE_TRY(iceberg::Type element, ParseType(depth + 1));
    const bool required = AcceptRequired();
    LAKE_TRY_VOID(Expect('>', "after a list's element type"));
    return iceberg::Type::List({}, std::move(element), required);
  }

  Result<iceberg::Type> ParseMap(std::size_t depth) {
    LAKE_TRY_VOID(Expect('<', "after map, as in map<string,long>"));
    LAKE_TRY(iceberg::Type key, ParseType(depth + 1));
    LAKE_TRY_VOID(Expect(',', "after a map's key type"));
    LAKE_TRY(iceberg::Type value, ParseType(depth + 1));
    const bool required = AcceptRequired();
    LAKE_TRY_VOID(Expect('>', "after a map's value type"));
    return iceberg::Type::Map({}, std::move(key), {}, std::move(value), required);
  }

  std::optional<std::int32_t> ReadNumber() {
    const std::string_view word = ReadWord();
    std::int32_t number = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (word.empty() || failure != std::errc() || end != word.data() + word.size()) {
      return std::nullopt;
    }
    return number;
  }

  Result<iceberg::Type> ParseDecimal() {
    const bool open = Accept('(');
    const std::optional<std::int32_t> precision = open ? ReadNumber() : std::nullopt;
    const bool comma = precision.has_value() && Accept(',');
    const std::optional<std::int32_t> scale = comma ? ReadNumber() : std::nullopt;
    if (!scale.has_value() || !Accept(')')) {
      return Refuse("a decimal is written decimal(precision,scale), as in decimal(9,2)");
    }
    if (*precision < 1 || *precision > iceberg::kDecimalPrecisionMax || *scale < 0 ||
        *scale > *precision) {
      return Refuse(fmt::format(
          "decimal({},{}) is not possible: the precision is 1 to {}, the scale 0 to the precision",
          *precision, *scale, iceberg::kDecimalPrecisionMax));
    }
    return iceberg::Type::Decimal(*precision, *scale);
  }

  Result<iceberg::Type> ParseFixed() {
    const bool bracket = Accept('[');  // The specification's own form.
    const bool open = bracket || Accept('(');
    const std::optional<std::int32_t> length = open ? ReadNumber() : std::nullopt;
    if (!length.has_value() || *length < 1 || !Accept(bracket ? ']' : ')')) {
      return Refuse("a fixed is written fixed(length) with a length from 1, as in fixed(16)");
    }
    return iceberg::Type::Fixed(*length);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Top-level columns get the lowest ids, in order, as other writers of the format do it; nested fields follow.
void NumberFields(std::vector<iceberg::NestedField>& fields, std::int32_t& last_id);

iceberg::Type NumberType(const iceberg::Type& type, std::int32_t& last_id) {
  switch (type.kind()) {
    case iceberg::TypeKind::kStruct: {
      std::vector<iceberg::NestedField> fields = type.fields();
      NumberFields(fields, last_id);
      return iceberg::Type::Struct(std::move(fields));
    }
    case iceberg::TypeKind::kList: {
      const iceberg::FieldId id{++last_id};
      return iceberg::Type::List(id, NumberType(type.element().type, last_id),
                                 type.element().required);
    }
    case iceberg::TypeKind::kMap: {
      const iceberg::FieldId key_id{++last_id};
      const iceberg::FieldId value_id{++last_id};
      iceberg::Type key = NumberType(type.key().type, last_id);
      return iceberg::Type::Map(key_id, std::move(key), value_id,
                                NumberType(type.value().type, last_id), type.value().required);
    }
    default:
      return type;
  }
}

void NumberFields(std::vector<iceberg::NestedField>& fields, std::int32_t& last_id) {
  for (iceberg::NestedField& field : fields) {
    field.id = iceberg::FieldId{++last_id};
  }
  for (iceberg::NestedField& field : fields) {
    field.type = NumberType(field.type, last_id);
  }
}

// Checks that SQL can tell the names apart. Iceberg can, but nobody could read such a table here.
Status CheckNames(const std::vector<iceberg::NestedField>& fields) {
  for (auto field = fields.begin(); field != fields.end(); ++field) {
    const auto same = std::find_if(fields.begin(), field, [&](const auto& earlier) {
      return Lower(earlier.name) == Lower(field->name);
    });
    if (same != field) {
      return InvalidArgument(
          fmt::format("there are two columns named '{}'{}", field->name,
                      same->name == field->name ? "" : "; SQL does not tell names apart by case"));
    }
  }
  return {};
}

// The same for all that is inside a type.
Status CheckNames(const iceberg::Type& type) {
  switch (type.kind()) {
    case iceberg::TypeKind::kStruct:
      LAKE_TRY_VOID(CheckNames(type.fields()));
      for (const iceberg::NestedField& field : type.fields()) {
        LAKE_TRY_VOID(CheckNames(field.type));
      }
      return {};
    case iceberg::TypeKind::kList:
      return CheckNames(type.element().type);
    case iceberg::TypeKind::kMap:
      LAKE_TRY_VOID(CheckNames(type.key().type));
      return CheckNames(type.value().type);
    default:
      return {};
  }
}

std::string NameText(std::string_view name) {
  const bool plain = !name.empty() && std::ranges::none_of(name, IsWordEnd);
  if (plain) {
    return std::string(name);
  }
  return DoubleQuoted(name);
}

std::string FieldTypeText(const iceberg::NestedField& field) {
  return TypeText(field.type) + (field.required ? " required" : "");
}

}  // namespace

Result<iceberg::Schema> ParseColumns(const std::vector<std::string>& columns) {
  iceberg::Schema::Parts parts;
  for (const std::string& column : columns) {
    LAKE_TRY(iceberg::NestedField field, ColumnParser(column).Parse());
    LAKE_TRY_VOID(WithContext(CheckNames(field.type), fmt::format("column '{}'", column)));
    parts.fields.push_back(std::move(field));
  }
  LAKE_TRY_VOID(CheckNames(parts.fields));
  std::int32_t last_id = 0;
  NumberFields(parts.fields, last_id);
  return iceberg::Schema::Make(std::move(parts));
}

std::string TypeText(const iceberg::Type& type) {
  switch (type.kind()) {
    case iceberg::TypeKind::kStruct: {
      std::string text = "struct<";
      for (const iceberg::NestedField& field : type.fields()) {
        if (text.back() != '<') {
          text += ", ";
        }
        text += NameText(field.name) + " " + FieldTypeText(field);
      }
      return text + ">";
    }
    case iceberg::TypeKind::kList:
      return "list<" + FieldTypeText(type.element()) + ">";
    case iceberg::TypeKind::kMap:
      return "map<" + TypeText(type.key().type) + ", " + FieldTypeText(type.value()) + ">";
    case iceberg::TypeKind::kFixed:
      return fmt::format("fixed({})", type.length());
    default:
      return type.ToString();
  }
}

}  // namespace lake::cli
