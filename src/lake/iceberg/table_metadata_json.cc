#include "lake/iceberg/table_metadata_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/gzip_internal.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/schema_json_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_parts_json_internal.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

constexpr std::string_view kContext = "table metadata";

bool Has(const bj::object& object, std::string_view name) {
  const bj::value* value = object.if_contains(name);
  return value != nullptr && !value->is_null();
}

// Fields that came with v2 may be missing only before it.
Status RequireFromV2(const bj::object& object, std::int32_t version, std::string_view name) {
  if (version >= 2 && !Has(object, name)) {
    return InvalidArgument(fmt::format("member '{}' is missing", name));
  }
  return {};
}

Status ReadHeader(const bj::object& object, TableMetadata& metadata) {
  const std::int32_t version = metadata.format_version;
  LAKE_TRY_VOID(RequireFromV2(object, version, "table-uuid"));
  LAKE_TRY(const std::optional<std::string> uuid, json::GetOptionalString(object, "table-uuid"));
  if (uuid.has_value()) {
    LAKE_TRY(metadata.table_uuid, WithContext(Uuid::Parse(*uuid), "table-uuid"));
  }
  LAKE_TRY(metadata.location, json::GetString(object, "location"));
  if (version >= 2) {
    LAKE_TRY(metadata.last_sequence_number, json::GetInt(object, "last-sequence-number"));
  }
  LAKE_TRY(metadata.last_updated, GetTime(object, "last-updated-ms"));
  LAKE_TRY(metadata.last_column_id, GetId<FieldId>(object, "last-column-id"));
  LAKE_TRY(metadata.properties, GetProperties(object, "properties"));
  LAKE_TRY(metadata.next_row_id, json::GetOptionalInt(object, "next-row-id"));
  return {};
}

Status ReadSchemas(const bj::object& object, TableMetadata& metadata) {
  LAKE_TRY_VOID(RequireFromV2(object, metadata.format_version, "schemas"));
  if (Has(object, "schemas")) {
    LAKE_TRY(metadata.schemas, GetList(object, "schemas", ReadSchema));
    LAKE_TRY(metadata.current_schema_id, GetId<SchemaId>(object, "current-schema-id"));
    return {};
  }
  LAKE_TRY(const bj::object* schema, json::GetObject(object, "schema"));
  LAKE_TRY(Schema only, WithContext(ReadSchema(*schema), "schema"));
  metadata.current_schema_id = only.schema_id();
  metadata.schemas.push_back(std::move(only));
  return {};
}

Status ReadSpecs(const bj::object& object, TableMetadata& metadata) {
  LAKE_TRY_VOID(RequireFromV2(object, metadata.format_version, "partition-specs"));
  LAKE_TRY_VOID(RequireFromV2(object, metadata.format_version, "last-partition-id"));
  if (Has(object, "partition-specs")) {
    LAKE_TRY(metadata.partition_specs, GetList(object, "partition-specs", ReadPartitionSpec));
    LAKE_TRY(metadata.default_spec_id, GetId<PartitionSpecId>(object, "default-spec-id"));
  } else {
    LAKE_TRY_VOID(json::GetArray(object, "partition-spec"));
    PartitionSpec& spec = metadata.partition_specs.emplace_back();
    LAKE_TRY(spec.fields, ReadPartitionFields(object, "partition-spec"));
    metadata.default_spec_id = spec.spec_id;
  }
  LAKE_TRY(const std::optional<FieldId> last, GetOptionalId<FieldId>(object, "last-partition-id"));
  if (last.has_value()) {
    metadata.last_partition_id = *last;
    return {};
  }
  for (const PartitionSpec& spec : metadata.partition_specs) {
    for (const PartitionField& field : spec.fields) {
      metadata.last_partition_id = std::max(metadata.last_partition_id, field.field_id);
    }
  }
  return {};
}

Status ReadSortOrders(const bj::object& object, TableMetadata& metadata) {
  LAKE_TRY_VOID(RequireFromV2(object, metadata.format_version, "sort-orders"));
  if (!Has(object, "sort-orders")) {
    metadata.sort_orders.emplace_back();
    return {};
  }
  LAKE_TRY(metadata.sort_orders, GetList(object, "sort-orders", ReadSortOrder));
  LAKE_TRY(metadata.default_sort_order_id, GetId<SortOrderId>(object, "default-sort-order-id"));
  return {};
}

Status ReadSnapshots(const bj::object& object, TableMetadata& metadata) {
  LAKE_TRY(metadata.snapshots, GetList(object, "snapshots", ReadSnapshot));
  if (metadata.format_version == 1) {
    for (Snapshot& snapshot : metadata.snapshots) {
      snapshot.sequence_number = 0;
    }
  }
  LAKE_TRY(metadata.current_snapshot_id, GetOptionalId<SnapshotId>(object, "current-snapshot-id"));
  // The Java implementation writes this before v3.
  if (metadata.current_snapshot_id == kNoSnapshot) {
    metadata.current_snapshot_id.reset();
  }
  if (metadata.current_snapshot_id.has_value() && metadata.current_snapshot() == nullptr) {
    return InvalidArgument(fmt::format("current-snapshot-id {} names no snapshot",
                                       std::to_underlying(*metadata.current_snapshot_id)));
  }
  return {};
}

Status ReadRefs(const bj::object& object, TableMetadata& metadata) {
  LAKE_TRY(const bj::object* refs, json::GetOptionalObject(object, "refs"));
  if (refs != nullptr) {
    for (const auto& member : *refs) {
      const std::string where = fmt::format("ref {}", Quoted(member.key()));
      LAKE_TRY(const bj::object* ref, json::AsObject(member.value(), where));
      LAKE_TRY(SnapshotRef read, WithContext(ReadSnapshotRef(*ref), where));
      metadata.refs.emplace(member.key(), std::move(read));
    }
  }
  if (metadata.current_snapshot_id.has_value()) {
    metadata.refs.try_emplace(std::string(kMainBranch),
                              SnapshotRef{.snapshot_id = *metadata.current_snapshot_id});
  }
  return {};
}

Result<SnapshotLogEntry> ReadSnapshotLogEntry(const bj::object& object) {
  SnapshotLogEntry entry;
  LAKE_TRY(entry.snapshot_id, GetId<SnapshotId>(object, "snapshot-id"));
  LAKE_TRY(entry.timestamp, GetTime(object, "timestamp-ms"));
  entry.unknown = CollectUnknown(object, {"snapshot-id", "timestamp-ms"});
  return entry;
}

bj::object WriteSnapshotLogEntry(const SnapshotLogEntry& entry) {
  bj::object object;
  object["timestamp-ms"] = Millis(entry.timestamp);
  object["snapshot-id"] = std::to_underlying(entry.snapshot_id);
  AddUnknown(object, entry.unknown);
  return object;
}

Result<MetadataLogEntry> ReadMetadataLogEntry(const bj::object& object) {
  MetadataLogEntry entry;
  LAKE_TRY(entry.metadata_file, json::GetString(object, "metadata-file"));
  LAKE_TRY(entry.timestamp, GetTime(object, "timestamp-ms"));
  entry.unknown = CollectUnknown(object, {"metadata-file", "timestamp-ms"});
  return entry;
}

bj::object WriteMetadataLogEntry(const MetadataLogEntry& entry) {
  bj::object object;
  object["timestamp-ms"] = Millis(entry.timestamp);
  object["metadata-file"] = entry.metadata_file;
  AddUnknown(object, entry.unknown);
  return object;
}

Status ReadLists(const bj::object& object, TableMetadata& metadata) {
  LAKE_TRY(metadata.snapshot_log, GetList(object, "snapshot-log", ReadSnapshotLogEntry));
  LAKE_TRY(metadata.metadata_log, GetList(object, "metadata-log", ReadMetadataLogEntry));
  LAKE_TRY(metadata.statistics, GetList(object, "statistics", ReadStatisticsFile));
  LAKE_TRY(metadata.partition_statistics,
           GetList(object, "partition-statistics", ReadPartitionStatisticsFile));
  LAKE_TRY(metadata.encryption_keys, GetList(object, "encryption-keys", ReadEncryptionKey));
  return {};
}

Result<TableMetadata> ReadTableMetadata(const bj::object& object) {
  TableMetadata metadata;
  LAKE_TRY(metadata.format_version, GetInt32(object, "format-version"));
  if (metadata.format_version < kFormatVersionMin || metadata.format_version > kFormatVersionMax) {
    return Unimplemented(
        fmt::format("format version {} is not supported; this program knows {} to {}",
                    metadata.format_version, kFormatVersionMin, kFormatVersionMax));
  }
  LAKE_TRY_VOID(ReadHeader(object, metadata));
  LAKE_TRY_VOID(ReadSchemas(object, metadata));
  LAKE_TRY_VOID(ReadSpecs(object, metadata));
  LAKE_TRY_VOID(ReadSortOrders(object, metadata));
  LAKE_TRY_VOID(ReadSnapshots(object, metadata));
  LAKE_TRY_VOID(ReadRefs(object, metadata));
  LAKE_TRY_VOID(ReadLists(object, metadata));
  metadata.unknown = CollectUnknown(object, {"format-version",
                                             "table-uuid",
                                             "location",
                                             "last-sequence-number",
                                             "last-updated-ms",
                                             "last-column-id",
                                             "schema",
                                             "schemas",
                                             "current-schema-id",
                                             "partition-spec",
                                             "partition-specs",
                                             "default-spec-id",
                                             "last-partition-id",
                                             "properties",
                                             "current-snapshot-id",
                                             "snapshots",
                                             "snapshot-log",
                                             "metadata-log",
                                             "sort-orders",
                                             "default-sort-order-id",
                                             "refs",
                                             "statistics",
                                             "partition-statistics",
                                             "next-row-id",
                                             "encryption-keys"});
  return metadata;
}

// Whether the refs say no more than the current snapshot does.
bool OnlyPlainMain(const TableMetadata& metadata) {
  return metadata.refs.empty() ||
         (metadata.refs.size() == 1 && metadata.current_snapshot_id.has_value() &&
          metadata.refs.begin()->second ==
              SnapshotRef{.snapshot_id = *metadata.current_snapshot_id});
}

void WriteLists(const TableMetadata& metadata, bj::object& object) {
  object["snapshots"] = WriteList(metadata.snapshots, [&](const Snapshot& snapshot) {
    return WriteSnapshotObject(snapshot, metadata.format_version);
  });
  if (metadata.format_version >= 2 || !OnlyPlainMain(metadata)) {
    bj::object& refs = object["refs"].emplace_object();
    for (const auto& [name, ref] : metadata.refs) {
      refs[name] = WriteSnapshotRefObject(ref);
    }
  }
  object["snapshot-log"] = WriteList(metadata.snapshot_log, WriteSnapshotLogEntry);
  object["metadata-log"] = WriteList(metadata.metadata_log, WriteMetadataLogEntry);
  object["statistics"] = WriteList(metadata.statistics, WriteStatisticsFileObject);
  object["partition-statistics"] =
      WriteList(metadata.partition_statistics, WritePartitionStatisticsFileObject);
  if (!metadata.encryption_keys.empty()) {
    object["encryption-keys"] = WriteList(metadata.encryption_keys, WriteEncryptionKeyObject);
  }
}

bj::object WriteTableMetadataObject(const TableMetadata& metadata) {
  bj::object object;
  object["format-version"] = metadata.format_version;
  if (metadata.table_uuid.has_value()) {
    object["table-uuid"] = metadata.table_uuid->ToString();
  }
  object["location"] = metadata.location;
  if (metadata.format_version >= 2) {
    object["last-sequence-number"] = metadata.last_sequence_number;
  }
  object["last-updated-ms"] = Millis(metadata.last_updated);
  object["last-column-id"] = std::to_underlying(metadata.last_column_id);
  if (metadata.format_version == 1) {
    object["schema"] = WriteSchemaObject(metadata.current_schema());
    object["partition-spec"] = WritePartitionFieldArray(metadata.default_spec().fields);
  }
  object["current-schema-id"] = std::to_underlying(metadata.current_schema_id);
  object["schemas"] = WriteList(metadata.schemas, WriteSchemaObject);
  object["default-spec-id"] = std::to_underlying(metadata.default_spec_id);
  object["partition-specs"] = WriteList(metadata.partition_specs, WritePartitionSpecObject);
  object["last-partition-id"] = std::to_underlying(metadata.last_partition_id);
  object["default-sort-order-id"] = std::to_underlying(metadata.default_sort_order_id);
  object["sort-orders"] = WriteList(metadata.sort_orders, WriteSortOrderObject);
  object["properties"] = WriteProperties(metadata.properties);
  AddOptional(object, "current-snapshot-id", metadata.current_snapshot_id);
  AddOptional(object, "next-row-id", metadata.next_row_id);
  WriteLists(metadata, object);
  AddUnknown(object, metadata.unknown);
  return object;
}

// Whether arrays and objects nest at most `levels` deep.
bool FitsDepth(const bj::value& value, std::size_t levels) {
  const auto fits_inside = [&](const bj::value& inner) { return FitsDepth(inner, levels - 1); };
  if (value.is_array()) {
    return levels > 0 && std::ranges::all_of(value.get_array(), fits_inside);
  }
  if (value.is_object()) {
    return levels > 0 && std::ranges::all_of(value.get_object(), [&](const auto& member) {
             return fits_inside(member.value());
           });
  }
  return true;
}

}  // namespace

Result<TableMetadata> ParseTableMetadata(std::string_view bytes) {
  std::string unzipped;
  if (LooksGzipped(bytes)) {
    LAKE_TRY(unzipped, WithContext(Gunzip(bytes, kTableMetadataBytesMax), kContext));
    bytes = unzipped;
  }
  if (bytes.size() > kTableMetadataBytesMax) {
    return InvalidArgument(
        fmt::format("{}: larger than {} bytes", kContext, kTableMetadataBytesMax));
  }
  LAKE_TRY(const bj::value value, WithContext(json::Parse(bytes), kContext));
  LAKE_TRY(const bj::object* object, json::AsObject(value, kContext));
  LAKE_TRY(TableMetadata metadata, WithContext(ReadTableMetadata(*object), kContext));
  LAKE_TRY_VOID(Validate(metadata));
  return metadata;
}

Result<std::string> WriteTableMetadata(const TableMetadata& metadata) {
  LAKE_TRY_VOID(Validate(metadata));
  const bj::value value = WriteTableMetadataObject(metadata);
  if (!FitsDepth(value, json::kDepthMax)) {
    return InvalidArgument(fmt::format("{}: unknown members nest too deeply", kContext));
  }
  std::string text = json::Write(value);
  if (text.size() > kTableMetadataBytesMax) {
    return InvalidArgument(fmt::format("{}: larger than {} bytes; expire snapshots", kContext,
                                       kTableMetadataBytesMax));
  }
  return text;
}

}  // namespace lake::iceberg
