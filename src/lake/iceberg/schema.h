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
// cheap to copy; lookups take constant time. The default one is empty and has id 0.
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
  // twice, two fields share a full name, types nest deeper than kTypeDepthMax, or an identifier
  // field is missing, optional, floating, nested in a list or map, or not primitive.
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
  std::optional<std::string_view> FindName(FieldId id) const;
  // Returns all fields at any depth, parents before their children, in order of appearance.
  std::vector<const NestedField*> AllFields() const;
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

}  // namespace lake::iceberg
