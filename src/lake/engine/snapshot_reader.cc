#include "lake/engine/snapshot_reader.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lake/iceberg/manifest_list.h"
#include "lake/iceberg/manifest_reader.h"
#include "lake/iceberg/snapshot_summary.h"

namespace lake::engine {
namespace {

// What is missing although table metadata names it is damage; other failures are the store's.
Result<std::string> GetReferenced(objstore::ObjectStore& objects, const std::string& path,
                                  std::string_view what, Deadline deadline) {
  Result<std::string> bytes = objects.Get(path, kManifestBytesMax, deadline);
  if (!bytes.has_value() && bytes.error().code() == ErrorCode::kNotFound) {
    return Corruption(fmt::format("{} {} is missing", what, path));
  }
  return WithContext(std::move(bytes), fmt::format("{} {}", what, path));
}

// What the entries of one manifest come to.
struct ManifestTotals {
  std::int64_t data_files = 0;
  std::int64_t rows = 0;
};

}  // namespace

Result<std::vector<iceberg::ManifestFile>> SnapshotReader::ListManifests(
    const iceberg::TableMetadata& /*metadata*/, const iceberg::Snapshot& snapshot,
    Deadline deadline) const {
  if (snapshot.manifest_list.empty()) {
    return Unimplemented(fmt::format(
        "snapshot {}: it names its manifests without a manifest list, which lake does not read",
        std::to_underlying(snapshot.snapshot_id)));
  }
  LAKE_TRY(const std::string bytes,
           GetReferenced(objects_, snapshot.manifest_list, "manifest list", deadline));
  LAKE_TRY(iceberg::ManifestList list, WithContext(iceberg::ReadManifestList(bytes),
                                                   "manifest list " + snapshot.manifest_list));
  return std::move(list.manifests);
}

Status SnapshotReader::ForEachLiveEntry(
    const iceberg::ManifestFile& manifest, Deadline deadline,
    const std::function<Status(const iceberg::ManifestEntry&)>& visit) const {
  LAKE_TRY(std::string bytes,
           GetReferenced(objects_, manifest.manifest_path, "manifest", deadline));
  LAKE_TRY(iceberg::ManifestReader reader,
           iceberg::ManifestReader::Open(std::move(bytes), manifest));
  iceberg::ManifestEntry entry;
  while (true) {
    LAKE_TRY(const bool more, reader.Next(entry));
    if (!more) {
      return {};
    }
    if (entry.is_live()) {
      LAKE_TRY_VOID(visit(entry));
    }
  }
}

Result<std::vector<iceberg::ManifestEntry>> SnapshotReader::ListLiveEntries(
    const iceberg::TableMetadata& /*metadata*/, const iceberg::ManifestFile& manifest,
    Deadline deadline) const {
  std::vector<iceberg::ManifestEntry> entries;
  LAKE_TRY_VOID(
      ForEachLiveEntry(manifest, deadline, [&](const iceberg::ManifestEntry& entry) -> Status {
        entries.push_back(entry);
        return {};
      }));
  return entries;
}

Result<CheckReport> SnapshotReader::Check(const iceberg::TableMetadata& metadata,
                                          Deadline deadline) const {
  CheckReport report;
  // Each one is read once, however many snapshots share it. Nothing: it could not be read.
  std::map<std::string, std::optional<ManifestTotals>> manifests;
  std::set<std::string> data_files;

  // Looks at a file of which somebody else says the size, if anybody does.
  const auto stat = [&](std::string_view kind, const std::string& path, std::string_view witness,
                        std::optional<std::int64_t> size) -> Status {
    const Result<objstore::ObjectInfo> info = objects_.Stat(path, deadline);
    if (!info.has_value() && info.error().code() != ErrorCode::kNotFound) {
      return std::unexpected(info.error().With(fmt::format("{} {}", kind, path)));
    }
    if (!info.has_value()) {
      report.problems.push_back(fmt::format("{} {} is missing", kind, path));
    } else if (size.has_value() && info->size != static_cast<std::uint64_t>(*size)) {
      report.problems.push_back(fmt::format("{} {} has {} bytes; its {} says {}", kind, path,
                                            info->size, witness, *size));
    }
    return {};
  };

  for (const iceberg::MetadataLogEntry& earlier : metadata.metadata_log) {
    LAKE_TRY_VOID(stat("earlier metadata file", earlier.metadata_file, "", std::nullopt));
  }
  for (const iceberg::StatisticsFile& file : metadata.statistics) {
    LAKE_TRY_VOID(stat("statistics file", file.statistics_path, "table", file.file_size_in_bytes));
  }
  for (const iceberg::PartitionStatisticsFile& file : metadata.partition_statistics) {
    LAKE_TRY_VOID(
        stat("partition statistics file", file.statistics_path, "table", file.file_size_in_bytes));
  }

  const auto add_up =
      [&](const std::vector<iceberg::ManifestEntry>& entries) -> Result<ManifestTotals> {
    ManifestTotals totals;
    for (const iceberg::ManifestEntry& entry : entries) {
      if (data_files.insert(entry.data_file.file_path).second) {
        LAKE_TRY_VOID(stat("data file", entry.data_file.file_path, "manifest",
                           entry.data_file.file_size_in_bytes));
      }
      if (entry.data_file.content == iceberg::FileContent::kData) {
        ++totals.data_files;
        totals.rows += entry.data_file.record_count;
      }
    }
    return totals;
  };

  // Damage is a finding; what the store could not answer ends the check.
  const auto finding = [&](const Error& error) -> Status {
    if (error.code() != ErrorCode::kCorruption && error.code() != ErrorCode::kUnimplemented) {
      return std::unexpected(error);
    }
    report.problems.push_back(error.message());
    return {};
  };

  for (const iceberg::Snapshot& snapshot : metadata.snapshots) {
    if (clock_.Now() >= deadline) {
      return DeadlineExceeded("check: the time is over");
    }
    ++report.snapshots;
    const auto list = ListManifests(metadata, snapshot, deadline);
    if (!list.has_value()) {
      LAKE_TRY_VOID(finding(list.error()));
      continue;
    }
    ManifestTotals totals;
    bool readable = true;
    for (const iceberg::ManifestFile& manifest : *list) {
      const auto [found, is_new] = manifests.try_emplace(manifest.manifest_path);
      if (is_new) {
        const auto entries = ListLiveEntries(metadata, manifest, deadline);
        if (!entries.has_value()) {
          LAKE_TRY_VOID(finding(entries.error()));
        } else {
          LAKE_TRY(found->second, add_up(*entries));
        }
      }
      if (!found->second.has_value()) {
        readable = false;
        continue;
      }
      totals.data_files += found->second->data_files;
      totals.rows += found->second->rows;
    }
    const auto compare = [&](std::string_view name, std::int64_t actual) {
      const std::optional<std::int64_t> claimed = iceberg::SummaryNumber(snapshot, name);
      if (readable && claimed.has_value() && *claimed != actual) {
        report.problems.push_back(
            fmt::format("snapshot {}: its summary says {}={}, its manifests hold {}",
                        std::to_underlying(snapshot.snapshot_id), name, *claimed, actual));
      }
    };
    compare("total-data-files", totals.data_files);
    compare("total-records", totals.rows);
    if (metadata.current_snapshot_id == snapshot.snapshot_id) {
      report.rows = static_cast<std::uint64_t>(totals.rows);
    }
  }
  report.manifests = manifests.size();
  report.data_files = data_files.size();
  return report;
}

}  // namespace lake::engine
