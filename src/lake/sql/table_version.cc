#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "lake/sql/table_version_internal.h"

namespace lake::sql {
namespace {

TableVersion VersionOf(const iceberg::TableMetadata& metadata, const iceberg::Snapshot& snapshot) {
  const iceberg::Schema* schema = nullptr;
  if (snapshot.schema_id.has_value()) {
    schema = metadata.FindSchema(*snapshot.schema_id);
  }
  // Snapshots of format version 1 need not say which schema they were written with.
  return {.schema = schema != nullptr ? schema : &metadata.current_schema(), .snapshot = &snapshot};
}

}  // namespace

TableVersion CurrentVersion(const iceberg::TableMetadata& metadata) {
  return {.schema = &metadata.current_schema(), .snapshot = metadata.current_snapshot()};
}

Result<TableVersion> VersionOfSnapshot(const iceberg::TableMetadata& metadata,
                                       iceberg::SnapshotId snapshot) {
  const iceberg::Snapshot* found = metadata.FindSnapshot(snapshot);
  if (found == nullptr) {
    return InvalidArgument(
        fmt::format("there is no snapshot {}; lake_snapshots lists those there are",
                    std::to_underlying(snapshot)));
  }
  return VersionOf(metadata, *found);
}

Result<TableVersion> VersionOfRef(const iceberg::TableMetadata& metadata, std::string_view name) {
  const auto ref = metadata.refs.find(name);
  if (ref != metadata.refs.end()) {
    LAKE_TRY(TableVersion version, VersionOfSnapshot(metadata, ref->second.snapshot_id));
    if (ref->second.kind == iceberg::SnapshotRef::Kind::kBranch) {
      version.schema = &metadata.current_schema();
    }
    return version;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) {
    return VersionOfSnapshot(metadata, iceberg::SnapshotId{number});
  }
  std::string names;
  for (const auto& [known, unused] : metadata.refs) {
    names += names.empty() ? known : ", " + known;
  }
  return InvalidArgument(fmt::format("there is no branch or tag \"{}\"; there is {}", name,
                                     names.empty() ? "none" : names));
}

Result<TableVersion> VersionAsOf(const iceberg::TableMetadata& metadata, WallTime moment) {
  // The log tells what was current when, also across a rollback; snapshots alone do not.
  const iceberg::SnapshotLogEntry* found = nullptr;
  for (const iceberg::SnapshotLogEntry& entry : metadata.snapshot_log) {
    if (entry.timestamp <= moment && (found == nullptr || entry.timestamp >= found->timestamp)) {
      found = &entry;
    }
  }
  if (found == nullptr) {
    return InvalidArgument(
        metadata.snapshot_log.empty()
            ? std::string("the table has no snapshot yet")
            : fmt::format("there is no snapshot as old as {}; the oldest is from {}",
                          FormatMoment(moment),
                          FormatMoment(metadata.snapshot_log.front().timestamp)));
  }
  return VersionOfSnapshot(metadata, found->snapshot_id);
}

std::string FormatMoment(WallTime moment) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(moment);
  const auto millis = (moment - seconds).count();
  const auto days = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(seconds - days);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(), millis);
}

}  // namespace lake::sql
