#include "lake/engine/table_removal.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lake/engine/table_uuid_internal.h"
#include "lake/iceberg/table_metadata_json.h"

namespace lake::engine {
namespace {

// Metadata files that one step reads.
constexpr std::size_t kReadsMax = 64;

std::optional<std::string> NormalOrNothing(std::string_view path) {
  Result<std::string> normal = NormalPath(path);
  return normal.has_value() ? std::optional(*std::move(normal)) : std::nullopt;
}

}  // namespace

Result<TableRemoval> TableRemoval::Start(objstore::ObjectStore& objects, RemovalPlan plan) {
  LAKE_TRY(LocationScope scope, LocationScope::Make(plan.location));
  return TableRemoval(objects, std::move(plan), std::move(scope));
}

TableRemoval::TableRemoval(objstore::ObjectStore& objects, RemovalPlan plan, LocationScope scope)
    : objects_(objects),
      plan_(std::move(plan)),
      scope_(std::move(scope)),
      prefix_(plan_.location + (plan_.location.ends_with('/') ? "" : "/")),
      last_(NormalOrNothing(plan_.metadata_location)) {}

Result<RemovalProgress> TableRemoval::Continue(Deadline deadline) {
  const auto step = [&]() -> Status {
    switch (stage_) {
      case Stage::kMetadata:
        return LoadMetadata(deadline);
      case Stage::kLookThrough:
        return LookThrough(deadline);
      case Stage::kNamedFiles:
        return RemoveNamedFiles(deadline);
      case Stage::kAllFiles:
        return RemoveAllFiles(deadline);
      case Stage::kMetadataFiles:
        return RemoveMetadataFiles(deadline);
      case Stage::kLast:
        return RemoveLast(deadline);
      case Stage::kDone:
        return {};
    }
    return {};
  };
  LAKE_TRY_VOID(step());
  progress_.done = stage_ == Stage::kDone;
  return progress_;
}

Status TableRemoval::LoadMetadata(Deadline deadline) {
  const std::string what = "metadata file " + plan_.metadata_location;
  const Result<std::string> bytes =
      objects_.Get(plan_.metadata_location, iceberg::kTableMetadataBytesMax, deadline);
  const bool all = plan_.extent == RemovalPlan::Extent::kEverything;
  if (!bytes.has_value()) {
    if (bytes.error().code() != ErrorCode::kNotFound) {
      return std::unexpected(bytes.error().With(what));
    }
    // It goes last (law 3): what the table named is gone.
    stage_ = all ? Stage::kLookThrough : Stage::kDone;
    return {};
  }
  Result<iceberg::TableMetadata> metadata = iceberg::ParseTableMetadata(*bytes);
  if (!metadata.has_value()) {
    if (all) {
      stage_ = Stage::kLookThrough;
      return {};
    }
    return metadata.error().code() == ErrorCode::kUnimplemented
               ? Status(std::unexpected(metadata.error().With(what)))
               : Corruption(fmt::format("{}: {}", what, metadata.error().message()));
  }
  if (metadata->table_uuid != plan_.incarnation) {
    return Conflict(fmt::format("{} is of another table, not of {}; nothing more is removed", what,
                                plan_.incarnation.ToString()));
  }
  for (const iceberg::MetadataLogEntry& earlier : metadata->metadata_log) {
    if (std::optional<std::string> normal = NormalOrNothing(earlier.metadata_file);
        normal.has_value()) {
      named_.insert(*std::move(normal));
    }
  }
  metadata_ = std::make_shared<const iceberg::TableMetadata>(*std::move(metadata));
  stage_ = Stage::kLookThrough;
  return {};
}

Status TableRemoval::LookThrough(Deadline deadline) {
  for (std::size_t reads = 0; reads < kReadsMax && !unchecked_.empty(); ++reads) {
    LAKE_TRY_VOID(CheckMetadataFile(unchecked_.front(), deadline));
    unchecked_.pop_front();
  }
  if (!unchecked_.empty()) {
    return {};
  }
  if (!listed_) {
    LAKE_TRY(objstore::ObjectPage page,
             WithContext(objects_.List(prefix_, after_, kRemovalPageMax, deadline),
                         "files below " + plan_.location));
    std::ranges::copy_if(
        page.objects, std::back_inserter(unchecked_),
        [&](const objstore::ObjectInfo& object) { return IsMetadataFile(object.path); });
    listed_ = !page.next.has_value();
    after_ = std::move(page.next).value_or("");
    return {};
  }
  listed_ = false;
  if (plan_.extent == RemovalPlan::Extent::kEverything) {
    stage_ = Stage::kAllFiles;
  } else {
    walk_.emplace(objects_, metadata_, plan_.metadata_location,
                  TableFileWalk::Options{.missing = TableFileWalk::Missing::kRemoved,
                                         .page_files_max = kRemovalPageMax,
                                         .page_reads_max = kReadsMax});
    stage_ = Stage::kNamedFiles;
  }
  return {};
}

// Fails unless the file is one of this table, or is gone.
Status TableRemoval::CheckMetadataFile(const objstore::ObjectInfo& file, Deadline deadline) {
  if (IsLast(file.path)) {
    return {};
  }
  const std::string what = "metadata file " + file.path;
  const Result<std::optional<Uuid>> read = ReadTableUuid(objects_, file, deadline);
  if (!read.has_value()) {
    return read.error().code() == ErrorCode::kNotFound ? Status()
                                                       : Status(std::unexpected(read.error()));
  }
  const std::optional<Uuid>& uuid = *read;
  const std::optional<std::string> normal = NormalOrNothing(file.path);
  // What does not say whose it is belongs to the table whose metadata names it.
  const bool is_ours = uuid.has_value() ? *uuid == plan_.incarnation
                                        : normal.has_value() && named_.contains(*normal);
  if (is_ours) {
    return {};
  }
  return Conflict(fmt::format(
      "{} lies below the location {} of table {}, and {}; nothing is removed", what, plan_.location,
      plan_.incarnation.ToString(),
      uuid.has_value() ? "is of table " + uuid->ToString() : "does not say of which table it is"));
}

Status TableRemoval::RemoveNamedFiles(Deadline deadline) {
  if (page_.empty()) {
    LAKE_TRY(page_, walk_->Next(deadline));
    if (page_.empty()) {
      stage_ = Stage::kDone;
      return {};
    }
  }
  std::vector<std::string> paths;
  for (const TableFile& file : page_) {
    switch (scope_.Find(file.path)) {
      case LocationScope::Place::kInside:
        paths.push_back(file.path);
        break;
      case LocationScope::Place::kOutside:
        break;
      case LocationScope::Place::kUnclear:
        return Conflict(fmt::format(
            "it cannot be told whether file {} lies below the location {}; nothing more is removed",
            file.path, plan_.location));
    }
  }
  LAKE_TRY_VOID(Delete(paths, deadline));
  page_.clear();
  return {};
}

Status TableRemoval::RemoveAllFiles(Deadline deadline) {
  if (listed_) {
    stage_ = Stage::kMetadataFiles;
    return {};
  }
  LAKE_TRY(objstore::ObjectPage page,
           WithContext(objects_.List(prefix_, after_, kRemovalPageMax, deadline),
                       "files below " + plan_.location));
  std::vector<std::string> paths;
  std::vector<std::string> metadata_files;
  for (objstore::ObjectInfo& object : page.objects) {
    if (!IsMetadataFile(object.path) && !IsLast(object.path)) {
      paths.push_back(std::move(object.path));
    } else if (!IsLast(object.path)) {
      metadata_files.push_back(std::move(object.path));
    }
  }
  LAKE_TRY_VOID(Delete(paths, deadline));
  std::ranges::move(metadata_files, std::back_inserter(metadata_files_));
  listed_ = !page.next.has_value();
  after_ = std::move(page.next).value_or("");
  return {};
}

Status TableRemoval::RemoveMetadataFiles(Deadline deadline) {
  if (metadata_files_.empty()) {
    stage_ = Stage::kLast;
    return {};
  }
  const std::size_t count = std::min(metadata_files_.size(), kRemovalPageMax);
  const auto first = metadata_files_.end() - static_cast<std::ptrdiff_t>(count);
  LAKE_TRY_VOID(Delete({first, metadata_files_.end()}, deadline));
  metadata_files_.erase(first, metadata_files_.end());
  return {};
}

Status TableRemoval::RemoveLast(Deadline deadline) {
  if (scope_.Find(plan_.metadata_location) == LocationScope::Place::kInside) {
    LAKE_TRY_VOID(Delete({plan_.metadata_location}, deadline));
  }
  stage_ = Stage::kDone;
  return {};
}

Status TableRemoval::Delete(const std::vector<std::string>& paths, Deadline deadline) {
  if (paths.empty()) {
    return {};
  }
  LAKE_TRY_VOID(WithContext(objects_.Delete(paths, deadline),
                            fmt::format("{} files below {}", paths.size(), plan_.location)));
  progress_.removed += paths.size();
  return {};
}

bool TableRemoval::IsLast(std::string_view path) const {
  return last_.has_value() && NormalOrNothing(path) == last_;
}

}  // namespace lake::engine
