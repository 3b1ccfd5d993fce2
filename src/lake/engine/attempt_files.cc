#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/engine/attempt_files_internal.h"
#include "lake/iceberg/ids.h"

namespace lake::engine {
namespace {

constexpr std::string_view kMetadataSuffix = ".metadata.json";
constexpr std::size_t kUuidLength = 36;

}  // namespace

std::optional<std::string_view> AttemptUuid(std::string_view planned_location) {
  if (!planned_location.ends_with(kMetadataSuffix)) {
    return std::nullopt;
  }
  const std::string_view stem =
      planned_location.substr(0, planned_location.size() - kMetadataSuffix.size());
  const std::size_t slash = stem.rfind('/');
  if (slash == std::string_view::npos || stem.size() - slash <= kUuidLength) {
    return std::nullopt;
  }
  return stem.substr(stem.size() - kUuidLength);
}

std::optional<AttemptFiles> AttemptFiles::Of(std::string_view planned_location,
                                             iceberg::SnapshotId snapshot_id) {
  const std::optional<std::string_view> uuid = AttemptUuid(planned_location);
  if (!uuid.has_value()) {
    return std::nullopt;
  }
  const std::string_view directory = planned_location.substr(0, planned_location.rfind('/'));
  AttemptFiles files;
  files.manifest_list_ =
      fmt::format("{}/snap-{}-{}.avro", directory, std::to_underlying(snapshot_id), *uuid);
  files.manifest_prefix_ = fmt::format("{}/{}-m", directory, *uuid);
  return files;
}

std::string AttemptFiles::Manifest(std::size_t number) const {
  LAKE_CHECK(number < kAttemptManifestsMax, "an attempt writes a bounded number of manifests");
  return fmt::format("{}{}.avro", manifest_prefix_, number);
}

std::vector<std::string> AttemptFiles::All() const {
  std::vector<std::string> all = {manifest_list_};
  for (std::size_t number = 0; number < kAttemptManifestsMax; ++number) {
    all.push_back(Manifest(number));
  }
  return all;
}

}  // namespace lake::engine
