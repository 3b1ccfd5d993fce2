#include "lake/catalog/records.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"

namespace lake::catalog {
namespace {

namespace bj = boost::json;

struct KindName {
  OperationKind kind;
  std::string_view name;
};

constexpr std::array<KindName, 18> kKindNames = {{
    {OperationKind::kCreateNamespace, "create-namespace"},
    {OperationKind::kDropNamespace, "drop-namespace"},
    {OperationKind::kSetNamespaceProperties, "set-namespace-properties"},
    {OperationKind::kCreateTable, "create-table"},
    {OperationKind::kRegisterTable, "register-table"},
    {OperationKind::kAppend, "append"},
    {OperationKind::kDropTable, "drop-table"},
    {OperationKind::kRenameTable, "rename-table"},
    {OperationKind::kCommitTable, "commit-table"},
    {OperationKind::kCommitTables, "commit-tables"},
    {OperationKind::kUndropTable, "undrop-table"},
    {OperationKind::kExpireSnapshots, "expire-snapshots"},
    {OperationKind::kCompactFiles, "compact-files"},
    {OperationKind::kMergeManifests, "merge-manifests"},
    {OperationKind::kCreateView, "create-view"},
    {OperationKind::kReplaceView, "replace-view"},
    {OperationKind::kDropView, "drop-view"},
    {OperationKind::kRenameView, "rename-view"},
}};

// The last hour that the ten digits of a partition can say.
constexpr std::int64_t kHourMax = 9'999'999'999;

Result<OperationKind> ParseKind(std::string_view name) {
  const auto* found = std::ranges::find(kKindNames, name, &KindName::name);
  if (found == kKindNames.end()) {
    return Unimplemented(
        fmt::format("operation kind '{}' is not known to this version of lake", name));
  }
  return found->kind;
}

bj::string ToJson(std::string_view text) {
  return bj::string(text.data(), text.size());
}

bj::object StartRecord(const std::string& unknown) {
  bj::object object;
  object["format"] = kRecordFormat;
  if (!unknown.empty()) {
    // It was cut from a parsed record, so it parses.
    Result<bj::value> rest = json::Parse(unknown);
    if (rest.has_value() && rest->is_object()) {
      for (auto& member : rest->get_object()) {
        object.insert_or_assign(member.key(), std::move(member.value()));
      }
    }
  }
  return object;
}

// Parses a record's bytes and checks its format number.
Result<bj::object> OpenRecord(std::string_view bytes, std::string_view what) {
  Result<bj::value> parsed = json::Parse(bytes);
  if (!parsed.has_value()) {
    return Corruption(fmt::format("{}: {}", what, parsed.error().message()));
  }
  if (!parsed->is_object()) {
    return Corruption(fmt::format("{}: not a JSON object", what));
  }
  const Result<std::int64_t> format = json::GetInt(parsed->get_object(), "format");
  if (!format.has_value()) {
    return Corruption(fmt::format("{}: {}", what, format.error().message()));
  }
  if (*format > kRecordFormat) {
    return Unimplemented(
        fmt::format("{}: written by a newer version of lake (format {}; this one reads {})", what,
                    *format, kRecordFormat));
  }
  return std::move(parsed->get_object());
}

// Returns what is left of a record without the members we know.
std::string Unknown(bj::object object, std::initializer_list<std::string_view> known) {
  object.erase("format");
  for (const std::string_view name : known) {
    object.erase(bj::string_view(name.data(), name.size()));
  }
  return object.empty() ? std::string() : json::Write(object);
}

// Turns what the typed accessors say of a stored record into what it is: damage.
template <typename T>
Result<T> Stored(Result<T> result, std::string_view what) {
  if (!result.has_value() && result.error().code() == ErrorCode::kInvalidArgument) {
    return Corruption(fmt::format("{}: {}", what, result.error().message()));
  }
  return result;
}

Result<Uuid> GetUuid(const bj::object& object, std::string_view name) {
  LAKE_TRY(const std::string text, json::GetString(object, name));
  return WithContext(Uuid::Parse(text), fmt::format("member '{}'", name));
}

Result<std::vector<Uuid>> GetUuids(const bj::object& object, std::string_view name) {
  LAKE_TRY(const bj::array* array, json::GetArray(object, name));
  std::vector<Uuid> ids;
  for (const bj::value& element : *array) {
    if (!element.is_string()) {
      return InvalidArgument(fmt::format("member '{}' holds something that is not a string", name));
    }
    LAKE_TRY(const Uuid id, Uuid::Parse(std::string_view(element.get_string())));
    ids.push_back(id);
  }
  return ids;
}

Result<std::uint64_t> GetUnsigned(const bj::object& object, std::string_view name) {
  const bj::value* value = object.if_contains(bj::string_view(name.data(), name.size()));
  if (value != nullptr && value->is_uint64()) {
    return value->get_uint64();
  }
  LAKE_TRY(const std::int64_t number, json::GetInt(object, name));
  if (number < 0) {
    return InvalidArgument(fmt::format("member '{}' is negative", name));
  }
  return static_cast<std::uint64_t>(number);
}

Result<WallTime> GetTime(const bj::object& object, std::string_view name) {
  LAKE_TRY(const std::int64_t millis, json::GetInt(object, name));
  return WallTime(std::chrono::milliseconds(millis));
}

bj::array UuidsToJson(const std::vector<Uuid>& ids) {
  bj::array array;
  for (const Uuid& id : ids) {
    array.push_back(ToJson(id.ToString()));
  }
  return array;
}

bj::object NameToJson(const TableName& name) {
  bj::array levels;
  for (const std::string& level : name.ns.levels) {
    levels.push_back(ToJson(level));
  }
  return {{"namespace", std::move(levels)}, {"name", ToJson(name.name)}};
}

Result<TableName> GetName(const bj::object& object, std::string_view member) {
  LAKE_TRY(const bj::object* part, json::GetObject(object, member));
  LAKE_TRY(const bj::array* levels, json::GetArray(*part, "namespace"));
  TableName name;
  for (const bj::value& level : *levels) {
    if (!level.is_string()) {
      return InvalidArgument("a namespace level is not a string");
    }
    name.ns.levels.emplace_back(level.get_string());
  }
  LAKE_TRY(name.name, json::GetString(*part, "name"));
  LAKE_TRY_VOID(Validate(name));
  return name;
}

Result<NamespaceRecord> ReadNamespaceRecord(const bj::object& object) {
  NamespaceRecord record;
  LAKE_TRY(const bj::object* properties, json::GetObject(object, "properties"));
  for (const auto& member : *properties) {
    if (!member.value().is_string()) {
      return InvalidArgument("a property is not a string");
    }
    record.properties.emplace(std::string(member.key()), std::string(member.value().get_string()));
  }
  record.unknown = Unknown(object, {"properties"});
  return record;
}

Result<Registration> ReadRegistration(const bj::object& object) {
  Registration record;
  LAKE_TRY(record.incarnation, GetUuid(object, "incarnation"));
  LAKE_TRY(record.location, json::GetString(object, "location"));
  LAKE_TRY(record.metadata_location, json::GetString(object, "metadata-location"));
  LAKE_TRY(record.version, GetUnsigned(object, "version"));
  LAKE_TRY(record.engine, json::GetString(object, "engine"));
  LAKE_TRY(record.last_operation, GetUuid(object, "last-operation"));
  record.unknown = Unknown(object, {"incarnation", "location", "metadata-location", "version",
                                    "engine", "last-operation"});
  return record;
}

Result<ViewRecord> ReadViewRecord(const bj::object& object) {
  ViewRecord record;
  LAKE_TRY(record.uuid, GetUuid(object, "uuid"));
  LAKE_TRY(record.location, json::GetString(object, "location"));
  LAKE_TRY(record.metadata_location, json::GetString(object, "metadata-location"));
  LAKE_TRY(record.version, GetUnsigned(object, "version"));
  LAKE_TRY(record.last_operation, GetUuid(object, "last-operation"));
  record.unknown =
      Unknown(object, {"uuid", "location", "metadata-location", "version", "last-operation"});
  return record;
}

Result<PendingTable> ReadPendingTable(const bj::value& value) {
  LAKE_TRY(const bj::object* object, json::AsObject(value, "a pending table"));
  PendingTable table;
  LAKE_TRY(table.name, GetName(*object, "table"));
  LAKE_TRY(table.incarnation, GetUuid(*object, "incarnation"));
  LAKE_TRY(table.base, json::GetOptionalString(*object, "base"));
  LAKE_TRY(table.location, json::GetString(*object, "location"));
  LAKE_TRY(table.planned_location, json::GetString(*object, "planned-location"));
  LAKE_TRY(table.snapshot_id, json::GetInt(*object, "snapshot-id"));
  return table;
}

Result<PendingRecord> ReadPendingRecord(const bj::object& object) {
  PendingRecord record;
  LAKE_TRY(const std::string kind, json::GetString(object, "kind"));
  LAKE_TRY(record.kind, ParseKind(kind));
  LAKE_TRY(const bj::array* tables, json::GetArray(object, "tables"));
  for (const bj::value& value : *tables) {
    LAKE_TRY(PendingTable table, ReadPendingTable(value));
    record.tables.push_back(std::move(table));
  }
  if (record.tables.empty()) {
    return InvalidArgument("member 'tables' is empty");
  }
  LAKE_TRY(record.digest, json::GetString(object, "digest"));
  LAKE_TRY(record.group, GetUuids(object, "group"));
  LAKE_TRY(record.epoch, GetUnsigned(object, "epoch"));
  LAKE_TRY(record.session, GetUuid(object, "session"));
  record.unknown = Unknown(object, {"kind", "tables", "digest", "group", "epoch", "session"});
  return record;
}

Result<OperationResult> ReadResult(const bj::object& object) {
  OperationResult result;
  LAKE_TRY(result.succeeded, json::GetBool(object, "succeeded"));
  LAKE_TRY(std::optional<std::string> location,
           json::GetOptionalString(object, "metadata-location"));
  LAKE_TRY(const std::optional<std::int64_t> snapshot, json::GetOptionalInt(object, "snapshot-id"));
  LAKE_TRY(std::optional<std::string> code, json::GetOptionalString(object, "error-code"));
  LAKE_TRY(std::optional<std::string> message, json::GetOptionalString(object, "error-message"));
  result.metadata_location = std::move(location).value_or("");
  result.snapshot_id = snapshot.value_or(-1);
  result.error_code = std::move(code).value_or("");
  result.error_message = std::move(message).value_or("");
  return result;
}

bj::object ResultToJson(const OperationResult& result) {
  bj::object object;
  object["succeeded"] = result.succeeded;
  if (!result.metadata_location.empty()) {
    object["metadata-location"] = ToJson(result.metadata_location);
  }
  if (result.snapshot_id >= 0) {
    object["snapshot-id"] = result.snapshot_id;
  }
  if (!result.succeeded) {
    object["error-code"] = ToJson(result.error_code);
    object["error-message"] = ToJson(result.error_message);
  }
  return object;
}

Result<OperationRecord> ReadOperationRecord(const bj::object& object) {
  OperationRecord record;
  LAKE_TRY(const std::string kind, json::GetString(object, "kind"));
  LAKE_TRY(record.kind, ParseKind(kind));
  LAKE_TRY(const bj::array* names, json::GetArray(object, "names"));
  for (const bj::value& name : *names) {
    if (!name.is_string()) {
      return InvalidArgument("member 'names' holds something that is not a string");
    }
    record.names.emplace_back(name.get_string());
  }
  LAKE_TRY(record.incarnations, GetUuids(object, "incarnations"));
  LAKE_TRY(record.digest, json::GetString(object, "digest"));
  LAKE_TRY(const bj::object* result, json::GetObject(object, "result"));
  LAKE_TRY(record.result, ReadResult(*result));
  LAKE_TRY(record.epoch, GetUnsigned(object, "epoch"));
  LAKE_TRY(record.finished, GetTime(object, "finished-ms"));
  record.unknown = Unknown(
      object, {"kind", "names", "incarnations", "digest", "result", "epoch", "finished-ms"});
  return record;
}

Result<Tombstone> ReadTombstone(const bj::object& object) {
  Tombstone record;
  LAKE_TRY(record.name, GetName(object, "table"));
  LAKE_TRY(record.registration, json::GetString(object, "registration"));
  LAKE_TRY(record.purge, json::GetBool(object, "purge"));
  LAKE_TRY(record.state, json::GetString(object, "state"));
  if (record.state != kDroppedState && record.state != kPurgingState) {
    return Unimplemented(
        fmt::format("tombstone state '{}' is not known to this version of lake", record.state));
  }
  LAKE_TRY(record.dropped, GetTime(object, "dropped-ms"));
  record.unknown = Unknown(object, {"table", "registration", "purge", "state", "dropped-ms"});
  return record;
}

Result<LocationRecord> ReadLocationRecord(const bj::object& object) {
  LocationRecord record;
  LAKE_TRY(record.incarnation, GetUuid(object, "incarnation"));
  record.unknown = Unknown(object, {"incarnation"});
  return record;
}

Result<ForgottenRecord> ReadForgottenRecord(const bj::object& object) {
  ForgottenRecord record;
  LAKE_TRY(const std::int64_t hour, json::GetInt(object, "before-hour"));
  if (hour < 0 || hour > kHourMax) {
    return InvalidArgument(fmt::format("member 'before-hour' is {}, which is no hour", hour));
  }
  record.before = std::chrono::hours(hour);
  record.unknown = Unknown(object, {"before-hour"});
  return record;
}

// Opens a record and reads its members with `read`.
template <typename Read>
auto Decode(std::string_view bytes, std::string_view what, Read read)
    -> decltype(read(std::declval<const bj::object&>())) {
  LAKE_TRY(const bj::object object, OpenRecord(bytes, what));
  return Stored(read(object), what);
}

}  // namespace

std::string_view OperationKindName(OperationKind kind) {
  const auto* found = std::ranges::find(kKindNames, kind, &KindName::kind);
  return found == kKindNames.end() ? std::string_view("unknown") : found->name;
}

std::string Encode(const NamespaceRecord& record) {
  bj::object object = StartRecord(record.unknown);
  bj::object properties;
  for (const auto& [name, value] : record.properties) {
    properties[name] = ToJson(value);
  }
  object["properties"] = std::move(properties);
  return json::Write(object);
}

std::string Encode(const Registration& record) {
  bj::object object = StartRecord(record.unknown);
  object["incarnation"] = ToJson(record.incarnation.ToString());
  object["location"] = ToJson(record.location);
  object["metadata-location"] = ToJson(record.metadata_location);
  object["version"] = record.version;
  object["engine"] = ToJson(record.engine);
  object["last-operation"] = ToJson(record.last_operation.ToString());
  return json::Write(object);
}

std::string Encode(const ViewRecord& record) {
  bj::object object = StartRecord(record.unknown);
  object["uuid"] = ToJson(record.uuid.ToString());
  object["location"] = ToJson(record.location);
  object["metadata-location"] = ToJson(record.metadata_location);
  object["version"] = record.version;
  object["last-operation"] = ToJson(record.last_operation.ToString());
  return json::Write(object);
}

std::string Encode(const PendingRecord& record) {
  bj::object object = StartRecord(record.unknown);
  object["kind"] = ToJson(OperationKindName(record.kind));
  bj::array tables;
  for (const PendingTable& table : record.tables) {
    bj::object part;
    part["table"] = NameToJson(table.name);
    part["incarnation"] = ToJson(table.incarnation.ToString());
    if (table.base.has_value()) {
      part["base"] = ToJson(*table.base);
    }
    part["location"] = ToJson(table.location);
    part["planned-location"] = ToJson(table.planned_location);
    part["snapshot-id"] = table.snapshot_id;
    tables.push_back(std::move(part));
  }
  object["tables"] = std::move(tables);
  object["digest"] = ToJson(record.digest);
  object["group"] = UuidsToJson(record.group);
  object["epoch"] = record.epoch;
  object["session"] = ToJson(record.session.ToString());
  return json::Write(object);
}

std::string Encode(const OperationRecord& record) {
  bj::object object = StartRecord(record.unknown);
  object["kind"] = ToJson(OperationKindName(record.kind));
  bj::array names;
  for (const std::string& name : record.names) {
    names.push_back(ToJson(name));
  }
  object["names"] = std::move(names);
  object["incarnations"] = UuidsToJson(record.incarnations);
  object["digest"] = ToJson(record.digest);
  object["result"] = ResultToJson(record.result);
  object["epoch"] = record.epoch;
  object["finished-ms"] = record.finished.time_since_epoch().count();
  return json::Write(object);
}

std::string Encode(const Tombstone& record) {
  bj::object object = StartRecord(record.unknown);
  object["table"] = NameToJson(record.name);
  object["registration"] = ToJson(record.registration);
  object["purge"] = record.purge;
  object["state"] = ToJson(record.state);
  object["dropped-ms"] = record.dropped.time_since_epoch().count();
  return json::Write(object);
}

std::string Encode(const LocationRecord& record) {
  bj::object object = StartRecord(record.unknown);
  object["incarnation"] = ToJson(record.incarnation.ToString());
  return json::Write(object);
}

std::string Encode(const ForgottenRecord& record) {
  bj::object object = StartRecord(record.unknown);
  object["before-hour"] = record.before.count();
  return json::Write(object);
}

Result<NamespaceRecord> DecodeNamespaceRecord(std::string_view bytes) {
  return Decode(bytes, "namespace record", ReadNamespaceRecord);
}

Result<Registration> DecodeRegistration(std::string_view bytes) {
  return Decode(bytes, "table registration", ReadRegistration);
}

Result<ViewRecord> DecodeViewRecord(std::string_view bytes) {
  return Decode(bytes, "view record", ReadViewRecord);
}

Result<PendingRecord> DecodePendingRecord(std::string_view bytes) {
  return Decode(bytes, "pending record", ReadPendingRecord);
}

Result<OperationRecord> DecodeOperationRecord(std::string_view bytes) {
  return Decode(bytes, "operation record", ReadOperationRecord);
}

Result<Tombstone> DecodeTombstone(std::string_view bytes) {
  return Decode(bytes, "tombstone", ReadTombstone);
}

Result<LocationRecord> DecodeLocationRecord(std::string_view bytes) {
  return Decode(bytes, "location record", ReadLocationRecord);
}

Result<ForgottenRecord> DecodeForgottenRecord(std::string_view bytes) {
  return Decode(bytes, "record of what was forgotten", ReadForgottenRecord);
}

}  // namespace lake::catalog
