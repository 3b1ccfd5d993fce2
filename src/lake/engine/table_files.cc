#include "lake/engine/table_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/iceberg/manifest_list.h"

namespace lake::engine {
namespace {

std::optional<std::uint64_t> Size(std::int64_t bytes) {
  return bytes > 0 ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
}

// Damage, and forms that Lake does not have, stay what they are however often one reads.
bool IsFinal(ErrorCode code) {
  return code == ErrorCode::kCorruption || code == ErrorCode::kUnimplemented;
}

}  // namespace

TableFileWalk::TableFileWalk(objstore::ObjectStore& objects, MetadataPtr metadata,
                             std::string metadata_location, Options options)
    : objects_(objects),
      metadata_(std::move(metadata)),
      metadata_location_(std::move(metadata_location)),
      options_(std::move(options)) {
  LAKE_CHECK(metadata_ != nullptr && options_.page_files_max > 0 && options_.page_reads_max > 0,
             "a walk has a table and room for a page");
}

Result<std::vector<TableFile>> TableFileWalk::Next(Deadline deadline) {
  if (over_.has_value()) {
    return std::unexpected(*over_);
  }
  while (pages_.empty() && stage_ != Stage::kEnd) {
    if (const Status advanced = Advance(deadline); !advanced.has_value()) {
      if (IsFinal(advanced.error().code())) {
        over_ = advanced.error();
      }
      return std::unexpected(advanced.error());
    }
    if (BatchIsFull()) {
      FlushBatch();
    }
  }
  if (pages_.empty()) {
    return std::vector<TableFile>();
  }
  std::vector<TableFile> page = std::move(pages_.front());
  pages_.pop_front();
  return page;
}

Status TableFileWalk::Advance(Deadline deadline) {
  switch (stage_) {
    case Stage::kSnapshots:
      return AdvanceSnapshots(deadline);
    case Stage::kStatistics:
      AddStatistics();
      FlushBatch();
      stage_ = Stage::kEarlierMetadata;
      return {};
    case Stage::kEarlierMetadata:
      for (const iceberg::MetadataLogEntry& earlier : metadata_->metadata_log) {
        if (earlier.metadata_file != metadata_location_) {
          leaves_.push_back(
              {.kind = TableFileKind::kEarlierMetadata, .path = earlier.metadata_file});
        }
      }
      FlushBatch();
      stage_ = Stage::kMetadata;
      return {};
    case Stage::kMetadata:
      leaves_.push_back({.kind = TableFileKind::kMetadata, .path = metadata_location_});
      FlushBatch();
      stage_ = Stage::kEnd;
      return {};
    case Stage::kEnd:
      return {};
  }
  return {};
}

Status TableFileWalk::AdvanceSnapshots(Deadline deadline) {
  if (reader_.has_value()) {
    return ReadEntry();
  }
  if (!snapshot_.has_value()) {
    return OpenNextSnapshot(deadline);
  }
  if (snapshot_->next < snapshot_->manifests.size()) {
    return OpenNextManifest(deadline);
  }
  if (!snapshot_->list.empty()) {
    lists_.push_back({.kind = TableFileKind::kManifestList, .path = snapshot_->list});
  }
  snapshot_.reset();
  return {};
}

Status TableFileWalk::OpenNextSnapshot(Deadline deadline) {
  if (next_snapshot_ == metadata_->snapshots.size()) {
    FlushBatch();
    stage_ = Stage::kStatistics;
    return {};
  }
  const iceberg::Snapshot& snapshot = metadata_->snapshots[next_snapshot_];
  if (options_.include && !options_.include(snapshot)) {
    ++next_snapshot_;
    return {};
  }
  OpenSnapshot open{.list = snapshot.manifest_list};
  if (snapshot.manifest_list.empty()) {
    for (const std::string& path : snapshot.manifests) {
      open.manifests.push_back({.manifest_path = path});
    }
  } else {
    LAKE_TRY(const std::optional<std::string> bytes,
             Read(snapshot.manifest_list, "manifest list", deadline));
    if (bytes.has_value()) {
      LAKE_TRY(iceberg::ManifestList list, WithContext(iceberg::ReadManifestList(*bytes),
                                                       "manifest list " + snapshot.manifest_list));
      open.manifests = std::move(list.manifests);
    }
  }
  snapshot_ = std::move(open);
  ++next_snapshot_;
  return {};
}

Status TableFileWalk::OpenNextManifest(Deadline deadline) {
  const iceberg::ManifestFile& manifest = snapshot_->manifests[snapshot_->next];
  if (seen_.contains(manifest.manifest_path)) {
    ++snapshot_->next;
    return {};
  }
  LAKE_TRY(std::optional<std::string> bytes, Read(manifest.manifest_path, "manifest", deadline));
  if (bytes.has_value()) {
    // A snapshot of version 1 that names its manifests itself says nothing else of them.
    LAKE_TRY(reader_, snapshot_->list.empty()
                          ? iceberg::ManifestReader::OpenUncommitted(*std::move(bytes),
                                                                     manifest.manifest_path)
                          : iceberg::ManifestReader::Open(*std::move(bytes), manifest));
  } else {
    // It may be there again after an answer of the store was lost; to remove what is not there does no harm.
    manifests_.push_back({.kind = TableFileKind::kManifest,
                          .path = manifest.manifest_path,
                          .size = Size(manifest.manifest_length)});
  }
  seen_.insert(manifest.manifest_path);
  ++snapshot_->next;
  return {};
}

Status TableFileWalk::ReadEntry() {
  LAKE_TRY(const bool more, reader_->Next(entry_));
  if (!more) {
    reader_.reset();
    const iceberg::ManifestFile& manifest = snapshot_->manifests[snapshot_->next - 1];
    manifests_.push_back({.kind = TableFileKind::kManifest,
                          .path = manifest.manifest_path,
                          .size = Size(manifest.manifest_length)});
    return {};
  }
  if (entry_.is_live()) {
    const iceberg::DataFile& file = entry_.data_file;
    leaves_.push_back({.kind = file.content == iceberg::FileContent::kData
                                   ? TableFileKind::kDataFile
                                   : TableFileKind::kDeleteFile,
                       .path = file.file_path,
                       .size = Size(file.file_size_in_bytes)});
  }
  return {};
}

bool TableFileWalk::Includes(iceberg::SnapshotId id) const {
  if (!options_.include) {
    return true;
  }
  const iceberg::Snapshot* snapshot = metadata_->FindSnapshot(id);
  // Statistics of a snapshot that is gone belong to nobody else.
  return snapshot == nullptr || options_.include(*snapshot);
}

void TableFileWalk::AddStatistics() {
  for (const iceberg::StatisticsFile& file : metadata_->statistics) {
    if (Includes(file.snapshot_id)) {
      leaves_.push_back({.kind = TableFileKind::kStatistics,
                         .path = file.statistics_path,
                         .size = Size(file.file_size_in_bytes)});
    }
  }
  for (const iceberg::PartitionStatisticsFile& file : metadata_->partition_statistics) {
    if (Includes(file.snapshot_id)) {
      leaves_.push_back({.kind = TableFileKind::kPartitionStatistics,
                         .path = file.statistics_path,
                         .size = Size(file.file_size_in_bytes)});
    }
  }
}

Result<std::optional<std::string>> TableFileWalk::Read(const std::string& path,
                                                       std::string_view what, Deadline deadline) {
  Result<std::string> bytes = objects_.Get(path, kManifestBytesMax, deadline);
  if (bytes.has_value()) {
    ++reads_;
    return *std::move(bytes);
  }
  if (bytes.error().code() != ErrorCode::kNotFound) {
    return std::unexpected(bytes.error().With(fmt::format("{} {}", what, path)));
  }
  if (options_.missing == Missing::kDamage) {
    return Corruption(fmt::format("{} {} is missing", what, path));
  }
  ++reads_;
  return std::nullopt;
}

bool TableFileWalk::BatchIsFull() const {
  return reads_ >= options_.page_reads_max ||
         leaves_.size() + manifests_.size() + lists_.size() >= options_.page_files_max;
}

void TableFileWalk::FlushBatch() {
  for (std::vector<TableFile>* level : {&leaves_, &manifests_, &lists_}) {
    for (std::size_t start = 0; start < level->size(); start += options_.page_files_max) {
      const std::size_t end = std::min(level->size(), start + options_.page_files_max);
      const auto first = level->begin();
      pages_.emplace_back(std::make_move_iterator(first + static_cast<std::ptrdiff_t>(start)),
                          std::make_move_iterator(first + static_cast<std::ptrdiff_t>(end)));
    }
    level->clear();
  }
  reads_ = 0;
}

Status VisitTableFiles(objstore::ObjectStore& objects, const MetadataPtr& metadata,
                       const std::string& metadata_location, const TableFileWalk::Options& options,
                       Deadline deadline, const std::function<Status(const TableFile&)>& visit) {
  TableFileWalk walk(objects, metadata, metadata_location, options);
  while (true) {
    LAKE_TRY(const std::vector<TableFile> page, walk.Next(deadline));
    if (page.empty()) {
      return {};
    }
    for (const TableFile& file : page) {
      LAKE_TRY_VOID(visit(file));
    }
  }
}

}  // namespace lake::engine
