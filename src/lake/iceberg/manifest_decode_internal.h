#pragma once

#include <cstddef>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/manifest_plan_internal.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// How many columns, offsets, ids or summaries one entry may have. It keeps what a hostile entry
// takes in memory within a small multiple of its own bytes.
inline constexpr std::size_t kManifestItemsMax = std::size_t{1} << 20;

// The decoders follow a plan made once per file. Decode fills every field of its target: what the
// file leaves out is reset, memory is kept. Failures are left in the input: damage, numbers out of
// range, a required field that is null. The schema must outlive the decoder.

// Decodes the entries of a manifest.
class ManifestEntryDecoder {
 public:
  // See PlanRecord and PlanPartition.
  static Result<ManifestEntryDecoder> Plan(const AvroNode& schema, const Type& partition_type,
                                           const std::vector<bool>& void_fields);

  // Reads one entry; whether it went well is in `in`.
  void Decode(AvroInput& in, ManifestEntry& entry) const;

  const Type& partition_type() const { return partition_.type; }

  // Every entry takes at least so many bytes; never 0.
  std::size_t bytes_min() const { return bytes_min_; }

 private:
  ManifestEntryDecoder() = default;
  void DecodeDataFile(AvroInput& in, DataFile& file) const;
  void DecodePartition(AvroInput& in, std::vector<Value>& partition) const;

  RecordPlan entry_;
  std::vector<ManifestField> entry_absent_;
  RecordPlan data_file_;
  std::vector<ManifestField> data_file_absent_;
  PartitionPlan partition_;
  std::size_t bytes_min_ = 0;
};

// Decodes the entries of a manifest list.
class ManifestFileDecoder {
 public:
  // See PlanRecord.
  static Result<ManifestFileDecoder> Plan(const AvroNode& schema);

  // Reads one entry; whether it went well is in `in`.
  void Decode(AvroInput& in, ManifestFile& manifest) const;

  // Every entry takes at least so many bytes; never 0.
  std::size_t bytes_min() const { return bytes_min_; }

 private:
  ManifestFileDecoder() = default;
  void DecodeSummaries(AvroInput& in, const PlannedField& planned,
                       std::vector<FieldSummary>& summaries) const;

  RecordPlan manifest_;
  RecordPlan summary_;
  std::size_t bytes_min_ = 0;
};

}  // namespace lake::iceberg
