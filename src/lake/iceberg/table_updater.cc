#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/encryption_key.h"
#include "lake/iceberg/new_parts_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_updater_internal.h"

namespace lake::iceberg {
namespace {

constexpr int kFirstVersionWithKeys = 3;
constexpr int kFirstVersionWithRowIds = 3;

}  // namespace

Status TableUpdater::operator()(const AssignUuid& update) {
  if (update.uuid.is_nil()) {
    return InvalidArgument("assign uuid: it is nil");
  }
  // Everything that was ever written down about the table knows it by its UUID.
  if (metadata_.table_uuid.value_or(update.uuid) != update.uuid) {
    return InvalidArgument(fmt::format("assign uuid {}: the table has another, {}",
                                       update.uuid.ToString(), metadata_.table_uuid->ToString()));
  }
  metadata_.table_uuid = update.uuid;
  return {};
}

Status TableUpdater::operator()(const UpgradeFormatVersion& update) {
  if (update.format_version > kFormatVersionMax) {
    return Unimplemented(fmt::format(
        "upgrade to format version {}: it is not supported; this program knows {} to {}",
        update.format_version, kFormatVersionMin, kFormatVersionMax));
  }
  if (update.format_version < metadata_.format_version) {
    return InvalidArgument(
        fmt::format("upgrade to format version {}: the table has the later version {}",
                    update.format_version, metadata_.format_version));
  }
  metadata_.format_version = update.format_version;
  if (metadata_.format_version >= kFirstVersionWithRowIds && !metadata_.next_row_id.has_value()) {
    metadata_.next_row_id = 0;
  }
  return {};
}

Status TableUpdater::operator()(const SetLocation& update) {
  if (update.location.empty()) {
    return InvalidArgument("set location: it is empty");
  }
  metadata_.location = update.location;
  return {};
}

Status TableUpdater::operator()(const SetProperties& update) {
  LAKE_TRY_VOID(WithContext(CheckNewProperties(update.updates), "set properties"));
  for (const auto& [name, value] : update.updates) {
    metadata_.properties.insert_or_assign(name, value);
  }
  return {};
}

Status TableUpdater::operator()(const RemoveProperties& update) {
  for (const std::string& name : update.removals) {
    metadata_.properties.erase(name);
  }
  return {};
}

Status TableUpdater::operator()(const AddEncryptionKey& update) {
  const EncryptionKey& key = update.key;
  if (metadata_.format_version < kFirstVersionWithKeys) {
    return InvalidArgument(
        fmt::format("add encryption key {}: it needs format version {}, and the table has {}",
                    Quoted(key.key_id), kFirstVersionWithKeys, metadata_.format_version));
  }
  const auto same =
      std::ranges::find(metadata_.encryption_keys, key.key_id, &EncryptionKey::key_id);
  if (same == metadata_.encryption_keys.end()) {
    metadata_.encryption_keys.push_back(key);
    return {};
  }
  if (*same != key) {
    return InvalidArgument(
        fmt::format("add encryption key {}: the table has another of this id", Quoted(key.key_id)));
  }
  return {};
}

Status TableUpdater::operator()(const RemoveEncryptionKey& update) {
  for (const Snapshot& snapshot : metadata_.snapshots) {
    if (snapshot.key_id == update.key_id) {
      return InvalidArgument(fmt::format("remove encryption key {}: snapshot {} needs it",
                                         Quoted(update.key_id),
                                         std::to_underlying(snapshot.snapshot_id)));
    }
  }
  for (const EncryptionKey& key : metadata_.encryption_keys) {
    if (key.encrypted_by_id == update.key_id && key.key_id != update.key_id) {
      return InvalidArgument(fmt::format("remove encryption key {}: key {} is encrypted with it",
                                         Quoted(update.key_id), Quoted(key.key_id)));
    }
  }
  std::erase_if(metadata_.encryption_keys,
                [&](const EncryptionKey& key) { return key.key_id == update.key_id; });
  return {};
}

}  // namespace lake::iceberg
