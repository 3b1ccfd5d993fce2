#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/sql/snapshot_files_internal.h"

namespace lake::sql {
namespace {

// The reserved id of the column "file_path" of position deletes.
constexpr iceberg::FieldId kDeleteFilePathId{2147483546};

Status CheckReadable(const iceberg::DataFile& file) {
  if (file.content == iceberg::FileContent::kEqualityDeletes) {
    return Unimplemented(
        "the table has equality deletes, which lake does not read; rewrite its data files with the "
        "engine that wrote them");
  }
  if (file.file_format == iceberg::FileFormat::kPuffin) {
    return Unimplemented(
        "the table has deletion vectors, which lake does not read; rewrite its data files with the "
        "engine that wrote them");
  }
  if (file.file_format != iceberg::FileFormat::kParquet) {
    return Unimplemented(fmt::format("{} is a file of the format {}; lake reads parquet",
                                     file.file_path, iceberg::FileFormatName(file.file_format)));
  }
  if (file.key_metadata.has_value()) {
    return Unimplemented(fmt::format("{} is encrypted, which lake does not read", file.file_path));
  }
  return {};
}

// Whether two partition tuples differ. NaN equals NaN here: it is the same partition.
bool Differ(const std::vector<iceberg::Value>& a, const std::vector<iceberg::Value>& b) {
  const auto is_nan = [](const iceberg::Value& value) {
    const auto* single = std::get_if<float>(&value);
    const auto* wide = std::get_if<double>(&value);
    return (single != nullptr && std::isnan(*single)) || (wide != nullptr && std::isnan(*wide));
  };
  return !std::ranges::equal(a, b, [&](const iceberg::Value& left, const iceberg::Value& right) {
    return left == right || (is_nan(left) && is_nan(right));
  });
}

bool IsKnownEmpty(const iceberg::ManifestFile& manifest) {
  return manifest.added_files_count == 0 && manifest.existing_files_count == 0;
}

}  // namespace

std::vector<std::size_t> SnapshotFiles::DeletesFor(const SnapshotFile& data_file) const {
  std::vector<std::size_t> result;
  const std::string path = NormalizeLocation(data_file.file.file_path);
  for (std::size_t i = 0; i < position_deletes.size(); ++i) {
    const SnapshotFile& candidate = position_deletes[i];
    // The specification's rule: not older than the data, and of the same partition.
    if (candidate.sequence_number < data_file.sequence_number ||
        candidate.spec_id != data_file.spec_id ||
        Differ(candidate.file.partition, data_file.file.partition)) {
      continue;
    }
    if (candidate.file.referenced_data_file.has_value()) {
      if (NormalizeLocation(*candidate.file.referenced_data_file) == path) {
        result.push_back(i);
      }
      continue;
    }
    // Bounds compare the text as written, so they tell something only about the same spelling.
    const std::string* lower = candidate.file.lower_bounds.Find(kDeleteFilePathId);
    const std::string* upper = candidate.file.upper_bounds.Find(kDeleteFilePathId);
    if (lower != nullptr && upper != nullptr && *lower == *upper &&
        NormalizeLocation(*lower) != path) {
      continue;
    }
    result.push_back(i);
  }
  return result;
}

Result<std::shared_ptr<const SnapshotFiles>> LoadSnapshotFiles(
    TableSource& source, const iceberg::TableMetadata& metadata,
    const iceberg::Snapshot* snapshot) {
  auto result = std::make_shared<SnapshotFiles>();
  if (snapshot == nullptr) {
    return result;
  }
  LAKE_TRY(const auto manifests, source.ListManifests(metadata, *snapshot));
  for (const iceberg::ManifestFile& manifest : manifests) {
    if (IsKnownEmpty(manifest)) {
      continue;
    }
    LAKE_TRY(auto entries, source.ListLiveEntries(metadata, manifest));
    for (iceberg::ManifestEntry& entry : entries) {
      LAKE_TRY_VOID(CheckReadable(entry.data_file));
      const bool is_data = entry.data_file.content == iceberg::FileContent::kData;
      SnapshotFile file{.file = std::move(entry.data_file),
                        .spec_id = manifest.partition_spec_id,
                        .sequence_number = entry.sequence_number.value_or(0)};
      (is_data ? result->data : result->position_deletes).push_back(std::move(file));
    }
  }
  return result;
}

std::string NormalizeLocation(std::string_view location) {
  constexpr std::string_view kFile = "file:";
  if (location.starts_with(kFile)) {
    location.remove_prefix(kFile.size());
    if (location.starts_with("//")) {
      location.remove_prefix(2);
    }
    return std::string(location);
  }
  for (const std::string_view alias : {"s3a://", "s3n://"}) {
    if (location.starts_with(alias)) {
      return "s3://" + std::string(location.substr(alias.size()));
    }
  }
  return std::string(location);
}

}  // namespace lake::sql
