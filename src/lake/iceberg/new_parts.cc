#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/manifest_partition.h"
#include "lake/iceberg/new_parts_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_update_apply.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

// Names that the format's implementations show beside the table's properties and therefore never
// store among them.
constexpr std::array<std::string_view, 9> kReservedProperties{
    "format-version",           "uuid",
    "snapshot-count",           "current-snapshot-id",
    "current-snapshot-summary", "current-snapshot-timestamp-ms",
    "current-schema",           "default-partition-spec",
    "default-sort-order"};

// The transform that stands for a partition field whose values are no longer made.
constexpr std::string_view kVoid = "void";

// Collects the ids of the fields inside lists and maps: a row has any number of their values.
void CollectRepeated(const std::vector<NestedField>& fields, bool repeated,
                     std::set<FieldId>& ids) {
  for (const NestedField& field : fields) {
    if (repeated) {
      ids.insert(field.id);
    }
    const bool repeats =
        field.type.kind() == TypeKind::kList || field.type.kind() == TypeKind::kMap;
    CollectRepeated(field.type.fields(), repeated || repeats, ids);
  }
}

std::string Where(const PartitionField& field) {
  return fmt::format("partition field {}", Quoted(field.name));
}

}  // namespace

Status CheckNewSchema(const Schema& schema, std::int32_t format_version) {
  for (const NestedField* field : schema.all_fields()) {
    if (field->name.empty()) {
      return InvalidArgument(fmt::format("field {} has no name", std::to_underlying(field->id)));
    }
  }
  return CheckFormatVersion(schema, format_version);
}

Result<std::size_t> PreviousVersionsMax(const Properties& properties) {
  const auto property = properties.find(std::string(kPreviousVersionsMaxProperty));
  std::int64_t versions = kPreviousVersionsMaxDefault;
  if (property != properties.end()) {
    const std::string_view text = property->second;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), versions);
    if (failure != std::errc() || end != text.data() + text.size()) {
      return InvalidArgument(fmt::format("property '{}' is {}, not a number",
                                         kPreviousVersionsMaxProperty, Quoted(text)));
    }
  }
  // Java keeps at least one entry whatever the property says; readers compare our logs with its.
  return static_cast<std::size_t>(std::max<std::int64_t>(1, versions));
}

Status CheckNewProperties(const Properties& properties) {
  for (const std::string_view name : kReservedProperties) {
    if (properties.contains(std::string(name))) {
      return InvalidArgument(fmt::format("property '{}' is reserved by the format", name));
    }
  }
  LAKE_TRY_VOID(PreviousVersionsMax(properties));
  return {};
}

NewPartChecker::NewPartChecker(const Schema& schema) : schema_(schema) {
  CollectRepeated(schema.fields(), false, repeated_);
}

Status NewPartChecker::Check(const PartitionSpec& spec) const {
  std::set<std::string_view> names;
  for (const PartitionField& field : spec.fields) {
    if (field.transform != kVoid) {
      LAKE_TRY_VOID(WithContext(CheckSource(field.source_ids, field.transform), Where(field)));
    }
    if (field.name.empty() || !names.insert(field.name).second) {
      return InvalidArgument(Where(field) + ": its name is empty or used twice");
    }
    // Partition values sit beside columns in metadata tables; only an identity of the very column
    // may share its name, and what is left of such a one.
    const NestedField* column = schema_.FindField(std::string_view(field.name));
    if (column != nullptr && ((field.transform != "identity" && field.transform != kVoid) ||
                              std::vector{column->id} != field.source_ids)) {
      return InvalidArgument(Where(field) + ": a column has its name");
    }
  }
  return {};
}

Status NewPartChecker::Check(const SortOrder& order) const {
  for (const SortField& field : order.fields) {
    LAKE_TRY_VOID(WithContext(CheckSource(field.source_ids, field.transform), "sort field"));
  }
  return {};
}

Status NewPartChecker::CheckStillFits(const PartitionSpec& spec) const {
  for (const PartitionField& field : spec.fields) {
    if (field.transform != kVoid) {
      LAKE_TRY_VOID(WithContext(CheckKnownSource(field.source_ids, field.transform), Where(field)));
    }
  }
  return {};
}

Status NewPartChecker::CheckStillFits(const SortOrder& order) const {
  for (const SortField& field : order.fields) {
    LAKE_TRY_VOID(WithContext(CheckKnownSource(field.source_ids, field.transform), "sort field"));
  }
  return {};
}

Status NewPartChecker::CheckSource(const std::vector<FieldId>& source_ids,
                                   std::string_view transform) const {
  if (source_ids.size() != 1) {
    return Unimplemented("transforms of several columns are not known to Lake");
  }
  const NestedField* source = schema_.FindField(source_ids.front());
  if (source == nullptr) {
    return InvalidArgument(
        fmt::format("its source column {} does not exist", std::to_underlying(source_ids.front())));
  }
  if (repeated_.contains(source->id)) {
    return InvalidArgument(
        fmt::format("its source column {} is inside a list or map", Quoted(source->name)));
  }
  LAKE_TRY_VOID(TransformResultType(transform, source->type));
  return {};
}

Status NewPartChecker::CheckKnownSource(const std::vector<FieldId>& source_ids,
                                        std::string_view transform) const {
  const Status checked = CheckSource(source_ids, transform);
  if (!checked.has_value() && checked.error().code() == ErrorCode::kUnimplemented) {
    return {};
  }
  return checked;
}

}  // namespace lake::iceberg
