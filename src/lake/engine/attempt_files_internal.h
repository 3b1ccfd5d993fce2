#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/iceberg/ids.h"

namespace lake::engine {

// The most manifests that one attempt writes. The names of all that it may have written follow from its plan.
inline constexpr std::size_t kAttemptManifestsMax = 8;

// Returns the UUID that the names of all files of an attempt hold which plans this metadata file; nothing for one of another form.
std::optional<std::string_view> AttemptUuid(std::string_view planned_location);

// The names of an attempt's files, all made of its planned metadata file (see IcebergEngine).
class AttemptFiles {
 public:
  // Returns nothing if the planned location is not of the form that names them.
  static std::optional<AttemptFiles> Of(std::string_view planned_location,
                                        iceberg::SnapshotId snapshot_id);

  const std::string& manifest_list() const { return manifest_list_; }

  // `number` is below kAttemptManifestsMax.
  std::string Manifest(std::size_t number) const;

  // Returns all files that the attempt may have written besides the metadata file.
  std::vector<std::string> All() const;

 private:
  AttemptFiles() = default;

  std::string manifest_list_;
  std::string manifest_prefix_;
};

}  // namespace lake::engine
