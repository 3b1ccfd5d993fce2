#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"

namespace lake::iceberg {

// Writes one manifest into memory, in format version 2 or 3. Single-threaded.
class ManifestWriter {
 public:
  struct Options {
    std::int32_t format_version = 2;
    std::string manifest_path;  // Where the manifest will be; only noted.
    Schema schema;              // The table's.
    PartitionSpec partition_spec;
    ManifestContent content = ManifestContent::kData;
    SnapshotId snapshot_id{};               // Of the commit that adds the manifest.
    AvroCodec codec = AvroCodec::kDeflate;  // The best that every client reads.
  };

  // kInvalidArgument when the partition spec has a field whose transform or source column is not
  // known; kUnimplemented for another format version (upgrade the table first).
  static Result<ManifestWriter> Make(Options options, Random& random);

  ~ManifestWriter();
  ManifestWriter(const ManifestWriter&) = delete;
  ManifestWriter& operator=(const ManifestWriter&) = delete;
  ManifestWriter(ManifestWriter&& other) noexcept;
  ManifestWriter& operator=(ManifestWriter&& other) noexcept;

  // Adds an entry. Entries are stored as they are given: what an added one is to inherit when it is
  // read (its sequence numbers, in version 3 its first row id) is left empty by the caller.
  // kInvalidArgument, naming the file and the field, and nothing is added, when the entry breaks a
  // rule of the specification:
  //   - the partition tuple fits the spec;
  //   - a manifest holds data files or delete files, never both;
  //   - equality deletes have equality ids, and nothing else has;
  //   - only an added entry of this very snapshot may lack a sequence number;
  //   - fields that the format version does not have are empty;
  //   - counts and sizes are not negative, the path is not empty, texts are UTF-8.
  Status Append(const ManifestEntry& entry);

  struct Finished {
    std::string file;       // All bytes of the manifest.
    ManifestFile manifest;  // Its entry for the manifest list, with counts and partition summaries.
                            // Sequence number and first row id come with the list.
  };

  // Ends the manifest. May be called once, last. kInvalidArgument for a manifest without entries.
  Result<Finished> Finish();

 private:
  struct State;

  explicit ManifestWriter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace lake::iceberg
