#include "lake/iceberg/manifest_writer.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_container.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_encode_internal.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/manifest_partition.h"
#include "lake/iceberg/partition_spec_json.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema_json.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"
#include "lake/iceberg/value_bounds.h"

namespace lake::iceberg {
namespace {

constexpr std::int32_t kFormatVersionWrittenMin = 2;
constexpr std::int32_t kRowLineageVersion = 3;

bool IsNan(const Value& value) {
  const float* single = std::get_if<float>(&value);
  const double* number = std::get_if<double>(&value);
  return (single != nullptr && std::isnan(*single)) || (number != nullptr && std::isnan(*number));
}

// Collects what the partition values of one field have in common.
class SummaryBuilder {
 public:
  explicit SummaryBuilder(Type type) : type_(std::move(type)) {}

  void Add(const Value& value) {
    if (IsNull(value)) {
      contains_null_ = true;
    } else if (IsNan(value)) {
      contains_nan_ = true;
    } else {
      if (IsNull(min_) || CompareValues(type_, value, min_) < 0) {
        min_ = value;
      }
      if (IsNull(max_) || CompareValues(type_, value, max_) > 0) {
        max_ = value;
      }
    }
  }

  Result<FieldSummary> Finish() const {
    FieldSummary summary{.contains_null = contains_null_, .contains_nan = contains_nan_};
    if (!IsNull(min_)) {
      LAKE_TRY(summary.lower_bound, EncodeValue(type_, min_));
      LAKE_TRY(summary.upper_bound, EncodeValue(type_, max_));
    }
    return summary;
  }

 private:
  Type type_;
  bool contains_null_ = false;
  bool contains_nan_ = false;
  Value min_;
  Value max_;
};

std::unexpected<Error> Refuse(const DataFile& file, std::string_view why) {
  return InvalidArgument(fmt::format("manifest entry for {}: {}", Quoted(file.file_path), why));
}

Status CheckPartition(const DataFile& file, const Type& partition_type) {
  const std::vector<NestedField>& fields = partition_type.fields();
  if (file.partition.size() != fields.size()) {
    return Refuse(file, fmt::format("partition has {} values, the spec {} fields",
                                    file.partition.size(), fields.size()));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Value& value = file.partition[i];
    const Type& type = fields[i].type;
    const std::string* text = std::get_if<std::string>(&value);
    const bool wrong_length = type.kind() == TypeKind::kFixed && text != nullptr &&
                              std::cmp_not_equal(text->size(), type.length());
    const bool not_utf8 = type.kind() == TypeKind::kString && text != nullptr && !IsUtf8(*text);
    if (!IsValueOf(type, value) || wrong_length || not_utf8) {
      return Refuse(file, fmt::format("partition field {} is no value of type {}",
                                      Quoted(fields[i].name), type.ToString()));
    }
  }
  return {};
}

Status CheckContent(const DataFile& file, ManifestContent content) {
  if ((file.content == FileContent::kData) != (content == ManifestContent::kData)) {
    return Refuse(file, "data and delete files go into manifests of their own");
  }
  if ((file.content == FileContent::kEqualityDeletes) == file.equality_ids.empty()) {
    return Refuse(file, "equality_ids belong to equality deletes, which cannot be without");
  }
  return {};
}

Status CheckFields(const DataFile& file, std::int32_t format_version) {
  if (file.file_path.empty() || !IsUtf8(file.file_path)) {
    return Refuse(file, "file_path is empty or not UTF-8");
  }
  if (file.referenced_data_file.has_value() && !IsUtf8(*file.referenced_data_file)) {
    return Refuse(file, "referenced_data_file is not UTF-8");
  }
  if (file.record_count < 0 || file.file_size_in_bytes < 0) {
    return Refuse(file, "record_count or file_size_in_bytes is negative");
  }
  if (format_version < kRowLineageVersion &&
      (file.first_row_id.has_value() || file.content_offset.has_value() ||
       file.content_size_in_bytes.has_value())) {
    return Refuse(file,
                  "first_row_id, content_offset and content_size_in_bytes need format version 3");
  }
  return {};
}

Status CheckStatus(const ManifestEntry& entry, SnapshotId snapshot_id) {
  if (entry.sequence_number.has_value()) {
    return {};
  }
  if (entry.status != ManifestEntryStatus::kAdded) {
    return Refuse(entry.data_file, "only an added entry may lack a sequence number");
  }
  if (entry.snapshot_id.value_or(snapshot_id) != snapshot_id) {
    return Refuse(entry.data_file, "an entry added by another snapshot lacks a sequence number");
  }
  return {};
}

}  // namespace

struct ManifestWriter::State {
  Options options;
  Type partition_type;
  std::optional<AvroContainerWriter> container;
  std::string encoded;
  std::vector<SummaryBuilder> summaries;
  // By ManifestEntryStatus.
  std::int32_t files[3] = {};
  std::int64_t rows[3] = {};
  std::optional<std::int64_t> min_sequence_number;
};

ManifestWriter::ManifestWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

ManifestWriter::~ManifestWriter() = default;
ManifestWriter::ManifestWriter(ManifestWriter&& other) noexcept = default;
ManifestWriter& ManifestWriter::operator=(ManifestWriter&& other) noexcept = default;

Result<ManifestWriter> ManifestWriter::Make(Options options, Random& random) {
  if (options.format_version < kFormatVersionWrittenMin ||
      options.format_version > kFormatVersionMax) {
    return Unimplemented(fmt::format(
        "manifests of format version {} are not written: upgrade the table to version {}",
        options.format_version, kFormatVersionWrittenMin));
  }
  auto state = std::make_unique<State>();
  LAKE_TRY(state->partition_type, PartitionType(options.partition_spec, options.schema));
  LAKE_TRY(std::string avro_schema,
           ManifestEntryAvroSchema(options.format_version, state->partition_type));
  for (const NestedField& field : state->partition_type.fields()) {
    state->summaries.emplace_back(field.type);
  }
  AvroMetadata header = {
      {"schema", WriteSchema(options.schema)},
      {"schema-id", fmt::format("{}", std::to_underlying(options.schema.schema_id()))},
      {"partition-spec", WritePartitionFields(options.partition_spec.fields)},
      {"partition-spec-id", fmt::format("{}", std::to_underlying(options.partition_spec.spec_id))},
      {"format-version", fmt::format("{}", options.format_version)},
      {"content", options.content == ManifestContent::kData ? "data" : "deletes"},
  };
  LAKE_TRY(state->container, AvroContainerWriter::Make({.schema = std::move(avro_schema),
                                                        .metadata = std::move(header),
                                                        .codec = options.codec},
                                                       random));
  state->options = std::move(options);
  return ManifestWriter(std::move(state));
}

Status ManifestWriter::Append(const ManifestEntry& entry) {
  State& state = *state_;
  const DataFile& file = entry.data_file;
  const auto status = static_cast<std::size_t>(entry.status);
  LAKE_TRY_VOID(CheckFields(file, state.options.format_version));
  LAKE_TRY_VOID(CheckContent(file, state.options.content));
  LAKE_TRY_VOID(CheckPartition(file, state.partition_type));
  LAKE_TRY_VOID(CheckStatus(entry, state.options.snapshot_id));
  std::int32_t files = 0;
  std::int64_t rows = 0;
  if (__builtin_add_overflow(state.files[status], 1, &files) ||
      __builtin_add_overflow(state.rows[status], file.record_count, &rows)) {
    return Refuse(file, "the manifest counts more files or rows than fit");
  }

  state.encoded.clear();
  EncodeManifestEntry(state.options.format_version, state.partition_type, entry, state.encoded);
  LAKE_TRY_VOID(state.container->Append(state.encoded));
  state.files[status] = files;
  state.rows[status] = rows;
  for (std::size_t i = 0; i < state.summaries.size(); ++i) {
    state.summaries[i].Add(file.partition[i]);
  }
  if (entry.is_live() && entry.sequence_number.has_value() &&
      *entry.sequence_number <= state.min_sequence_number.value_or(*entry.sequence_number)) {
    state.min_sequence_number = entry.sequence_number;
  }
  return {};
}

Result<ManifestWriter::Finished> ManifestWriter::Finish() {
  State& state = *state_;
  const auto existing = static_cast<std::size_t>(ManifestEntryStatus::kExisting);
  const auto added = static_cast<std::size_t>(ManifestEntryStatus::kAdded);
  const auto deleted = static_cast<std::size_t>(ManifestEntryStatus::kDeleted);
  if (state.files[existing] + state.files[added] + state.files[deleted] == 0) {
    return InvalidArgument(
        fmt::format("manifest {} has no entries", Quoted(state.options.manifest_path)));
  }
  Finished finished;
  LAKE_TRY(finished.file, state.container->Finish());
  ManifestFile& manifest = finished.manifest;
  manifest.manifest_path = state.options.manifest_path;
  manifest.manifest_length = static_cast<std::int64_t>(finished.file.size());
  manifest.partition_spec_id = state.options.partition_spec.spec_id;
  manifest.content = state.options.content;
  manifest.min_sequence_number = state.min_sequence_number;
  manifest.added_snapshot_id = state.options.snapshot_id;
  manifest.added_files_count = state.files[added];
  manifest.existing_files_count = state.files[existing];
  manifest.deleted_files_count = state.files[deleted];
  manifest.added_rows_count = state.rows[added];
  manifest.existing_rows_count = state.rows[existing];
  manifest.deleted_rows_count = state.rows[deleted];
  for (const SummaryBuilder& summary : state.summaries) {
    LAKE_TRY(FieldSummary field, summary.Finish());
    manifest.partitions.push_back(std::move(field));
  }
  return finished;
}

}  // namespace lake::iceberg
