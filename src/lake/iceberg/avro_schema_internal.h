#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/avro_wire_internal.h"

namespace lake::iceberg {

// How deeply values may nest when they are skipped. Only a schema that contains itself gets there.
inline constexpr int kAvroDepthMax = 64;

// The kinds of Avro's types, in the order of their names in avro_schema.cc.
enum class AvroKind : std::uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kFixed,
  kEnum,
  kRecord,
  kArray,
  kMap,
  kUnion,
};

// Returns the name of a kind as schemas write it, e.g. "record".
std::string_view AvroKindName(AvroKind kind);

struct AvroNode;

// A field of a record. Its default is of no use to us: what is missing in a file gets the default
// of the Iceberg specification.
struct AvroField {
  std::string name;
  std::optional<std::int32_t> field_id;
  const AvroNode* type = nullptr;
};

// One type of a schema, with the attributes that Iceberg adds to it.
struct AvroNode {
  AvroKind kind = AvroKind::kNull;
  std::string name;  // Of a record, enum or fixed, with its namespace.
  std::string logical_type;
  std::optional<std::int32_t> precision;
  std::optional<std::int32_t> scale;
  bool adjust_to_utc = false;  // Of a timestamp.
  std::optional<std::int32_t> element_id;
  std::optional<std::int32_t> key_id;
  std::optional<std::int32_t> value_id;
  std::size_t fixed_bytes = 0;         // Of a fixed.
  std::vector<std::string> symbols;    // Of an enum.
  std::vector<AvroField> fields;       // Of a record.
  std::vector<const AvroNode*> inner;  // Branches of a union, item of an array, value of a map.
  // Every value takes at least so many bytes, and exactly as many if `bytes_exact`.
  std::size_t bytes_min = 0;
  bool bytes_exact = false;

  const AvroNode& item() const { return *inner.front(); }
};

// A writer's schema. Immutable; the nodes live as long as it does and may refer to each other in
// circles.
class AvroSchema {
 public:
  // Parses the JSON of a schema. Names are not restricted to identifiers, and a name may be defined
  // again, because existing writers do both. kCorruption, naming the place, for anything else that
  // the Avro specification does not allow.
  static Result<AvroSchema> Parse(std::string_view json);

  const AvroNode& root() const { return *root_; }

 private:
  friend class AvroSchemaParser;

  std::vector<std::unique_ptr<AvroNode>> nodes_;
  const AvroNode* root_ = nullptr;
};

// Reads past one value. The work is bounded by the bytes read times the size of the schema.
void SkipAvro(AvroInput& in, const AvroNode& node);

// Returns the node of the value that follows: `node` itself, or if it is a union the branch whose
// index is read. May be of kind kNull.
inline const AvroNode& ReadAvroBranch(AvroInput& in, const AvroNode& node) {
  if (node.kind != AvroKind::kUnion) {
    return node;
  }
  const auto index = static_cast<std::uint64_t>(in.ReadLong());
  if (index >= node.inner.size()) [[unlikely]] {
    in.Fail("a union has no such branch");
    return *node.inner.front();
  }
  return *node.inner[index];
}

}  // namespace lake::iceberg
