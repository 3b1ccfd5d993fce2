#include "lake/engine/manifest_merge.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/engine/attempt_files_internal.h"
#include "lake/engine/iceberg_maintainer.h"
#include "lake/iceberg/manifest_list.h"
#include "lake/iceberg/manifest_writer.h"
#include "lake/iceberg/snapshot_summary.h"
#include "lake/iceberg/table_update_apply.h"

namespace lake::engine {
namespace {

// The format version whose manifests are merged.
constexpr std::int32_t kFormatVersion = 2;

Result<std::int64_t> ReadNumber(const iceberg::Properties& properties, std::string_view name,
                                std::int64_t otherwise) {
  const auto property = properties.find(std::string(name));
  if (property == properties.end()) {
    return otherwise;
  }
  const std::string& text = property->second;
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < 1) {
    return InvalidArgument(
        fmt::format("property '{}' is '{}', not a number of at least 1", name, text));
  }
  return number;
}

bool TakesMerges(const iceberg::TableMetadata& metadata) {
  return metadata.format_version == kFormatVersion && metadata.default_spec().is_unpartitioned();
}

bool MayBeMerged(const iceberg::TableMetadata& metadata, const iceberg::ManifestFile& manifest,
                 std::int64_t target_bytes) {
  return manifest.content == iceberg::ManifestContent::kData &&
         manifest.partition_spec_id == metadata.default_spec_id &&
         !manifest.key_metadata.has_value() && manifest.manifest_length > 0 &&
         manifest.manifest_length < target_bytes;
}

// What a manifest's live entries come to.
struct Totals {
  std::int64_t files = 0;
  std::int64_t rows = 0;
};

// What the list says of a manifest must be what is in it, or some file of it would be lost or come back unnoticed. Lists of format
// version 1 need not say it.
Status CheckCounts(const iceberg::ManifestFile& manifest, const Totals& found) {
  if (!manifest.added_files_count.has_value() || !manifest.existing_files_count.has_value() ||
      !manifest.added_rows_count.has_value() || !manifest.existing_rows_count.has_value()) {
    return {};
  }
  const std::int64_t files =
      std::int64_t{*manifest.added_files_count} + *manifest.existing_files_count;
  std::int64_t rows = 0;
  if (__builtin_add_overflow(*manifest.added_rows_count, *manifest.existing_rows_count, &rows) ||
      files != found.files || rows != found.rows) {
    return Corruption(
        fmt::format("manifest {}: it holds {} files with {} rows, and its list says otherwise",
                    manifest.manifest_path, found.files, found.rows));
  }
  return {};
}

// Where a list names its manifests. Only exactly the same entry is the same manifest.
class Positions {
 public:
  explicit Positions(const std::vector<iceberg::ManifestFile>& manifests) : manifests_(manifests) {
    for (std::size_t i = 0; i < manifests.size(); ++i) {
      positions_.emplace(manifests[i].manifest_path, i);
    }
  }

  std::optional<std::size_t> Find(const iceberg::ManifestFile& manifest) const {
    const auto found = positions_.find(manifest.manifest_path);
    if (found == positions_.end() || manifests_[found->second] != manifest) {
      return std::nullopt;
    }
    return found->second;
  }

  bool HasAll(const ManifestGroup& group) const {
    return std::ranges::all_of(group,
                               [&](const auto& manifest) { return Find(manifest).has_value(); });
  }

 private:
  const std::vector<iceberg::ManifestFile>& manifests_;
  std::unordered_map<std::string_view, std::size_t> positions_;
};

}  // namespace

Result<ManifestMergePolicy> ReadManifestMergePolicy(const iceberg::Properties& properties) {
  ManifestMergePolicy policy;
  const auto enabled = properties.find(std::string(kManifestMergeProperty));
  policy.enabled = enabled == properties.end() || enabled->second != "false";
  LAKE_TRY(policy.count_min,
           ReadNumber(properties, kManifestMergeCountProperty, kManifestMergeCountDefault));
  LAKE_TRY(const std::int64_t target_bytes,
           ReadNumber(properties, kManifestTargetProperty, kManifestTargetBytesDefault));
  policy.target_bytes = std::min(target_bytes, kManifestTargetBytesMax);
  return policy;
}

Result<std::vector<ManifestGroup>> PlanManifestMerge(
    const iceberg::TableMetadata& metadata, const std::vector<iceberg::ManifestFile>& manifests,
    const ManifestMergePolicy& policy) {
  if (!policy.enabled || !TakesMerges(metadata)) {
    return std::vector<ManifestGroup>();
  }
  std::vector<const iceberg::ManifestFile*> small;
  std::unordered_set<std::string_view> paths;
  for (const iceberg::ManifestFile& manifest : manifests) {
    if (!paths.insert(manifest.manifest_path).second) {
      return Corruption(
          fmt::format("the manifest list names manifest {} twice", manifest.manifest_path));
    }
    if (MayBeMerged(metadata, manifest, policy.target_bytes)) {
      small.push_back(&manifest);
    }
  }
  std::vector<ManifestGroup> groups;
  if (std::cmp_less(small.size(), policy.count_min)) {
    return groups;
  }
  ManifestGroup group;
  std::int64_t group_bytes = 0;
  std::int64_t all_bytes = 0;
  std::size_t sources = 0;
  const auto close = [&] {
    if (group.size() > 1) {
      std::ranges::reverse(group);
      sources += group.size();
      all_bytes += group_bytes;
      groups.push_back(std::move(group));
    }
    group = {};
    group_bytes = 0;
  };
  // A list has the newest first. From its end on, it is the newest group that is not full, and grows the next time.
  for (const iceberg::ManifestFile* manifest : std::views::reverse(small)) {
    if (group_bytes + manifest->manifest_length > policy.target_bytes) {
      close();
    }
    if (groups.size() == kAttemptManifestsMax || sources + group.size() == kMergeSourcesMax ||
        all_bytes + group_bytes + manifest->manifest_length > kMergeBytesMax) {
      break;
    }
    group.push_back(*manifest);
    group_bytes += manifest->manifest_length;
  }
  if (groups.size() < kAttemptManifestsMax) {
    close();
  }
  return groups;
}

Result<std::vector<ManifestGroup>> IcebergMaintainer::PlanMerge(
    const iceberg::TableMetadata& metadata, Deadline deadline) {
  LAKE_TRY(const ManifestMergePolicy policy, ReadManifestMergePolicy(metadata.properties));
  const iceberg::Snapshot* current = metadata.current_snapshot();
  if (current == nullptr || !policy.enabled || !TakesMerges(metadata)) {
    return std::vector<ManifestGroup>();
  }
  // Most tables are small, and their lists need not be read to see that: fewer files are not in more manifests.
  const auto files = iceberg::SummaryNumber(*current, "total-data-files");
  if (files.has_value() && *files < policy.count_min) {
    return std::vector<ManifestGroup>();
  }
  LAKE_TRY(const std::vector<iceberg::ManifestFile> manifests,
           reader_.ListManifests(metadata, *current, deadline));
  return PlanManifestMerge(metadata, manifests, policy);
}

Result<MergedManifest> IcebergMaintainer::MergeManifests(const iceberg::TableMetadata& metadata,
                                                         const ManifestGroup& group,
                                                         const Permit& permit, Deadline deadline) {
  LAKE_CHECK(!group.empty(), "a group has manifests");
  LAKE_TRY(iceberg::ManifestWriter writer,
           iceberg::ManifestWriter::Make({.format_version = kFormatVersion,
                                          .manifest_path = group.front().manifest_path,
                                          .schema = metadata.current_schema(),
                                          .partition_spec = metadata.default_spec()},
                                         random_));
  MergedManifest merged{.sources = group};
  std::int64_t live = 0;
  for (const iceberg::ManifestFile& source : group) {
    LAKE_TRY_VOID(permit());
    if (clock_.Now() >= deadline) {
      return DeadlineExceeded("merge of manifests: the time is over");
    }
    Totals totals;
    LAKE_TRY_VOID(reader_.ForEachLiveEntry(
        source, deadline, [&](const iceberg::ManifestEntry& entry) -> Status {
          iceberg::ManifestEntry existing = entry;
          existing.status = iceberg::ManifestEntryStatus::kExisting;
          ++totals.files;
          if (__builtin_add_overflow(totals.rows, entry.data_file.record_count, &totals.rows)) {
            return Corruption(
                fmt::format("manifest {}: it holds more rows than fit", source.manifest_path));
          }
          return WithContext(writer.Append(existing), "manifest " + source.manifest_path);
        }));
    LAKE_TRY_VOID(CheckCounts(source, totals));
    live += totals.files;
  }
  if (live == 0) {
    return merged;
  }
  LAKE_TRY(iceberg::ManifestWriter::Finished finished, writer.Finish());
  if (finished.file.size() > kManifestBytesMax) {
    return Unimplemented(fmt::format("manifests from {} on: together they are too large to read",
                                     group.front().manifest_path));
  }
  merged.file = std::move(finished.file);
  merged.manifest = std::move(finished.manifest);
  return merged;
}

Result<WrittenMerge> IcebergMaintainer::WriteMerge(const ManifestMergePlan& plan,
                                                   Deadline deadline) {
  LAKE_CHECK(
      plan.base != nullptr && !plan.merged.empty() && plan.merged.size() <= kAttemptManifestsMax,
      "a merge has a base and what is merged");
  const auto names = AttemptFiles::Of(plan.planned_location, plan.snapshot_id);
  LAKE_CHECK(names.has_value(), "a planned location has the form that names the attempt's files");
  const iceberg::Snapshot* parent = plan.base->current_snapshot();
  if (parent == nullptr || !TakesMerges(*plan.base)) {
    return Conflict("merge of manifests: the table is another than it was when they were read");
  }
  LAKE_TRY(const std::vector<iceberg::ManifestFile> before,
           reader_.ListManifests(*plan.base, *parent, deadline));
  const Positions positions(before);

  // What stands in place of each manifest of the list: itself, or for a source, what it became a part of or nothing.
  std::vector<const iceberg::ManifestFile*> after;
  after.reserve(before.size());
  for (const iceberg::ManifestFile& manifest : before) {
    after.push_back(&manifest);
  }
  std::vector<iceberg::ManifestFile> created;
  created.reserve(plan.merged.size());
  std::size_t replaced = 0;
  for (const MergedManifest& merged : plan.merged) {
    // Files are immutable: as long as the list names all of a group, what was read of them holds.
    if (!positions.HasAll(merged.sources)) {
      continue;
    }
    for (const iceberg::ManifestFile& source : merged.sources) {
      after[*positions.Find(source)] = nullptr;
    }
    replaced += merged.sources.size();
    if (merged.file.empty()) {
      continue;
    }
    iceberg::ManifestFile& manifest = created.emplace_back(merged.manifest);
    manifest.manifest_path = names->Manifest(created.size() - 1);
    manifest.added_snapshot_id = plan.snapshot_id;
    LAKE_TRY_VOID(objects_.PutIfAbsent(manifest.manifest_path, merged.file, deadline));
    after[*positions.Find(merged.sources.front())] = &manifest;
  }
  if (replaced == 0) {
    return Conflict("merge of manifests: the table has none of them any more");
  }

  iceberg::ManifestList list{.format_version = kFormatVersion,
                             .snapshot_id = plan.snapshot_id,
                             .parent_snapshot_id = plan.base->current_snapshot_id,
                             .sequence_number = iceberg::NextSequenceNumber(*plan.base)};
  for (const iceberg::ManifestFile* manifest : after) {
    if (manifest != nullptr) {
      list.manifests.push_back(*manifest);
    }
  }
  LAKE_TRY_VOID(iceberg::AssignInherited(list));
  LAKE_TRY(const std::string bytes,
           iceberg::WriteManifestList(list, iceberg::AvroCodec::kDeflate, random_));
  LAKE_TRY_VOID(objects_.PutIfAbsent(names->manifest_list(), bytes, deadline));

  iceberg::Properties extra(plan.summary.begin(), plan.summary.end());
  extra.emplace("manifests-created", fmt::format("{}", created.size()));
  extra.emplace("manifests-replaced", fmt::format("{}", replaced));
  extra.emplace("manifests-kept", fmt::format("{}", before.size() - replaced));
  iceberg::Snapshot snapshot{.snapshot_id = plan.snapshot_id,
                             .manifest_list = names->manifest_list()};
  snapshot.summary = iceberg::MakeSummary(iceberg::SnapshotOperation::kReplace, {}, parent, extra);
  return WrittenMerge{
      .updates = iceberg::SnapshotUpdates(*plan.base, std::move(snapshot), plan.now),
      .replaced = replaced,
      .created = created.size()};
}

}  // namespace lake::engine
