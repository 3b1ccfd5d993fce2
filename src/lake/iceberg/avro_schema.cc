#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

constexpr std::array<std::string_view, 14> kKindNames = {
    "null",   "boolean", "int",  "long",   "float", "double", "bytes",
    "string", "fixed",   "enum", "record", "array", "map",    "union"};

// Sums of sizes stop here, so that records that multiply themselves do not overflow.
constexpr std::size_t kBytesMinMax = std::size_t{1} << 40;

std::optional<AvroKind> FindKind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == name) {
      return static_cast<AvroKind>(i);
    }
  }
  return std::nullopt;
}

bool IsPrimitive(AvroKind kind) {
  return kind <= AvroKind::kString;
}

std::string_view View(const bj::string& text) {
  return {text.data(), text.size()};
}

// Returns an integer attribute that fits 32 bits; attributes of another type mean nothing to us.
std::optional<std::int32_t> Int32Attribute(const bj::object& object, std::string_view name) {
  const bj::value* value = object.if_contains(bj::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_int64() ||
      value->get_int64() < std::numeric_limits<std::int32_t>::min() ||
      value->get_int64() > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(value->get_int64());
}

std::unexpected<Error> Wrong(std::string_view why) {
  return Corruption(fmt::format("avro schema: {}", why));
}

// The size of the length, count or branch in front of a value.
constexpr std::size_t kPrefixBytesMin = 1;

// Sets how many bytes a value of `node` takes, from what its parts take.
void Measure(AvroNode& node) {
  switch (node.kind) {
    case AvroKind::kNull:
      node.bytes_exact = true;
      return;
    case AvroKind::kBoolean:
      node.bytes_min = 1;
      node.bytes_exact = true;
      return;
    case AvroKind::kFloat:
      node.bytes_min = sizeof(float);
      node.bytes_exact = true;
      return;
    case AvroKind::kDouble:
      node.bytes_min = sizeof(double);
      node.bytes_exact = true;
      return;
    case AvroKind::kFixed:
      node.bytes_min = node.fixed_bytes;
      node.bytes_exact = true;
      return;
    case AvroKind::kRecord: {
      // A record that contains itself has no size while its fields are looked at.
      std::size_t sum = 0;
      bool exact = true;
      for (const AvroField& field : node.fields) {
        sum = std::min(kBytesMinMax, sum + field.type->bytes_min);
        exact = exact && field.type->bytes_exact;
      }
      node.bytes_min = sum;
      // A sum that was cut off is a lower bound only.
      node.bytes_exact = exact && sum < kBytesMinMax;
      return;
    }
    case AvroKind::kInt:
    case AvroKind::kLong:
    case AvroKind::kBytes:
    case AvroKind::kString:
    case AvroKind::kEnum:
    case AvroKind::kArray:
    case AvroKind::kMap:
    case AvroKind::kUnion:
      node.bytes_min = kPrefixBytesMin;
      return;
  }
}

void SkipAt(AvroInput& in, const AvroNode& node, int depth);

void SkipItems(AvroInput& in, const AvroNode& item, int depth) {
  if (item.bytes_exact && item.bytes_min == 0) {
    // Items without bytes: any number of them is read at once.
    while (true) {
      const std::int64_t count = in.ReadLong();
      if (count == 0) {
        return;
      }
      if (count < 0 && in.ReadLong() != 0) {
        in.Fail("the size of a block is wrong");
      }
    }
  }
  ReadAvroItems(in, std::max<std::size_t>(item.bytes_min, 1), [&] { SkipAt(in, item, depth); });
}

void SkipAt(AvroInput& in, const AvroNode& node, int depth) {
  if (node.bytes_exact) {
    in.Skip(node.bytes_min);
    return;
  }
  if (depth == 0) {
    in.Fail("values nest too deeply");
    return;
  }
  switch (node.kind) {
    case AvroKind::kNull:
    case AvroKind::kBoolean:
    case AvroKind::kFloat:
    case AvroKind::kDouble:
    case AvroKind::kFixed:
      in.Skip(node.bytes_min);
      return;
    case AvroKind::kInt:
    case AvroKind::kLong:
    case AvroKind::kEnum:
      in.ReadLong();
      return;
    case AvroKind::kBytes:
    case AvroKind::kString:
      in.ReadBytes();
      return;
    case AvroKind::kRecord:
      for (const AvroField& field : node.fields) {
        SkipAt(in, *field.type, depth - 1);
        if (!in.ok()) {
          return;
        }
      }
      return;
    case AvroKind::kArray:
      SkipItems(in, node.item(), depth - 1);
      return;
    case AvroKind::kMap:
      ReadAvroItems(in, kPrefixBytesMin + node.item().bytes_min, [&] {
        in.ReadBytes();
        SkipAt(in, node.item(), depth - 1);
      });
      return;
    case AvroKind::kUnion:
      SkipAt(in, ReadAvroBranch(in, node), depth - 1);
      return;
  }
}

}  // namespace

// Builds the nodes of one schema. Lives for one call of AvroSchema::Parse.
class AvroSchemaParser {
 public:
  explicit AvroSchemaParser(AvroSchema& schema) : schema_(schema) {}

  Result<const AvroNode*> ParseType(const bj::value& json, const std::string& space) {
    if (json.is_string()) {
      return ParseName(View(json.get_string()), space);
    }
    if (json.is_array()) {
      return ParseUnion(json.get_array(), space);
    }
    if (!json.is_object()) {
      return Wrong("a type is neither a string, an array nor an object");
    }
    const bj::object& object = json.get_object();
    const bj::value* type = object.if_contains("type");
    if (type == nullptr) {
      return Wrong("a type object has no 'type'");
    }
    if (!type->is_string()) {
      // {"type": {"type": …}} stands for the inner type.
      return ParseType(*type, space);
    }
    const std::string_view name = View(type->get_string());
    const std::optional<AvroKind> kind = name == "error" ? AvroKind::kRecord : FindKind(name);
    if (!kind.has_value() || *kind == AvroKind::kUnion) {
      return ParseName(name, space);
    }
    return ParseObject(*kind, object, space);
  }

 private:
  AvroNode& Add(AvroKind kind) {
    schema_.nodes_.push_back(std::make_unique<AvroNode>());
    schema_.nodes_.back()->kind = kind;
    return *schema_.nodes_.back();
  }

  // A primitive type or a type defined before.
  Result<const AvroNode*> ParseName(std::string_view name, const std::string& space) {
    if (const auto kind = FindKind(name); kind.has_value() && IsPrimitive(*kind)) {
      AvroNode& node = Add(*kind);
      Measure(node);
      return &node;
    }
    const bool has_space = name.find('.') != std::string_view::npos;
    if (!has_space && !space.empty()) {
      if (const auto found = named_.find(fmt::format("{}.{}", space, name));
          found != named_.end()) {
        return found->second;
      }
    }
    if (const auto found = named_.find(name); found != named_.end()) {
      return found->second;
    }
    return Wrong(fmt::format("type '{}' is not defined", name));
  }

  Result<const AvroNode*> ParseUnion(const bj::array& branches, const std::string& space) {
    if (branches.empty()) {
      return Wrong("a union has no branches");
    }
    AvroNode& node = Add(AvroKind::kUnion);
    for (const bj::value& branch : branches) {
      if (branch.is_array()) {
        return Wrong("a union is directly inside a union");
      }
      LAKE_TRY(const AvroNode* inner, ParseType(branch, space));
      node.inner.push_back(inner);
    }
    Measure(node);
    return &node;
  }

  Result<const AvroNode*> ParseObject(AvroKind kind, const bj::object& object,
                                      const std::string& space) {
    AvroNode& node = Add(kind);
    if (const bj::value* logical = object.if_contains("logicalType");
        logical != nullptr && logical->is_string()) {
      node.logical_type = View(logical->get_string());
    }
    node.precision = Int32Attribute(object, "precision");
    node.scale = Int32Attribute(object, "scale");
    const bj::value* adjust = object.if_contains("adjust-to-utc");
    node.adjust_to_utc = adjust != nullptr && adjust->is_bool() && adjust->get_bool();
    node.element_id = Int32Attribute(object, "element-id");
    node.key_id = Int32Attribute(object, "key-id");
    node.value_id = Int32Attribute(object, "value-id");
    switch (kind) {
      case AvroKind::kArray:
        LAKE_TRY_VOID(ParseInner(node, object, "items", space));
        break;
      case AvroKind::kMap:
        LAKE_TRY_VOID(ParseInner(node, object, "values", space));
        break;
      case AvroKind::kFixed: {
        LAKE_TRY_VOID(Define(node, object, space));
        const std::optional<std::int32_t> size = Int32Attribute(object, "size");
        if (!size.has_value() || *size < 0) {
          return Wrong(fmt::format("fixed '{}' has no size", node.name));
        }
        node.fixed_bytes = static_cast<std::size_t>(*size);
        break;
      }
      case AvroKind::kEnum:
        LAKE_TRY_VOID(Define(node, object, space));
        LAKE_TRY_VOID(ParseSymbols(node, object));
        break;
      case AvroKind::kRecord:
        LAKE_TRY_VOID(Define(node, object, space));
        LAKE_TRY_VOID(ParseFields(node, object));
        break;
      default:
        break;
    }
    Measure(node);
    return &node;
  }

  // Gives a named type its name, so that it can be referred to, also from within itself.
  Status Define(AvroNode& node, const bj::object& object, const std::string& space) {
    const bj::value* name = object.if_contains("name");
    if (name == nullptr || !name->is_string() || name->get_string().empty()) {
      return Wrong(fmt::format("a {} has no name", AvroKindName(node.kind)));
    }
    node.name = View(name->get_string());
    if (node.name.find('.') == std::string::npos) {
      const bj::value* own = object.if_contains("namespace");
      const std::string_view prefix =
          own != nullptr && own->is_string() ? View(own->get_string()) : std::string_view(space);
      if (!prefix.empty()) {
        node.name = fmt::format("{}.{}", prefix, node.name);
      }
    }
    named_.insert_or_assign(node.name, &node);
    return {};
  }

  Status ParseInner(AvroNode& node, const bj::object& object, std::string_view member,
                    const std::string& space) {
    const bj::value* type = object.if_contains(bj::string_view(member.data(), member.size()));
    if (type == nullptr) {
      return Wrong(fmt::format("a {} has no '{}'", AvroKindName(node.kind), member));
    }
    LAKE_TRY(const AvroNode* inner, ParseType(*type, space));
    node.inner.push_back(inner);
    return {};
  }

  static Status ParseSymbols(AvroNode& node, const bj::object& object) {
    const bj::value* symbols = object.if_contains("symbols");
    if (symbols == nullptr || !symbols->is_array()) {
      return Wrong(fmt::format("enum '{}' has no symbols", node.name));
    }
    for (const bj::value& symbol : symbols->get_array()) {
      if (!symbol.is_string()) {
        return Wrong(fmt::format("enum '{}' has a symbol that is no string", node.name));
      }
      node.symbols.emplace_back(View(symbol.get_string()));
    }
    return {};
  }

  Status ParseFields(AvroNode& node, const bj::object& object) {
    const bj::value* fields = object.if_contains("fields");
    if (fields == nullptr || !fields->is_array()) {
      return Wrong(fmt::format("record '{}' has no fields", node.name));
    }
    const std::size_t dot = node.name.rfind('.');
    const std::string space = dot == std::string::npos ? "" : node.name.substr(0, dot);
    for (const bj::value& json : fields->get_array()) {
      const bj::object* field = json.if_object();
      const bj::value* name = field == nullptr ? nullptr : field->if_contains("name");
      const bj::value* type = field == nullptr ? nullptr : field->if_contains("type");
      if (name == nullptr || !name->is_string() || type == nullptr) {
        return Wrong(fmt::format("record '{}' has a field without name or type", node.name));
      }
      LAKE_TRY(const AvroNode* inner, ParseType(*type, space));
      node.fields.push_back({.name = std::string(View(name->get_string())),
                             .field_id = Int32Attribute(*field, "field-id"),
                             .type = inner});
    }
    return {};
  }

  AvroSchema& schema_;
  std::map<std::string, const AvroNode*, std::less<>> named_;
};

std::string_view AvroKindName(AvroKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

Result<AvroSchema> AvroSchema::Parse(std::string_view json) {
  auto value = json::Parse(json);
  if (!value.has_value()) {
    // What a caller passed in as an argument is what somebody stored.
    return Wrong(value.error().message());
  }
  AvroSchema schema;
  AvroSchemaParser parser(schema);
  LAKE_TRY(schema.root_, parser.ParseType(*value, ""));
  return schema;
}

void SkipAvro(AvroInput& in, const AvroNode& node) {
  SkipAt(in, node, kAvroDepthMax);
}

}  // namespace lake::iceberg
