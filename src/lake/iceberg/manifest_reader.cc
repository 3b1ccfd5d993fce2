#include "lake/iceberg/manifest_reader.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/avro_container.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_decode_internal.h"
#include "lake/iceberg/manifest_partition.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/partition_spec_json.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/schema_json.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

// What the stored form of an entry may leave to the manifest list.
struct Inheritance {
  SnapshotId snapshot_id{};
  std::int64_t sequence_number = 0;
  std::optional<std::int64_t> next_row_id;
};

// What a caller passed as an argument to a JSON function is, here, what a file holds.
Error AsCorruption(const Error& error, std::string_view what) {
  return {ErrorCode::kCorruption, fmt::format("{}: {}", what, error.message())};
}

Result<std::optional<std::int32_t>> FindNumber(const AvroMetadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    return std::nullopt;
  }
  const std::string_view text = found->second;
  std::int32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return Corruption(fmt::format("header entry '{}' is {}, not a number", key, Quoted(text)));
  }
  return number;
}

Result<std::string> FindText(const AvroMetadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    return Corruption(fmt::format("header entry '{}' is missing", key));
  }
  return found->second;
}

Result<ManifestMetadata> ReadMetadata(const AvroContainerReader& container) {
  const AvroMetadata& header = container.metadata();
  ManifestMetadata metadata;
  metadata.codec = container.codec();
  LAKE_TRY(const std::optional<std::int32_t> version, FindNumber(header, "format-version"));
  metadata.format_version = version.value_or(kFormatVersionMin);
  if (metadata.format_version > kFormatVersionMax) {
    return Unimplemented(fmt::format("format version {} is newer than {}, the newest Lake reads",
                                     metadata.format_version, kFormatVersionMax));
  }
  if (const auto content = header.find("content"); content != header.end()) {
    if (content->second != "data" && content->second != "deletes") {
      return Corruption(fmt::format("header entry 'content' is {}", Quoted(content->second)));
    }
    metadata.content =
        content->second == "data" ? ManifestContent::kData : ManifestContent::kDeletes;
  }
  LAKE_TRY(metadata.schema, FindText(header, "schema"));
  LAKE_TRY(const std::optional<std::int32_t> schema_id, FindNumber(header, "schema-id"));
  if (schema_id.has_value()) {
    metadata.schema_id = SchemaId{*schema_id};
  }
  LAKE_TRY(const std::optional<std::int32_t> spec_id, FindNumber(header, "partition-spec-id"));
  metadata.partition_spec.spec_id = PartitionSpecId{spec_id.value_or(0)};
  LAKE_TRY(const std::string fields, FindText(header, "partition-spec"));
  auto parsed = ParsePartitionFields(fields);
  if (!parsed.has_value()) {
    return std::unexpected(AsCorruption(parsed.error(), "header entry 'partition-spec'"));
  }
  metadata.partition_spec.fields = *std::move(parsed);
  return metadata;
}

Result<Type> ReadPartitionType(const ManifestMetadata& metadata) {
  if (metadata.partition_spec.fields.empty()) {
    return Type::Struct({});
  }
  const auto schema = ParseSchema(metadata.schema);
  if (!schema.has_value()) {
    return std::unexpected(AsCorruption(schema.error(), "header entry 'schema'"));
  }
  auto type = PartitionType(metadata.partition_spec, *schema);
  if (!type.has_value()) {
    return std::unexpected(AsCorruption(type.error(), "header entry 'partition-spec'"));
  }
  return type;
}

// The fields whose values are null whatever is stored.
std::vector<bool> VoidFields(const PartitionSpec& spec) {
  std::vector<bool> result;
  result.reserve(spec.fields.size());
  for (const PartitionField& field : spec.fields) {
    result.push_back(field.transform == "void");
  }
  return result;
}

}  // namespace

struct ManifestReader::State {
  std::string name;
  std::string file;
  std::optional<Inheritance> inheritance;
  std::optional<ManifestContent> listed_content;
  std::optional<AvroContainerReader> container;
  ManifestMetadata metadata;
  AvroSchema schema;
  std::optional<ManifestEntryDecoder> decoder;
  AvroInput block{""};
  std::uint64_t block_objects_left = 0;
  std::uint64_t entries_read = 0;

  std::unexpected<Error> Damaged(std::string_view why) const {
    return Corruption(fmt::format("manifest {}: {}", name, why));
  }

  Status ReadHeader();
  Result<bool> NextBlock();
  Status CheckAndInherit(ManifestEntry& entry);
};

Status ManifestReader::State::ReadHeader() {
  LAKE_TRY(container, AvroContainerReader::Open(file));
  LAKE_TRY(metadata, ReadMetadata(*container));
  if (!container->metadata().contains("content") && listed_content.has_value()) {
    metadata.content = *listed_content;
  }
  if (listed_content.value_or(metadata.content) != metadata.content) {
    return Corruption("the manifest list says it has other content (data or deletes)");
  }
  LAKE_TRY(schema, AvroSchema::Parse(container->schema()));
  LAKE_TRY(const Type partition_type, ReadPartitionType(metadata));
  LAKE_TRY(decoder, ManifestEntryDecoder::Plan(schema.root(), partition_type,
                                               VoidFields(metadata.partition_spec)));
  return {};
}

Result<bool> ManifestReader::State::NextBlock() {
  if (block.remaining() != 0) {
    return Damaged(fmt::format("bytes follow the last entry of a block (entry {})", entries_read));
  }
  const auto more = container->NextBlock();
  if (!more.has_value()) {
    return std::unexpected(
        more.error().With(fmt::format("manifest {}: after entry {}", name, entries_read)));
  }
  if (!*more) {
    return false;
  }
  block = AvroInput(container->block());
  block_objects_left = container->block_objects();
  if (block_objects_left > block.remaining() / decoder->bytes_min()) {
    return Damaged(fmt::format("a block of {} bytes cannot hold {} entries", block.remaining(),
                               block_objects_left));
  }
  return true;
}

Status ManifestReader::State::CheckAndInherit(ManifestEntry& entry) {
  DataFile& tracked = entry.data_file;
  if ((tracked.content == FileContent::kData) != (metadata.content == ManifestContent::kData)) {
    return Damaged(fmt::format("entry {} is a {} file in a manifest of {} files", entries_read,
                               tracked.content == FileContent::kData ? "data" : "delete",
                               metadata.content == ManifestContent::kData ? "data" : "delete"));
  }
  if (!inheritance.has_value()) {
    return {};
  }
  if (!entry.snapshot_id.has_value()) {
    entry.snapshot_id = inheritance->snapshot_id;
  }
  // Sequence number 0 belongs to version 1, which stores none: all its files have 0. Elsewhere only
  // added entries inherit; what older writers left out of others stays unknown.
  if (entry.status == ManifestEntryStatus::kAdded || inheritance->sequence_number == 0) {
    if (!entry.sequence_number.has_value()) {
      entry.sequence_number = inheritance->sequence_number;
    }
    if (!entry.file_sequence_number.has_value()) {
      entry.file_sequence_number = inheritance->sequence_number;
    }
  }
  // Deleted files take no part in the assignment of row ids: their rows are gone.
  if (inheritance->next_row_id.has_value() && !tracked.first_row_id.has_value() &&
      entry.is_live()) {
    tracked.first_row_id = inheritance->next_row_id;
    std::int64_t next = 0;
    if (__builtin_add_overflow(*inheritance->next_row_id, tracked.record_count, &next)) {
      return Damaged(fmt::format("entry {}: the row ids do not fit 64 bits", entries_read));
    }
    inheritance->next_row_id = next;
  }
  return {};
}

ManifestReader::ManifestReader(std::unique_ptr<State> state) : state_(std::move(state)) {}

ManifestReader::~ManifestReader() = default;
ManifestReader::ManifestReader(ManifestReader&& other) noexcept = default;
ManifestReader& ManifestReader::operator=(ManifestReader&& other) noexcept = default;

Result<ManifestReader> ManifestReader::OpenState(std::unique_ptr<State> state) {
  const Status header = state->ReadHeader();
  if (!header.has_value()) {
    return std::unexpected(header.error().With(fmt::format("manifest {}", state->name)));
  }
  return ManifestReader(std::move(state));
}

Result<ManifestReader> ManifestReader::Open(std::string file, const ManifestFile& manifest) {
  auto state = std::make_unique<State>();
  state->name = manifest.manifest_path;
  state->file = std::move(file);
  // A container that was cut between two blocks looks complete.
  if (std::cmp_less(state->file.size(), manifest.manifest_length)) {
    return state->Damaged(fmt::format("it has {} bytes, its manifest list says {}",
                                      state->file.size(), manifest.manifest_length));
  }
  Inheritance& inheritance = state->inheritance.emplace();
  inheritance.snapshot_id = manifest.added_snapshot_id;
  inheritance.sequence_number = manifest.sequence_number.value_or(0);
  if (manifest.content == ManifestContent::kData) {
    inheritance.next_row_id = manifest.first_row_id;
  }
  state->listed_content = manifest.content;
  return OpenState(std::move(state));
}

Result<ManifestReader> ManifestReader::OpenUncommitted(std::string file, std::string name) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->file = std::move(file);
  return OpenState(std::move(state));
}

const ManifestMetadata& ManifestReader::metadata() const {
  return state_->metadata;
}

const Type& ManifestReader::partition_type() const {
  return state_->decoder->partition_type();
}

Result<bool> ManifestReader::Next(ManifestEntry& entry) {
  State& state = *state_;
  while (state.block_objects_left == 0) {
    LAKE_TRY(const bool more, state.NextBlock());
    if (!more) {
      return false;
    }
  }
  --state.block_objects_left;
  ++state.entries_read;
  state.decoder->Decode(state.block, entry);
  if (!state.block.ok()) [[unlikely]] {
    return state.Damaged(fmt::format("entry {}: {}, at byte {} of its block", state.entries_read,
                                     state.block.failure(), state.block.failure_offset()));
  }
  LAKE_TRY_VOID(state.CheckAndInherit(entry));
  return true;
}

Result<std::vector<ManifestEntry>> ReadManifest(std::string file, const ManifestFile& manifest) {
  LAKE_TRY(ManifestReader reader, ManifestReader::Open(std::move(file), manifest));
  std::vector<ManifestEntry> entries;
  ManifestEntry entry;
  while (true) {
    LAKE_TRY(const bool more, reader.Next(entry));
    if (!more) {
      return entries;
    }
    entries.push_back(entry);
  }
}

}  // namespace lake::iceberg
