#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// A schema of a table: named, typed columns with ids. An immutable value that is always valid and
// cheap to copy; lookups take logarithmic time. The default one is empty and has id 0.
class Schema {
 public:
  struct Parts {
    SchemaId schema_id{0};
    std::vector<NestedField> fields;
    std::vector<FieldId> identifier_field_ids;
    UnknownMembers unknown;

    bool operator==(const Parts&) const = default;
  };

  Schema();

  // Checks and indexes a schema. kInvalidArgument, naming the field, when an id is negative or used
  // twice, two fields share a full name, types nest deeper than kTypeDepthMax, an identifier field
  // is missing, floating, not primitive, or may be absent (optional, or inside an optional struct,
  // a list or a map), or a field of a type that is always null or has no defaults is required or
  // has one.
  static Result<Schema> Make(Parts parts);

  SchemaId schema_id() const { return body().schema_id; }

  // The columns, in order.
  const std::vector<NestedField>& fields() const { return body().fields; }

  const std::vector<FieldId>& identifier_field_ids() const { return body().identifier_field_ids; }

  const UnknownMembers& unknown() const { return body().unknown; }

  // Returns the field at any depth, or nullptr. The pointer lives as long as any copy of this
  // schema.
  const NestedField* FindField(FieldId id) const;
  // The same by full name: names joined with dots; a list's element is "element", a map's parts are
  // "key" and "value".
  const NestedField* FindField(std::string_view full_name) const;
  // Returns the full name of a field at any depth, or nothing.
  std::optional<std::string> FindName(FieldId id) const;
  // All fields at any depth, parents before their children, in order of appearance. The pointers
  // live as long as any copy of this schema.
  const std::vector<const NestedField*>& all_fields() const;
  // Returns the highest field id at any depth; FieldId{0} if there are no fields.
  FieldId highest_field_id() const;

  // Returns the same schema under another id.
  Schema WithId(SchemaId id) const;
  // Whether everything but the schema id is equal. A schema like this is the same schema for the
  // format.
  bool SameAs(const Schema& other) const;

  bool operator==(const Schema& other) const;

 private:
  struct Index;

  explicit Schema(std::shared_ptr<const Index> index);
  const Parts& body() const;

  std::shared_ptr<const Index> index_;
};

// Checks that a table of this format version may have the schema: kInvalidArgument, naming the
// field, for a type or an initial default of a later version.
Status CheckFormatVersion(const Schema& schema, std::int32_t format_version);

}  // namespace lake::iceberg
