#include "lake/iceberg/table_update_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/encryption_key.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/schema_json_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/statistics_file.h"
#include "lake/iceberg/table_parts_json_internal.h"
#include "lake/iceberg/table_update.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

// Reads the member `name`, an object, with `read`.
template <typename Read>
auto GetPart(const bj::object& object, std::string_view name, Read read)
    -> std::invoke_result_t<Read, const bj::object&> {
  LAKE_TRY(const bj::object* part, json::GetObject(object, name));
  return WithContext(read(*part), name);
}

// Reads the list of ids `name`, which must be there.
template <typename Id>
Result<std::vector<Id>> GetRequiredIds(const bj::object& object, std::string_view name) {
  LAKE_TRY_VOID(json::GetArray(object, name));
  return GetIds<Id>(object, name);
}

// Returns `name`, or `older_name` where only that is there.
std::string_view NameOf(const bj::object& object, std::string_view name,
                        std::string_view older_name) {
  return !object.contains(name) && object.contains(older_name) ? older_name : name;
}

Result<TableUpdate> ReadAssignUuid(const bj::object& object) {
  LAKE_TRY(const Uuid uuid, GetUuid(object, "uuid"));
  return AssignUuid{uuid};
}

Result<TableUpdate> ReadUpgradeFormatVersion(const bj::object& object) {
  LAKE_TRY(const std::int32_t version, GetInt32(object, "format-version"));
  return UpgradeFormatVersion{version};
}

Result<TableUpdate> ReadAddSchema(const bj::object& object) {
  // The member last-column-id is deprecated: whoever applies the update knows better.
  LAKE_TRY(Schema schema, GetPart(object, "schema", ReadSchema));
  return AddSchema{std::move(schema)};
}

Result<TableUpdate> ReadSetCurrentSchema(const bj::object& object) {
  LAKE_TRY(const SchemaId id, GetId<SchemaId>(object, "schema-id"));
  return SetCurrentSchema{id};
}

Result<TableUpdate> ReadRemoveSchemas(const bj::object& object) {
  LAKE_TRY(std::vector<SchemaId> ids, GetRequiredIds<SchemaId>(object, "schema-ids"));
  return RemoveSchemas{std::move(ids)};
}

// Reads a spec whose own id says nothing and may be missing.
Result<PartitionSpec> ReadUnboundSpec(const bj::object& object) {
  LAKE_TRY(const bj::array* fields, json::GetArray(object, "fields"));
  PartitionSpec spec;
  LAKE_TRY(const std::optional<PartitionSpecId> id,
           GetOptionalId<PartitionSpecId>(object, "spec-id"));
  spec.spec_id = id.value_or(spec.spec_id);
  LAKE_TRY(spec.fields, ReadPartitionFields(object, "fields"));
  const bool have_ids = std::ranges::any_of(*fields, [](const bj::value& field) {
    const bj::value* field_id = field.get_object().if_contains("field-id");
    return field_id != nullptr && !field_id->is_null();
  });
  if (!have_ids) {
    // What the list of a stored spec would mean is not what one that is to be added means.
    for (PartitionField& field : spec.fields) {
      field.field_id = FieldId{0};
    }
  }
  spec.unknown = CollectUnknown(object, {"spec-id", "fields"});
  return spec;
}

Result<TableUpdate> ReadAddSpec(const bj::object& object) {
  LAKE_TRY(PartitionSpec spec, GetPart(object, "spec", ReadUnboundSpec));
  return AddPartitionSpec{std::move(spec)};
}

Result<TableUpdate> ReadSetDefaultSpec(const bj::object& object) {
  LAKE_TRY(const PartitionSpecId id, GetId<PartitionSpecId>(object, "spec-id"));
  return SetDefaultPartitionSpec{id};
}

Result<TableUpdate> ReadRemoveSpecs(const bj::object& object) {
  LAKE_TRY(std::vector<PartitionSpecId> ids, GetRequiredIds<PartitionSpecId>(object, "spec-ids"));
  return RemovePartitionSpecs{std::move(ids)};
}

Result<TableUpdate> ReadAddSortOrder(const bj::object& object) {
  LAKE_TRY(SortOrder order, GetPart(object, "sort-order", ReadSortOrder));
  return AddSortOrder{std::move(order)};
}

Result<TableUpdate> ReadSetDefaultSortOrder(const bj::object& object) {
  LAKE_TRY(const SortOrderId id, GetId<SortOrderId>(object, "sort-order-id"));
  return SetDefaultSortOrder{id};
}

Result<TableUpdate> ReadAddSnapshot(const bj::object& object) {
  LAKE_TRY(Snapshot snapshot, GetPart(object, "snapshot", ReadSnapshot));
  return AddSnapshot{std::move(snapshot)};
}

Result<TableUpdate> ReadRemoveSnapshots(const bj::object& object) {
  LAKE_TRY(std::vector<SnapshotId> ids, GetRequiredIds<SnapshotId>(object, "snapshot-ids"));
  return RemoveSnapshots{std::move(ids)};
}

Result<TableUpdate> ReadSetSnapshotRef(const bj::object& object) {
  SetSnapshotRef update;
  LAKE_TRY(update.name, json::GetString(object, "ref-name"));
  LAKE_TRY(update.ref, ReadSnapshotRef(object));
  // The ref's members are the update's own.
  update.ref.unknown.erase("action");
  update.ref.unknown.erase("ref-name");
  return update;
}

Result<TableUpdate> ReadRemoveSnapshotRef(const bj::object& object) {
  LAKE_TRY(std::string name, json::GetString(object, "ref-name"));
  return RemoveSnapshotRef{std::move(name)};
}

Result<TableUpdate> ReadSetLocation(const bj::object& object) {
  LAKE_TRY(std::string location, json::GetString(object, "location"));
  return SetLocation{std::move(location)};
}

Result<TableUpdate> ReadSetProperties(const bj::object& object) {
  const std::string_view name = NameOf(object, "updates", "updated");
  LAKE_TRY_VOID(json::GetObject(object, name));
  LAKE_TRY(Properties updates, GetProperties(object, name));
  return SetProperties{std::move(updates)};
}

Result<TableUpdate> ReadRemoveProperties(const bj::object& object) {
  const std::string_view name = NameOf(object, "removals", "removed");
  LAKE_TRY_VOID(json::GetArray(object, name));
  LAKE_TRY(std::vector<std::string> removals, GetStrings(object, name));
  return RemoveProperties{std::move(removals)};
}

Result<TableUpdate> ReadSetStatistics(const bj::object& object) {
  LAKE_TRY(StatisticsFile file, GetPart(object, "statistics", ReadStatisticsFile));
  // Older clients say the snapshot twice.
  LAKE_TRY(const std::optional<SnapshotId> again, GetOptionalId<SnapshotId>(object, "snapshot-id"));
  if (again.value_or(file.snapshot_id) != file.snapshot_id) {
    return InvalidArgument(fmt::format("member 'snapshot-id' is {}, and that of 'statistics' is {}",
                                       std::to_underlying(*again),
                                       std::to_underlying(file.snapshot_id)));
  }
  return SetStatistics{std::move(file)};
}

Result<TableUpdate> ReadRemoveStatistics(const bj::object& object) {
  LAKE_TRY(const SnapshotId id, GetId<SnapshotId>(object, "snapshot-id"));
  return RemoveStatistics{id};
}

Result<TableUpdate> ReadSetPartitionStatistics(const bj::object& object) {
  LAKE_TRY(PartitionStatisticsFile file,
           GetPart(object, "partition-statistics", ReadPartitionStatisticsFile));
  return SetPartitionStatistics{std::move(file)};
}

Result<TableUpdate> ReadRemovePartitionStatistics(const bj::object& object) {
  LAKE_TRY(const SnapshotId id, GetId<SnapshotId>(object, "snapshot-id"));
  return RemovePartitionStatistics{id};
}

Result<TableUpdate> ReadAddEncryptionKey(const bj::object& object) {
  LAKE_TRY(EncryptionKey key, GetPart(object, "encryption-key", ReadEncryptionKey));
  return AddEncryptionKey{std::move(key)};
}

Result<TableUpdate> ReadRemoveEncryptionKey(const bj::object& object) {
  LAKE_TRY(std::string key_id, json::GetString(object, "key-id"));
  return RemoveEncryptionKey{std::move(key_id)};
}

struct Reader {
  std::string_view action;
  Result<TableUpdate> (*read)(const bj::object& object);
};

// In the order of the variant.
constexpr std::array<Reader, std::variant_size_v<TableUpdate>> kReaders{{
    {"assign-uuid", ReadAssignUuid},
    {"upgrade-format-version", ReadUpgradeFormatVersion},
    {"add-schema", ReadAddSchema},
    {"set-current-schema", ReadSetCurrentSchema},
    {"remove-schemas", ReadRemoveSchemas},
    {"add-spec", ReadAddSpec},
    {"set-default-spec", ReadSetDefaultSpec},
    {"remove-partition-specs", ReadRemoveSpecs},
    {"add-sort-order", ReadAddSortOrder},
    {"set-default-sort-order", ReadSetDefaultSortOrder},
    {"add-snapshot", ReadAddSnapshot},
    {"remove-snapshots", ReadRemoveSnapshots},
    {"set-snapshot-ref", ReadSetSnapshotRef},
    {"remove-snapshot-ref", ReadRemoveSnapshotRef},
    {"set-location", ReadSetLocation},
    {"set-properties", ReadSetProperties},
    {"remove-properties", ReadRemoveProperties},
    {"set-statistics", ReadSetStatistics},
    {"remove-statistics", ReadRemoveStatistics},
    {"set-partition-statistics", ReadSetPartitionStatistics},
    {"remove-partition-statistics", ReadRemovePartitionStatistics},
    {"add-encryption-key", ReadAddEncryptionKey},
    {"remove-encryption-key", ReadRemoveEncryptionKey},
}};

Result<TableUpdate> ReadUpdate(const bj::object& object) {
  LAKE_TRY(const std::string action, json::GetString(object, "action"));
  for (const Reader& reader : kReaders) {
    if (reader.action == action) {
      return WithContext(reader.read(object), action);
    }
  }
  return InvalidArgument(fmt::format("unknown table update {}", Quoted(action)));
}

// Returns a spec's JSON. If the table is to give all field ids, they are left out.
bj::object WriteUnboundSpec(const PartitionSpec& spec) {
  bj::object object = WritePartitionSpecObject(spec);
  const bool has_ids = std::ranges::any_of(
      spec.fields, [](const PartitionField& field) { return field.field_id != FieldId{0}; });
  if (!has_ids) {
    for (bj::value& field : object["fields"].get_array()) {
      field.get_object().stable_erase("field-id");
    }
  }
  return object;
}

// Returns a snapshot's JSON; a sequence number of 0 is left out, as before v2.
bj::object WriteAnySnapshot(const Snapshot& snapshot) {
  return WriteSnapshotObject(snapshot, snapshot.sequence_number == 0 ? 1 : 2);
}

// Adds the members of an update to an object that has its action.
struct Writer {
  void operator()(const AssignUuid& update) const { object["uuid"] = update.uuid.ToString(); }

  void operator()(const UpgradeFormatVersion& update) const {
    object["format-version"] = update.format_version;
  }

  void operator()(const AddSchema& update) const {
    object["schema"] = WriteSchemaObject(update.schema);
  }

  void operator()(const SetCurrentSchema& update) const {
    object["schema-id"] = std::to_underlying(update.schema_id);
  }

  void operator()(const RemoveSchemas& update) const {
    object["schema-ids"] = WriteIds(update.schema_ids);
  }

  void operator()(const AddPartitionSpec& update) const {
    object["spec"] = WriteUnboundSpec(update.spec);
  }

  void operator()(const SetDefaultPartitionSpec& update) const {
    object["spec-id"] = std::to_underlying(update.spec_id);
  }

  void operator()(const RemovePartitionSpecs& update) const {
    object["spec-ids"] = WriteIds(update.spec_ids);
  }

  void operator()(const AddSortOrder& update) const {
    object["sort-order"] = WriteSortOrderObject(update.sort_order);
  }

  void operator()(const SetDefaultSortOrder& update) const {
    object["sort-order-id"] = std::to_underlying(update.sort_order_id);
  }

  void operator()(const AddSnapshot& update) const {
    object["snapshot"] = WriteAnySnapshot(update.snapshot);
  }

  void operator()(const RemoveSnapshots& update) const {
    object["snapshot-ids"] = WriteIds(update.snapshot_ids);
  }

  void operator()(const SetSnapshotRef& update) const {
    object["ref-name"] = update.name;
    for (const auto& member : WriteSnapshotRefObject(update.ref)) {
      object.emplace(member.key(), member.value());
    }
  }

  void operator()(const RemoveSnapshotRef& update) const { object["ref-name"] = update.name; }

  void operator()(const SetLocation& update) const { object["location"] = update.location; }

  void operator()(const SetProperties& update) const {
    object["updates"] = WriteProperties(update.updates);
  }

  void operator()(const RemoveProperties& update) const {
    object["removals"] = WriteStrings(update.removals);
  }

  void operator()(const SetStatistics& update) const {
    object["snapshot-id"] = std::to_underlying(update.statistics.snapshot_id);
    object["statistics"] = WriteStatisticsFileObject(update.statistics);
  }

  void operator()(const RemoveStatistics& update) const {
    object["snapshot-id"] = std::to_underlying(update.snapshot_id);
  }

  void operator()(const SetPartitionStatistics& update) const {
    object["partition-statistics"] =
        WritePartitionStatisticsFileObject(update.partition_statistics);
  }

  void operator()(const RemovePartitionStatistics& update) const {
    object["snapshot-id"] = std::to_underlying(update.snapshot_id);
  }

  void operator()(const AddEncryptionKey& update) const {
    object["encryption-key"] = WriteEncryptionKeyObject(update.key);
  }

  void operator()(const RemoveEncryptionKey& update) const { object["key-id"] = update.key_id; }

  bj::object& object;
};

bj::object WriteUpdate(const TableUpdate& update) {
  bj::object object;
  object["action"] = kReaders.at(update.index()).action;
  std::visit(Writer{object}, update);
  return object;
}

}  // namespace

Result<std::vector<TableUpdate>> ParseTableUpdates(std::string_view text) {
  return ParseList(text, "updates", ReadUpdate);
}

std::string WriteTableUpdates(const std::vector<TableUpdate>& updates) {
  return json::Write(WriteList(updates, WriteUpdate));
}

}  // namespace lake::iceberg
