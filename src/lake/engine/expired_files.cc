#include <algorithm>
#include <iterator>
#include <ranges>
#include <unordered_set>
#include <utility>

#include "lake/engine/expired_files_internal.h"
#include "lake/engine/iceberg_maintainer.h"

namespace lake::engine {
namespace {

// How many files one call removes.
constexpr std::size_t kDeleteMax = 1000;

}  // namespace

Result<FileRemoval> IcebergMaintainer::RemoveExpired(const ExpiredVersion& version,
                                                     const Permit& permit, Deadline deadline) {
  return ExpiredFiles({.objects = objects_, .reader = reader_, .clock = clock_}, version, permit,
                      deadline)
      .Remove();
}

Result<FileRemoval> ExpiredFiles::Remove() {
  std::unordered_set<iceberg::SnapshotId> kept;
  for (const iceberg::Snapshot& snapshot : version_.after->snapshots) {
    kept.insert(snapshot.snapshot_id);
  }
  for (const iceberg::Snapshot& snapshot : version_.before->snapshots) {
    if (!kept.contains(snapshot.snapshot_id)) {
      expired_.push_back(&snapshot);
    }
  }
  if (expired_.empty()) {
    return removal_;
  }
  LAKE_TRY_VOID(FindManifests());
  LAKE_TRY_VOID(RemoveDataFiles());
  LAKE_TRY_VOID(RemoveStatistics());
  LAKE_TRY_VOID(RemoveManifestLists());
  return removal_;
}

Status ExpiredFiles::AddManifests(const iceberg::Snapshot& snapshot, Manifests& manifests) {
  LAKE_TRY_VOID(MayGoOn());
  LAKE_TRY(std::vector<iceberg::ManifestFile> listed,
           deps_.reader.ListManifests(*version_.before, snapshot, deadline_));
  for (iceberg::ManifestFile& manifest : listed) {
    LAKE_TRY(std::string path, NormalPath(manifest.manifest_path));
    manifests.try_emplace(std::move(path), std::move(manifest));
  }
  return {};
}

Status ExpiredFiles::FindManifests() {
  for (const iceberg::Snapshot* snapshot : expired_) {
    LAKE_TRY_VOID(AddManifests(*snapshot, dead_));
  }
  // The newest snapshot keeps most of them; once all are kept, no other need be asked.
  for (const iceberg::Snapshot& snapshot : std::views::reverse(version_.after->snapshots)) {
    if (dead_.empty()) {
      return {};
    }
    LAKE_TRY_VOID(AddManifests(snapshot, kept_));
    std::erase_if(dead_, [&](const auto& entry) { return kept_.contains(entry.first); });
  }
  return {};
}

Status ExpiredFiles::ForEachFile(const iceberg::ManifestFile& manifest,
                                 const std::function<Status(const std::string& path)>& visit) {
  LAKE_TRY_VOID(MayGoOn());
  return deps_.reader.ForEachLiveEntry(
      manifest, deadline_,
      [&](const iceberg::ManifestEntry& entry) { return visit(entry.data_file.file_path); });
}

Status ExpiredFiles::RemoveDataFiles() {
  Paths page;
  for (const auto& [normal, manifest] : dead_) {
    LAKE_TRY_VOID(ForEachFile(manifest, [&](const std::string& path) -> Status {
      LAKE_TRY(std::string key, NormalPath(path));
      page.try_emplace(std::move(key), path);
      return page.size() < kPagePathsMax ? Status() : RemoveUnkept(std::exchange(page, {}));
    }));
  }
  LAKE_TRY_VOID(RemoveUnkept(std::move(page)));
  // Only now: without them nobody would know any more what they name.
  Paths manifests;
  for (const auto& [normal, manifest] : dead_) {
    manifests.emplace(normal, manifest.manifest_path);
  }
  return Remove(manifests);
}

Status ExpiredFiles::RemoveUnkept(Paths page) {
  for (const auto& [normal, manifest] : kept_) {
    if (page.empty()) {
      return {};
    }
    LAKE_TRY_VOID(ForEachFile(manifest, [&](const std::string& path) -> Status {
      LAKE_TRY(const std::string key, NormalPath(path));
      page.erase(key);
      return {};
    }));
  }
  return Remove(page);
}

Status ExpiredFiles::RemoveStatistics() {
  Paths statistics;
  const auto each = [](const iceberg::TableMetadata& metadata, const auto& visit) -> Status {
    for (const iceberg::StatisticsFile& file : metadata.statistics) {
      LAKE_TRY_VOID(visit(file.statistics_path));
    }
    for (const iceberg::PartitionStatisticsFile& file : metadata.partition_statistics) {
      LAKE_TRY_VOID(visit(file.statistics_path));
    }
    return {};
  };
  LAKE_TRY_VOID(each(*version_.before, [&](const std::string& path) -> Status {
    LAKE_TRY(std::string key, NormalPath(path));
    statistics.emplace(std::move(key), path);
    return {};
  }));
  LAKE_TRY_VOID(each(*version_.after, [&](const std::string& path) -> Status {
    LAKE_TRY(const std::string key, NormalPath(path));
    statistics.erase(key);
    return {};
  }));
  return Remove(statistics);
}

Status ExpiredFiles::RemoveManifestLists() {
  Paths lists;
  for (const iceberg::Snapshot* snapshot : expired_) {
    LAKE_TRY(std::string key, NormalPath(snapshot->manifest_list));
    lists.emplace(std::move(key), snapshot->manifest_list);
  }
  for (const iceberg::Snapshot& snapshot : version_.after->snapshots) {
    if (snapshot.manifest_list.empty()) {
      continue;  // Of format version 1, with its manifests in the metadata.
    }
    LAKE_TRY(const std::string key, NormalPath(snapshot.manifest_list));
    lists.erase(key);
  }
  return Remove(lists);
}

Status ExpiredFiles::Remove(const Paths& paths) {
  LAKE_TRY(const LocationScope scope, LocationScope::Make(version_.after->location));
  std::vector<std::string> batch;
  const auto flush = [&]() -> Status {
    if (batch.empty()) {
      return {};
    }
    LAKE_TRY_VOID(MayGoOn());
    LAKE_TRY_VOID(deps_.objects.Delete(batch, deadline_));
    removal_.files += batch.size();
    batch.clear();
    return {};
  };
  for (const auto& [normal, path] : paths) {
    if (scope.Find(path) != LocationScope::Place::kInside) {
      ++removal_.outside;
      continue;
    }
    batch.push_back(path);
    if (batch.size() == kDeleteMax) {
      LAKE_TRY_VOID(flush());
    }
  }
  return flush();
}

Status ExpiredFiles::MayGoOn() const {
  if (deps_.clock.Now() >= deadline_) {
    return DeadlineExceeded("removal of expired files: the time is over");
  }
  // Also before reading: who may not remove any more stops at once.
  return permit_();
}

}  // namespace lake::engine
