#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"

namespace lake::iceberg {

// The manifests of a snapshot, and what their list says about itself in its header. Other writers
// may leave the header's ids out.
struct ManifestList {
  std::int32_t format_version = 2;
  std::optional<SnapshotId> snapshot_id;
  std::optional<SnapshotId> parent_snapshot_id;
  std::optional<std::int64_t> sequence_number;
  std::optional<std::int64_t> first_row_id;  // v3
  std::vector<ManifestFile> manifests;

  bool operator==(const ManifestList&) const = default;
};

// Reads a manifest list of any format version, whoever wrote it. Sequence numbers that version 1
// leaves out are 0. kCorruption when it is damaged or no manifest list; kUnimplemented for an Avro
// codec or format version Lake does not have. Any input is safe: it is either read or refused.
Result<ManifestList> ReadManifestList(std::string_view file);

// Gives the manifests that this commit adds what only the commit knows: the list's sequence number
// where theirs is absent, and in version 3 first row ids to the data manifests without, counting up
// from the list's first_row_id by their added and existing rows. Returns the row id that follows
// (v3: the table's new next-row-id; otherwise the list's first_row_id, or 0).
// kInvalidArgument, naming the manifest, when one without a sequence number was added by another
// snapshot, or counts are missing or do not fit; the list may then be half assigned.
Result<std::int64_t> AssignInherited(ManifestList& list);

// Returns the file of a list, in its format version, 2 or 3 (otherwise kUnimplemented).
// kInvalidArgument, naming the manifest, when the specification requires something that is absent:
// snapshot id and sequence number of the list; sequence numbers and counts of each manifest; in
// version 3 first row ids of data manifests, and of nothing else; or when a path is empty or not
// UTF-8.
Result<std::string> WriteManifestList(const ManifestList& list, AvroCodec codec, Random& random);

}  // namespace lake::iceberg
