#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lake/engine/attempt_files_internal.h"
#include "lake/engine/iceberg_maintainer.h"
#include "lake/engine/orphan_files_internal.h"
#include "lake/engine/table_files.h"
#include "lake/engine/table_uuid_internal.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/table_properties.h"

namespace lake::engine {
namespace {

// How many files one call lists or removes.
constexpr std::size_t kPageMax = 1000;

// By which Hadoop's tables say what is current.
constexpr std::string_view kVersionHint = "/metadata/version-hint.text";

std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Whether other programs take what lies at a path below a location for hidden, and not for files of the table.
bool IsHidden(std::string_view below) {
  return below.contains("/.") || below.contains("/_");
}

}  // namespace

Result<OrphanRemoval> IcebergMaintainer::RemoveOrphans(const OrphanSearch& search,
                                                       const Permit& permit, Deadline deadline) {
  LAKE_TRY(OrphanFiles orphans,
           OrphanFiles::Make({.objects = objects_, .clock = clock_}, search, permit, deadline));
  return orphans.Remove();
}

Result<OrphanFiles> OrphanFiles::Make(Deps deps, const OrphanSearch& search,
                                      const TableMaintainer::Permit& permit, Deadline deadline) {
  LAKE_TRY(LocationScope scope, LocationScope::Make(search.location));
  return OrphanFiles(deps, search, permit, deadline, std::move(scope));
}

OrphanFiles::OrphanFiles(Deps deps, const OrphanSearch& search,
                         const TableMaintainer::Permit& permit, Deadline deadline,
                         LocationScope scope)
    : deps_(deps),
      search_(search),
      permit_(permit),
      deadline_(deadline),
      scope_(std::move(scope)),
      prefix_(search.location + (search.location.ends_with('/') ? "" : "/")) {}

Result<OrphanRemoval> OrphanFiles::Remove() {
  LAKE_TRY_VOID(LookThrough());
  while (!listed_) {
    LAKE_TRY_VOID(FindCandidates());
    if (candidates_.empty()) {
      continue;
    }
    LAKE_TRY_VOID(SubtractNeeds());
    LAKE_TRY_VOID(RemoveCandidates());
  }
  return std::move(removal_);
}

Status OrphanFiles::LookThrough() {
  LAKE_TRY(const TableNeeds needs, search_.read_needs());
  LAKE_TRY_VOID(CheckTable(needs));
  std::unordered_set<std::string> named;
  for (const iceberg::MetadataLogEntry& entry : needs.metadata->metadata_log) {
    LAKE_TRY(std::string normal, NormalPath(entry.metadata_file));
    named.insert(std::move(normal));
  }
  std::string after;
  for (bool more = true; more;) {
    LAKE_TRY(objstore::ObjectPage page, ListAfter(after));
    for (const objstore::ObjectInfo& file : page.objects) {
      if (!IsMetadataFile(file.path)) {
        continue;
      }
      LAKE_TRY_VOID(CheckTime());
      const Result<std::optional<Uuid>> uuid = ReadTableUuid(deps_.objects, file, deadline_);
      if (!uuid.has_value()) {
        if (uuid.error().code() == ErrorCode::kNotFound) {
          continue;
        }
        return std::unexpected(uuid.error());
      }
      LAKE_TRY(const std::string normal, NormalPath(file.path));
      // What does not say whose it is belongs to the table whose metadata names it.
      if (uuid->has_value() ? **uuid == search_.incarnation : named.contains(normal)) {
        continue;
      }
      return Conflict(fmt::format(
          "metadata file {} lies below the location {} of table {}, and {}; no orphan is removed",
          file.path, search_.location, search_.incarnation.ToString(),
          uuid->has_value() ? "is of table " + (*uuid)->ToString()
                            : "does not say of which table it is"));
    }
    more = page.next.has_value();
    after = std::move(page.next).value_or("");
  }
  return {};
}

Status OrphanFiles::FindCandidates() {
  candidates_.clear();
  unescaped_.clear();
  names_.clear();
  while (!listed_ && candidates_.size() < kOrphanWindow) {
    LAKE_TRY(objstore::ObjectPage page, ListAfter(after_));
    for (objstore::ObjectInfo& file : page.objects) {
      const std::string_view below = std::string_view(file.path).substr(prefix_.size() - 1);
      if (file.modified >= search_.before || IsHidden(below) || below == kVersionHint) {
        continue;
      }
      LAKE_TRY(std::string normal, NormalPath(file.path));
      unescaped_.emplace(Unescaped(normal), normal);
      names_.emplace(NameOf(normal));
      candidates_.emplace(std::move(normal), std::move(file));
    }
    listed_ = !page.next.has_value();
    after_ = std::move(page.next).value_or("");
  }
  return {};
}

Status OrphanFiles::SubtractNeeds() {
  LAKE_TRY(const TableNeeds needs, search_.read_needs());
  LAKE_TRY_VOID(CheckTable(needs));
  LAKE_TRY_VOID(SubtractReached(needs.metadata, needs.metadata_location));
  for (const std::string& planned : needs.planned) {
    LAKE_TRY_VOID(SubtractPlanned(planned));
  }
  return {};
}

Status OrphanFiles::CheckTable(const TableNeeds& needs) const {
  const iceberg::TableMetadata& metadata = *needs.metadata;
  if (metadata.table_uuid != search_.incarnation) {
    return Conflict(fmt::format("metadata file {} is of another table, not of {}",
                                needs.metadata_location, search_.incarnation.ToString()));
  }
  LAKE_TRY(const std::string location, NormalPath(metadata.location));
  if (location != scope_.location()) {
    return Conflict(fmt::format("the table says that it lies at {}, not at {}", metadata.location,
                                search_.location));
  }
  if (!iceberg::OwnsItsFiles(metadata)) {
    return Conflict(
        fmt::format("{} is not true: its files may belong to others, and none is removed",
                    iceberg::kGarbageCollectionProperty));
  }
  return {};
}

Status OrphanFiles::SubtractReached(const MetadataPtr& metadata,
                                    const std::string& metadata_location) {
  return VisitTableFiles(deps_.objects, metadata, metadata_location, {}, deadline_,
                         [&](const TableFile& file) -> Status {
                           LAKE_TRY_VOID(CheckTime());
                           return SubtractPath(file.path);
                         });
}

Status OrphanFiles::SubtractPlanned(const std::string& planned) {
  const std::optional<std::string_view> attempt = AttemptUuid(planned);
  if (!attempt.has_value() || !Uuid::Parse(*attempt).has_value()) {
    return Conflict(
        fmt::format("a pending operation plans the metadata file {}, whose name does not say what "
                    "belongs to it",
                    planned));
  }
  std::erase_if(candidates_,
                [&](const auto& candidate) { return candidate.first.contains(*attempt); });
  const std::string what = "planned metadata file " + planned;
  const Result<std::string> bytes =
      deps_.objects.Get(planned, iceberg::kTableMetadataBytesMax, deadline_);
  if (!bytes.has_value()) {
    return bytes.error().code() == ErrorCode::kNotFound
               ? Status()
               : Status(std::unexpected(bytes.error().With(what)));
  }
  LAKE_TRY(iceberg::TableMetadata metadata, WithContext(iceberg::ParseTableMetadata(*bytes), what));
  // It may be published yet.
  return SubtractReached(std::make_shared<const iceberg::TableMetadata>(std::move(metadata)),
                         planned);
}

Status OrphanFiles::SubtractPath(const std::string& path) {
  LAKE_TRY(const std::string normal, NormalPath(path));
  const auto [begin, end] = unescaped_.equal_range(Unescaped(normal));
  for (auto alike = begin; alike != end; ++alike) {
    if (alike->second != normal) {
      return Conflict(fmt::format(
          "it cannot be told whether {} is the file that the table names as {}; nothing more is "
          "removed",
          alike->second, path));
    }
  }
  switch (scope_.Find(path)) {
    case LocationScope::Place::kInside:
      candidates_.erase(normal);
      return {};
    case LocationScope::Place::kOutside:
      // By another way to the same place, such as a link, it may be one of those that are listed.
      if (!names_.contains(std::string(NameOf(normal)))) {
        return {};
      }
      return Conflict(fmt::format(
          "the table names {}, outside its location {}, and a file of that name is below it; "
          "nothing more is removed",
          path, search_.location));
    case LocationScope::Place::kUnclear:
      break;
  }
  return Conflict(fmt::format(
      "it cannot be told whether file {} lies below the location {}; nothing more is removed", path,
      search_.location));
}

Status OrphanFiles::RemoveCandidates() {
  std::vector<const objstore::ObjectInfo*> orphans;
  for (const auto& [normal, file] : candidates_) {
    orphans.push_back(&file);
  }
  std::ranges::sort(orphans, {}, &objstore::ObjectInfo::path);
  for (std::size_t start = 0; start < orphans.size(); start += kPageMax) {
    std::vector<std::string> paths;
    std::uint64_t bytes = 0;
    for (std::size_t i = start; i < std::min(start + kPageMax, orphans.size()); ++i) {
      paths.push_back(orphans[i]->path);
      bytes += orphans[i]->size;
    }
    LAKE_TRY_VOID(CheckTime());
    if (!search_.dry_run) {
      LAKE_TRY_VOID(permit_());
      LAKE_TRY_VOID(WithContext(deps_.objects.Delete(paths, deadline_),
                                fmt::format("{} files below {}", paths.size(), search_.location)));
    }
    removal_.files += paths.size();
    removal_.bytes += bytes;
    for (std::string& path : paths) {
      if (removal_.paths.size() == kOrphanPathsMax) {
        break;
      }
      removal_.paths.push_back(std::move(path));
    }
  }
  return {};
}

Result<objstore::ObjectPage> OrphanFiles::ListAfter(const std::string& after) {
  LAKE_TRY_VOID(CheckTime());
  return WithContext(deps_.objects.List(prefix_, after, kPageMax, deadline_),
                     "files below " + search_.location);
}

Status OrphanFiles::CheckTime() const {
  if (deps_.clock.Now() >= deadline_) {
    return DeadlineExceeded("search for orphans: the time is over; what was removed is removed");
  }
  return {};
}

}  // namespace lake::engine
