// Decodes a whole table that another writer made and encodes it again: the metadata file, every
// manifest list and every manifest, into a folder of its own. Data files stay where they are.
//
//   lake_golden_tool METADATA_FILE OUTPUT_FOLDER CODEC
//
// Prints the path of the new metadata file. On the way it checks that the numbers Lake computes for
// a manifest are those the other writer put into its list. A table of format version 1 comes out as
// one of version 2, for Lake writes no manifests of version 1.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_list.h"
#include "lake/iceberg/manifest_reader.h"
#include "lake/iceberg/manifest_writer.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/schema_json.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_metadata_json.h"

namespace {

using namespace lake::iceberg;
using lake::Result;
using lake::Status;

std::filesystem::path PathOf(std::string_view location) {
  for (const std::string_view scheme : {"file://", "file:"}) {
    if (location.starts_with(scheme)) {
      return location.substr(scheme.size());
    }
  }
  return location;
}

Result<std::string> ReadFile(std::string_view location) {
  std::ifstream file(PathOf(location), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    return lake::NotFound(fmt::format("{} cannot be read", location));
  }
  return bytes;
}

Status WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) {
    return lake::Unavailable(fmt::format("{} cannot be written", path.string()));
  }
  return {};
}

// Whether the other writer's entry for the manifest says what Lake computes from its content. What
// it left out agrees with anything.
Status CheckAgree(const ManifestFile& theirs, const ManifestFile& ours) {
  const auto counts = [](const ManifestFile& manifest) {
    return std::vector<std::optional<std::int64_t>>{
        manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count,
        manifest.added_rows_count,  manifest.existing_rows_count,  manifest.deleted_rows_count};
  };
  const auto their_counts = counts(theirs);
  const auto our_counts = counts(ours);
  for (std::size_t i = 0; i < our_counts.size(); ++i) {
    if (their_counts[i].has_value() && their_counts[i] != our_counts[i]) {
      return lake::Internal(fmt::format("count {} is {} there and {} here", i, *their_counts[i],
                                        our_counts[i].value_or(-1)));
    }
  }
  if (theirs.partitions.empty()) {
    return {};
  }
  if (theirs.partitions.size() != ours.partitions.size()) {
    return lake::Internal(fmt::format("there are {} partition summaries there and {} here",
                                      theirs.partitions.size(), ours.partitions.size()));
  }
  for (std::size_t i = 0; i < ours.partitions.size(); ++i) {
    const FieldSummary& their_summary = theirs.partitions[i];
    const FieldSummary& our_summary = ours.partitions[i];
    if (their_summary.contains_null != our_summary.contains_null ||
        their_summary.contains_nan.value_or(false) != our_summary.contains_nan.value_or(false) ||
        their_summary.lower_bound != our_summary.lower_bound ||
        their_summary.upper_bound != our_summary.upper_bound) {
      return lake::Internal(fmt::format("the summary of partition field {} differs", i));
    }
  }
  return {};
}

class Rewriter {
 public:
  Rewriter(std::filesystem::path folder, AvroCodec codec)
      : folder_(std::move(folder)), codec_(codec) {}

  Result<std::string> Rewrite(std::string_view location) {
    LAKE_TRY(const std::string bytes, ReadFile(location));
    LAKE_TRY(TableMetadata metadata, ParseTableMetadata(bytes));
    if (metadata.format_version == 1) {
      metadata.format_version = 2;
      was_v1_ = true;
    }
    for (Snapshot& snapshot : metadata.snapshots) {
      LAKE_TRY(snapshot.manifest_list, RewriteList(snapshot, metadata));
    }
    LAKE_TRY(const std::string text, WriteTableMetadata(metadata));
    const auto path = folder_ / "again.metadata.json";
    LAKE_TRY_VOID(WriteFile(path, text));
    return path.string();
  }

 private:
  Result<std::string> RewriteList(const Snapshot& snapshot, const TableMetadata& metadata) {
    LAKE_TRY(const std::string bytes, ReadFile(snapshot.manifest_list));
    LAKE_TRY(ManifestList list, ReadManifestList(bytes));
    for (ManifestFile& manifest : list.manifests) {
      auto rewritten = RewriteManifest(manifest);
      if (!rewritten.has_value()) {
        return std::unexpected(rewritten.error().With(manifest.manifest_path));
      }
      manifest = *std::move(rewritten);
    }
    list.format_version = metadata.format_version;
    list.snapshot_id = snapshot.snapshot_id;
    list.parent_snapshot_id = snapshot.parent_snapshot_id;
    list.sequence_number = snapshot.sequence_number;
    LAKE_TRY(const std::string again, WriteManifestList(list, codec_, random_));
    const auto path =
        folder_ / fmt::format("snap-{}.avro", std::to_underlying(snapshot.snapshot_id));
    LAKE_TRY_VOID(WriteFile(path, again));
    return path.string();
  }

  // Rewrites a manifest, once however many lists name it, and returns its new entry.
  Result<ManifestFile> RewriteManifest(const ManifestFile& theirs) {
    if (const auto done = done_.find(theirs.manifest_path); done != done_.end()) {
      return done->second;
    }
    LAKE_TRY(std::string bytes, ReadFile(theirs.manifest_path));
    // As stored, or of version 1 with the sequence numbers that version 2 gives it.
    auto opened = was_v1_ ? ManifestReader::Open(std::move(bytes), theirs)
                          : ManifestReader::OpenUncommitted(std::move(bytes), theirs.manifest_path);
    LAKE_TRY(ManifestReader reader, std::move(opened));
    const ManifestMetadata& header = reader.metadata();
    LAKE_TRY(Schema schema, ParseSchema(header.schema));
    const auto path = folder_ / fmt::format("m{}.avro", done_.size());
    LAKE_TRY(ManifestWriter writer,
             ManifestWriter::Make({.format_version = was_v1_ ? 2 : header.format_version,
                                   .manifest_path = path.string(),
                                   .schema = std::move(schema),
                                   .partition_spec = header.partition_spec,
                                   .content = header.content,
                                   .snapshot_id = theirs.added_snapshot_id,
                                   .codec = codec_},
                                  random_));
    ManifestEntry entry;
    while (true) {
      LAKE_TRY(const bool more, reader.Next(entry));
      if (!more) {
        break;
      }
      LAKE_TRY_VOID(writer.Append(entry));
    }
    LAKE_TRY(const ManifestWriter::Finished finished, writer.Finish());
    LAKE_TRY_VOID(CheckAgree(theirs, finished.manifest));
    LAKE_TRY_VOID(WriteFile(path, finished.file));
    ManifestFile ours = finished.manifest;
    ours.sequence_number = theirs.sequence_number;
    ours.min_sequence_number = theirs.min_sequence_number;
    ours.key_metadata = theirs.key_metadata;
    ours.first_row_id = theirs.first_row_id;
    done_.emplace(theirs.manifest_path, ours);
    return ours;
  }

  std::filesystem::path folder_;
  AvroCodec codec_;
  bool was_v1_ = false;
  lake::SystemRandom random_;
  std::map<std::string, ManifestFile> done_;
};

Status Run(std::string_view metadata, std::string_view folder, std::string_view codec_name) {
  LAKE_TRY(const AvroCodec codec, ParseAvroCodec(codec_name));
  LAKE_TRY(const std::string path, Rewriter(folder, codec).Rewrite(metadata));
  fmt::print("{}\n", path);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: lake_golden_tool METADATA_FILE OUTPUT_FOLDER CODEC\n");
    return 2;
  }
  const Status status = Run(argv[1], argv[2], argv[3]);
  if (!status.has_value()) {
    fmt::print(stderr, "lake_golden_tool: {}\n", status.error().ToString());
    return 1;
  }
  return 0;
}
