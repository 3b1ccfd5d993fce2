#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_parts_json_internal.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

Result<SnapshotRef::Kind> ReadKind(const bj::object& object) {
  LAKE_TRY(const std::string text, json::GetString(object, "type"));
  if (text == "branch") {
    return SnapshotRef::Kind::kBranch;
  }
  if (text == "tag") {
    return SnapshotRef::Kind::kTag;
  }
  return InvalidArgument(fmt::format("member 'type' is {}, not branch or tag", Quoted(text)));
}

Result<std::optional<std::chrono::milliseconds>> GetOptionalMillis(const bj::object& object,
                                                                   std::string_view name) {
  LAKE_TRY(const std::optional<std::int64_t> millis, json::GetOptionalInt(object, name));
  return millis.has_value() ? std::optional(std::chrono::milliseconds(*millis)) : std::nullopt;
}

}  // namespace

Result<Snapshot> ReadSnapshot(const bj::object& object) {
  Snapshot snapshot;
  LAKE_TRY(snapshot.snapshot_id, GetId<SnapshotId>(object, "snapshot-id"));
  LAKE_TRY(snapshot.parent_snapshot_id, GetOptionalId<SnapshotId>(object, "parent-snapshot-id"));
  LAKE_TRY(const std::optional<std::int64_t> sequence_number,
           json::GetOptionalInt(object, "sequence-number"));
  snapshot.sequence_number = sequence_number.value_or(0);
  LAKE_TRY(snapshot.timestamp, GetTime(object, "timestamp-ms"));
  LAKE_TRY(std::optional<std::string> manifest_list,
           json::GetOptionalString(object, "manifest-list"));
  snapshot.manifest_list = std::move(manifest_list).value_or("");
  if (snapshot.manifest_list.empty()) {
    // The deprecated list counts only where there is no manifest list.
    LAKE_TRY(snapshot.manifests, GetStrings(object, "manifests"));
  }
  LAKE_TRY(snapshot.summary, GetProperties(object, "summary"));
  LAKE_TRY(snapshot.schema_id, GetOptionalId<SchemaId>(object, "schema-id"));
  LAKE_TRY(snapshot.first_row_id, json::GetOptionalInt(object, "first-row-id"));
  LAKE_TRY(snapshot.added_rows, json::GetOptionalInt(object, "added-rows"));
  LAKE_TRY(snapshot.key_id, json::GetOptionalString(object, "key-id"));
  snapshot.unknown =
      CollectUnknown(object, {"snapshot-id", "parent-snapshot-id", "sequence-number",
                              "timestamp-ms", "manifest-list", "manifests", "summary", "schema-id",
                              "first-row-id", "added-rows", "key-id"});
  return snapshot;
}

bj::object WriteSnapshotObject(const Snapshot& snapshot, int format_version) {
  bj::object object;
  object["snapshot-id"] = std::to_underlying(snapshot.snapshot_id);
  AddOptional(object, "parent-snapshot-id", snapshot.parent_snapshot_id);
  if (format_version >= 2) {
    object["sequence-number"] = snapshot.sequence_number;
  }
  object["timestamp-ms"] = Millis(snapshot.timestamp);
  if (!snapshot.summary.empty()) {
    object["summary"] = WriteProperties(snapshot.summary);
  }
  if (!snapshot.manifest_list.empty()) {
    object["manifest-list"] = snapshot.manifest_list;
  } else {
    object["manifests"] = WriteStrings(snapshot.manifests);
  }
  AddOptional(object, "schema-id", snapshot.schema_id);
  AddOptional(object, "first-row-id", snapshot.first_row_id);
  AddOptional(object, "added-rows", snapshot.added_rows);
  AddOptional(object, "key-id", snapshot.key_id);
  AddUnknown(object, snapshot.unknown);
  return object;
}

Result<SnapshotRef> ReadSnapshotRef(const bj::object& object) {
  SnapshotRef ref;
  LAKE_TRY(ref.snapshot_id, GetId<SnapshotId>(object, "snapshot-id"));
  LAKE_TRY(ref.kind, ReadKind(object));
  LAKE_TRY(ref.min_snapshots_to_keep, GetOptionalInt32(object, "min-snapshots-to-keep"));
  LAKE_TRY(ref.max_snapshot_age, GetOptionalMillis(object, "max-snapshot-age-ms"));
  LAKE_TRY(ref.max_ref_age, GetOptionalMillis(object, "max-ref-age-ms"));
  ref.unknown = CollectUnknown(object, {"snapshot-id", "type", "min-snapshots-to-keep",
                                        "max-snapshot-age-ms", "max-ref-age-ms"});
  return ref;
}

bj::object WriteSnapshotRefObject(const SnapshotRef& ref) {
  bj::object object;
  object["snapshot-id"] = std::to_underlying(ref.snapshot_id);
  object["type"] = ref.kind == SnapshotRef::Kind::kBranch ? "branch" : "tag";
  AddOptional(object, "min-snapshots-to-keep", ref.min_snapshots_to_keep);
  if (ref.max_snapshot_age.has_value()) {
    object["max-snapshot-age-ms"] = ref.max_snapshot_age->count();
  }
  if (ref.max_ref_age.has_value()) {
    object["max-ref-age-ms"] = ref.max_ref_age->count();
  }
  AddUnknown(object, ref.unknown);
  return object;
}

}  // namespace lake::iceberg
