#include "lake/iceberg/manifest_list.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/avro_container.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_decode_internal.h"
#include "lake/iceberg/manifest_encode_internal.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/value_bounds.h"

namespace lake::iceberg {
namespace {

constexpr std::int32_t kFormatVersionWrittenMin = 2;
constexpr std::int32_t kRowLineageVersion = 3;

// Reads a number of the header. The reference implementation writes "null" for none.
Result<std::optional<std::int64_t>> FindNumber(const AvroMetadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  if (found == metadata.end() || found->second == "null") {
    return std::nullopt;
  }
  const std::string_view text = found->second;
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return Corruption(
        fmt::format("manifest list: header entry '{}' is {}, not a number", key, Quoted(text)));
  }
  return number;
}

std::optional<SnapshotId> AsSnapshotId(std::optional<std::int64_t> number) {
  return number.has_value() ? std::optional(SnapshotId{*number}) : std::nullopt;
}

Status ReadHeader(const AvroMetadata& metadata, ManifestList& list) {
  LAKE_TRY(const std::optional<std::int64_t> version, FindNumber(metadata, "format-version"));
  if (version.value_or(kFormatVersionMin) > kFormatVersionMax) {
    return Unimplemented(
        fmt::format("manifest list: format version {} is newer than {}, the newest Lake reads",
                    *version, kFormatVersionMax));
  }
  list.format_version = static_cast<std::int32_t>(version.value_or(kFormatVersionMin));
  LAKE_TRY(const auto snapshot_id, FindNumber(metadata, "snapshot-id"));
  list.snapshot_id = AsSnapshotId(snapshot_id);
  LAKE_TRY(const auto parent_snapshot_id, FindNumber(metadata, "parent-snapshot-id"));
  list.parent_snapshot_id = AsSnapshotId(parent_snapshot_id);
  LAKE_TRY(list.sequence_number, FindNumber(metadata, "sequence-number"));
  LAKE_TRY(list.first_row_id, FindNumber(metadata, "first-row-id"));
  return {};
}

Status ReadBlock(const AvroContainerReader& container, const ManifestFileDecoder& decoder,
                 std::vector<ManifestFile>& manifests) {
  AvroInput in(container.block());
  if (container.block_objects() > in.remaining() / decoder.bytes_min()) {
    return Corruption(fmt::format("manifest list: a block of {} bytes cannot hold {} manifests",
                                  in.remaining(), container.block_objects()));
  }
  for (std::uint64_t i = 0; i < container.block_objects(); ++i) {
    decoder.Decode(in, manifests.emplace_back());
    if (!in.ok()) {
      return Corruption(fmt::format("manifest list: manifest {}: {}, at byte {} of its block",
                                    manifests.size(), in.failure(), in.failure_offset()));
    }
  }
  if (in.remaining() != 0) {
    return Corruption("manifest list: bytes follow the last manifest of a block");
  }
  return {};
}

std::unexpected<Error> Refuse(const ManifestFile& manifest, std::string_view why) {
  return InvalidArgument(fmt::format("manifest {}: {}", Quoted(manifest.manifest_path), why));
}

Status CheckManifest(const ManifestFile& manifest, std::int32_t format_version) {
  if (manifest.manifest_path.empty() || !IsUtf8(manifest.manifest_path)) {
    return Refuse(manifest, "manifest_path is empty or not UTF-8");
  }
  if (manifest.manifest_length < 0) {
    return Refuse(manifest, "manifest_length is negative");
  }
  if (!manifest.sequence_number.has_value() || !manifest.min_sequence_number.has_value()) {
    return Refuse(manifest, "it has no sequence number");
  }
  if (!manifest.added_files_count.has_value() || !manifest.existing_files_count.has_value() ||
      !manifest.deleted_files_count.has_value() || !manifest.added_rows_count.has_value() ||
      !manifest.existing_rows_count.has_value() || !manifest.deleted_rows_count.has_value()) {
    return Refuse(manifest, "a count that version 1 left out is missing: rewrite the manifest");
  }
  const bool needs_row_id =
      format_version >= kRowLineageVersion && manifest.content == ManifestContent::kData;
  if (needs_row_id != manifest.first_row_id.has_value()) {
    return Refuse(manifest, needs_row_id
                                ? "it has no first_row_id"
                                : "first_row_id belongs to data manifests of version 3 only");
  }
  return {};
}

}  // namespace

Result<ManifestList> ReadManifestList(std::string_view file) {
  auto opened = AvroContainerReader::Open(file);
  if (!opened.has_value()) {
    return std::unexpected(opened.error().With("manifest list"));
  }
  AvroContainerReader container = *std::move(opened);
  ManifestList list;
  LAKE_TRY_VOID(ReadHeader(container.metadata(), list));
  const auto schema = AvroSchema::Parse(container.schema());
  if (!schema.has_value()) {
    return std::unexpected(schema.error().With("manifest list"));
  }
  const auto decoder = ManifestFileDecoder::Plan(schema->root());
  if (!decoder.has_value()) {
    return std::unexpected(decoder.error().With("manifest list"));
  }
  while (true) {
    const auto more = container.NextBlock();
    if (!more.has_value()) {
      return std::unexpected(more.error().With("manifest list"));
    }
    if (!*more) {
      return list;
    }
    LAKE_TRY_VOID(ReadBlock(container, *decoder, list.manifests));
  }
}

Result<std::int64_t> AssignInherited(ManifestList& list) {
  std::int64_t next_row_id = list.first_row_id.value_or(0);
  for (ManifestFile& manifest : list.manifests) {
    if (!manifest.sequence_number.has_value() || !manifest.min_sequence_number.has_value()) {
      if (manifest.added_snapshot_id != list.snapshot_id) {
        return Refuse(manifest, "it has no sequence number and was added by another snapshot");
      }
      if (!manifest.sequence_number.has_value()) {
        manifest.sequence_number = list.sequence_number;
      }
      if (!manifest.min_sequence_number.has_value()) {
        // No live file brought an older number along.
        manifest.min_sequence_number = list.sequence_number;
      }
    }
    if (list.format_version < kRowLineageVersion || manifest.content != ManifestContent::kData ||
        manifest.first_row_id.has_value()) {
      continue;
    }
    manifest.first_row_id = next_row_id;
    if (!manifest.added_rows_count.has_value() || !manifest.existing_rows_count.has_value() ||
        *manifest.added_rows_count < 0 || *manifest.existing_rows_count < 0 ||
        __builtin_add_overflow(next_row_id, *manifest.added_rows_count, &next_row_id) ||
        __builtin_add_overflow(next_row_id, *manifest.existing_rows_count, &next_row_id)) {
      return Refuse(manifest, "its row counts are missing, negative or too large");
    }
  }
  return next_row_id;
}

Result<std::string> WriteManifestList(const ManifestList& list, AvroCodec codec, Random& random) {
  if (list.format_version < kFormatVersionWrittenMin || list.format_version > kFormatVersionMax) {
    return Unimplemented(fmt::format(
        "manifest lists of format version {} are not written: upgrade the table to version {}",
        list.format_version, kFormatVersionWrittenMin));
  }
  if (!list.snapshot_id.has_value() || !list.sequence_number.has_value()) {
    return InvalidArgument("manifest list: snapshot_id or sequence_number is missing");
  }
  AvroMetadata header = {
      {"snapshot-id", fmt::format("{}", std::to_underlying(*list.snapshot_id))},
      {"parent-snapshot-id", list.parent_snapshot_id.has_value()
                                 ? fmt::format("{}", std::to_underlying(*list.parent_snapshot_id))
                                 : "null"},
      {"sequence-number", fmt::format("{}", *list.sequence_number)},
      {"format-version", fmt::format("{}", list.format_version)},
  };
  if (list.format_version >= kRowLineageVersion) {
    if (!list.first_row_id.has_value()) {
      return InvalidArgument("manifest list: first_row_id is missing");
    }
    header.emplace("first-row-id", fmt::format("{}", *list.first_row_id));
  }
  LAKE_TRY(AvroContainerWriter container,
           AvroContainerWriter::Make({.schema = ManifestFileAvroSchema(list.format_version),
                                      .metadata = std::move(header),
                                      .codec = codec},
                                     random));
  std::string encoded;
  for (const ManifestFile& manifest : list.manifests) {
    LAKE_TRY_VOID(CheckManifest(manifest, list.format_version));
    encoded.clear();
    EncodeManifestFile(list.format_version, manifest, encoded);
    LAKE_TRY_VOID(container.Append(encoded));
  }
  return container.Finish();
}

}  // namespace lake::iceberg
