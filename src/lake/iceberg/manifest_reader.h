#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// What a manifest says about itself in its header. Version 1 leaves much of it out.
struct ManifestMetadata {
  std::int32_t format_version = 1;
  ManifestContent content = ManifestContent::kData;
  std::string schema;  // The table's schema when it was written: JSON as stored, see schema_json.h.
  std::optional<SchemaId> schema_id;
  PartitionSpec partition_spec;
  AvroCodec codec = AvroCodec::kNull;
};

// Reads the entries of a manifest one by one, whoever wrote it: its fields are matched by field id,
// what Lake does not know is read past, what is missing gets the default of the specification. Holds
// the file and one decompressed block. Any input is safe: it is either read or refused.
// Single-threaded.
class ManifestReader {
 public:
  // Opens a manifest that a manifest list names. `file` is all its bytes; `manifest` is its entry in
  // the list, from which entries inherit what they leave out: snapshot ids; sequence numbers of
  // added entries, and of all entries of version 1; first row ids (v3).
  //
  //   kCorruption       the file is damaged, shorter than the list says, or not a manifest.
  //   kUnimplemented    it uses an Avro codec or a format version Lake does not have.
  //
  // Messages name the manifest.
  static Result<ManifestReader> Open(std::string file, const ManifestFile& manifest);

  // Opens a manifest by itself, as `name`: entries stay as they are stored. Errors as for Open.
  static Result<ManifestReader> OpenUncommitted(std::string file, std::string name);

  ~ManifestReader();
  ManifestReader(const ManifestReader&) = delete;
  ManifestReader& operator=(const ManifestReader&) = delete;
  ManifestReader(ManifestReader&& other) noexcept;
  ManifestReader& operator=(ManifestReader&& other) noexcept;

  const ManifestMetadata& metadata() const;

  // The type of the entries' partition tuples. A field whose type neither the header nor the
  // entries' schema tells has type unknown and only null values.
  const Type& partition_type() const;

  // Reads the next entry into `entry`, whose memory is reused; false at the end of the manifest.
  // kCorruption, naming the manifest and the entry, when it is damaged or against the specification.
  // No further call is allowed after an error.
  Result<bool> Next(ManifestEntry& entry);

 private:
  struct State;

  explicit ManifestReader(std::unique_ptr<State> state);
  static Result<ManifestReader> OpenState(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Returns all entries of a manifest; see ManifestReader::Open and Next. For manifests known to be
// small: an entry takes about a kilobyte.
Result<std::vector<ManifestEntry>> ReadManifest(std::string file, const ManifestFile& manifest);

}  // namespace lake::iceberg
