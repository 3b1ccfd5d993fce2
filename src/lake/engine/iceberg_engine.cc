#include "lake/engine/iceberg_engine.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/engine/attempt_files_internal.h"
#include "lake/iceberg/manifest_list.h"
#include "lake/iceberg/manifest_writer.h"
#include "lake/iceberg/snapshot_summary.h"
#include "lake/iceberg/table_create.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/table_update_apply.h"

namespace lake::engine {
namespace {

// The format version of the tables that Lake writes.
constexpr std::int32_t kFormatVersion = 2;

iceberg::SnapshotChanges CountChanges(const std::vector<iceberg::DataFile>& files) {
  iceberg::SnapshotChanges changes;
  for (const iceberg::DataFile& file : files) {
    ++changes.added_data_files;
    changes.added_records += file.record_count;
    changes.added_files_size += file.file_size_in_bytes;
  }
  return changes;
}

Status CheckTable(const iceberg::TableMetadata& metadata) {
  if (metadata.format_version != kFormatVersion) {
    return Unimplemented(
        fmt::format("the table has format version {}; lake appends to version {} only",
                    metadata.format_version, kFormatVersion));
  }
  if (!metadata.default_spec().is_unpartitioned()) {
    return Unimplemented("the table is partitioned; lake appends to unpartitioned tables only");
  }
  return {};
}

// Adds the fields that every row has a value of: required, in structs that are required. Below an
// optional struct, or in a list or a map, a required field is null where its parent is, or absent.
void AddAlwaysThere(const std::vector<iceberg::NestedField>& fields,
                    std::set<iceberg::FieldId>& always) {
  for (const iceberg::NestedField& field : fields) {
    if (!field.required) {
      continue;
    }
    always.insert(field.id);
    if (field.type.kind() == iceberg::TypeKind::kStruct) {
      AddAlwaysThere(field.type.fields(), always);
    }
  }
}

bool IsPrimitive(const iceberg::Type& type) {
  return type.kind() != iceberg::TypeKind::kStruct && type.kind() != iceberg::TypeKind::kList &&
         type.kind() != iceberg::TypeKind::kMap;
}

// Checks that the file has every column of which each row has a value. A file whose statistics list columns lists all it has.
Status CheckRequiredColumns(const iceberg::Schema& schema,
                            const std::set<iceberg::FieldId>& always_there,
                            const iceberg::DataFile& file) {
  if (file.column_sizes.empty()) {
    return {};
  }
  for (const iceberg::FieldId id : always_there) {
    const iceberg::NestedField* field = schema.FindField(id);
    LAKE_CHECK(field != nullptr, "the field is the schema's");
    if (IsPrimitive(field->type) && file.column_sizes.Find(id) == nullptr) {
      return InvalidArgument(
          fmt::format("column {} is required, and the file does not have it", field->name));
    }
  }
  return {};
}

// Checks what a file's statistics give away of its columns.
Status CheckColumns(const iceberg::Schema& schema, const std::set<iceberg::FieldId>& always_there,
                    const iceberg::DataFile& file) {
  for (const auto& [id, nulls] : file.null_value_counts) {
    const iceberg::NestedField* field = schema.FindField(id);
    if (field == nullptr) {
      return InvalidArgument(fmt::format(
          "it has a column with field id {}, which the table has not", std::to_underlying(id)));
    }
    if (nulls > 0 && always_there.contains(id)) {
      return InvalidArgument(
          fmt::format("column {} is required, and {} of its values are null", field->name, nulls));
    }
  }
  for (const auto& [id, bytes] : file.column_sizes) {
    if (schema.FindField(id) == nullptr) {
      return InvalidArgument(fmt::format(
          "it has a column with field id {}, which the table has not", std::to_underlying(id)));
    }
  }
  return CheckRequiredColumns(schema, always_there, file);
}

}  // namespace

IcebergEngine::IcebergEngine(objstore::ObjectStore& objects, const Clock& clock, Random& random,
                             Options options)
    : objects_(objects),
      random_(random),
      reader_(objects, clock),
      cache_(options.cache_bytes_max) {}

Result<MetadataPtr> IcebergEngine::Plan(const CreatePlan& plan) {
  LAKE_TRY(iceberg::TableMetadata metadata,
           iceberg::NewTableMetadata({.table_uuid = plan.incarnation,
                                      .location = plan.location,
                                      .schema = plan.schema,
                                      .properties = plan.properties,
                                      .format_version = kFormatVersion,
                                      .now = plan.now}));
  return std::make_shared<const iceberg::TableMetadata>(std::move(metadata));
}

Status IcebergEngine::Create(const CreatePlan& plan, Deadline deadline) {
  LAKE_TRY(const MetadataPtr metadata, Plan(plan));
  LAKE_TRY_VOID(PutMetadata(plan.planned_location, *metadata, deadline));
  return {};
}

Status IcebergEngine::CheckAppend(const iceberg::TableMetadata& metadata,
                                  const std::vector<iceberg::DataFile>& files, Deadline deadline) {
  LAKE_TRY_VOID(CheckTable(metadata));
  const std::string prefix = metadata.location + (metadata.location.ends_with('/') ? "" : "/");
  std::set<iceberg::FieldId> always_there;
  AddAlwaysThere(metadata.current_schema().fields(), always_there);
  std::set<std::string_view> paths;
  const iceberg::Snapshot* current = metadata.current_snapshot();
  std::int64_t rows =
      current == nullptr ? 0 : iceberg::SummaryNumber(*current, "total-records").value_or(0);
  for (const iceberg::DataFile& file : files) {
    const auto refuse = [&](std::string_view why) {
      return InvalidArgument(fmt::format("data file {}: {}", file.file_path, why));
    };
    if (file.content != iceberg::FileContent::kData ||
        file.file_format != iceberg::FileFormat::kParquet) {
      return refuse("not a Parquet data file");
    }
    if (file.record_count <= 0) {
      return refuse("it claims to hold no rows");
    }
    if (__builtin_add_overflow(rows, file.record_count, &rows)) {
      return refuse(
          fmt::format("it claims to hold {} rows, more than a table can count", file.record_count));
    }
    if (!file.equality_ids.empty() || file.referenced_data_file.has_value() ||
        file.content_offset.has_value() || file.content_size_in_bytes.has_value()) {
      return refuse("it carries what belongs to delete files");
    }
    if (file.first_row_id.has_value()) {
      return refuse("it carries row ids, which tables of format version 2 do not have");
    }
    if (!file.partition.empty()) {
      return refuse("it belongs to a partition, and the table has none");
    }
    LAKE_TRY_VOID(WithContext(CheckColumns(metadata.current_schema(), always_there, file),
                              "data file " + file.file_path));
    if (!file.file_path.starts_with(prefix)) {
      return refuse(fmt::format("it is not under the table's location {}", metadata.location));
    }
    if (!paths.insert(file.file_path).second) {
      return refuse("it is listed twice");
    }
    const Result<objstore::ObjectInfo> info = objects_.Stat(file.file_path, deadline);
    if (!info.has_value() && info.error().code() == ErrorCode::kNotFound) {
      return refuse("it does not exist");
    }
    if (!info.has_value()) {
      return std::unexpected(info.error().With("data file " + file.file_path));
    }
    if (info->size != static_cast<std::uint64_t>(file.file_size_in_bytes)) {
      return refuse(fmt::format("it has {} bytes, not {}", info->size, file.file_size_in_bytes));
    }
  }
  return {};
}

Status IcebergEngine::Append(const AppendPlan& plan, Deadline deadline) {
  LAKE_CHECK(plan.base != nullptr && !plan.files.empty(), "an append has a base and files");
  LAKE_TRY_VOID(CheckTable(*plan.base));
  const std::optional<AttemptFiles> names =
      AttemptFiles::Of(plan.planned_location, plan.snapshot_id);
  LAKE_CHECK(names.has_value(), "a planned location has the form that names the attempt's files");

  iceberg::ManifestList list{.format_version = kFormatVersion,
                             .snapshot_id = plan.snapshot_id,
                             .parent_snapshot_id = plan.base->current_snapshot_id,
                             .sequence_number = iceberg::NextSequenceNumber(*plan.base)};
  LAKE_TRY(iceberg::ManifestFile added, WriteManifest(plan, names->Manifest(0), deadline));
  list.manifests.push_back(std::move(added));
  const iceberg::Snapshot* parent = plan.base->current_snapshot();
  if (parent != nullptr) {
    LAKE_TRY(const std::vector<iceberg::ManifestFile> existing,
             reader_.ListManifests(*plan.base, *parent, deadline));
    list.manifests.insert(list.manifests.end(), existing.begin(), existing.end());
  }
  LAKE_TRY_VOID(iceberg::AssignInherited(list));
  LAKE_TRY(const std::string bytes,
           iceberg::WriteManifestList(list, iceberg::AvroCodec::kDeflate, random_));
  LAKE_TRY_VOID(objects_.PutIfAbsent(names->manifest_list(), bytes, deadline));

  iceberg::Snapshot snapshot{.snapshot_id = plan.snapshot_id,
                             .manifest_list = names->manifest_list()};
  snapshot.summary = iceberg::MakeSummary(iceberg::SnapshotOperation::kAppend,
                                          CountChanges(plan.files), parent, plan.summary);
  LAKE_TRY(iceberg::TableMetadata next,
           iceberg::AppendSnapshot(*plan.base, std::move(snapshot),
                                   {.now = plan.now, .base_location = plan.base_location}));
  LAKE_TRY_VOID(PutMetadata(plan.planned_location, std::move(next), deadline));
  return {};
}

Result<iceberg::ManifestFile> IcebergEngine::WriteManifest(const AppendPlan& plan,
                                                           const std::string& path,
                                                           Deadline deadline) {
  LAKE_TRY(iceberg::ManifestWriter writer,
           iceberg::ManifestWriter::Make({.format_version = kFormatVersion,
                                          .manifest_path = path,
                                          .schema = plan.base->current_schema(),
                                          .partition_spec = plan.base->default_spec(),
                                          .snapshot_id = plan.snapshot_id},
                                         random_));
  for (const iceberg::DataFile& file : plan.files) {
    // The sequence numbers are inherited from the manifest list.
    LAKE_TRY_VOID(writer.Append({.status = iceberg::ManifestEntryStatus::kAdded,
                                 .snapshot_id = plan.snapshot_id,
                                 .data_file = file}));
  }
  LAKE_TRY(iceberg::ManifestWriter::Finished finished, writer.Finish());
  LAKE_TRY_VOID(objects_.PutIfAbsent(path, finished.file, deadline));
  return std::move(finished.manifest);
}

Result<MetadataPtr> IcebergEngine::PutMetadata(std::string_view planned_location,
                                               iceberg::TableMetadata metadata, Deadline deadline) {
  LAKE_TRY(const std::string bytes, iceberg::WriteTableMetadata(metadata));
  LAKE_TRY_VOID(objects_.PutIfAbsent(planned_location, bytes, deadline));
  auto written = std::make_shared<const iceberg::TableMetadata>(std::move(metadata));
  cache_.Insert(planned_location, written, bytes.size());
  return written;
}

Result<MetadataPtr> IcebergEngine::Commit(const CommitPlan& plan, Deadline deadline) {
  LAKE_CHECK(plan.base != nullptr, "a commit has a base");
  LAKE_TRY(iceberg::TableMetadata next,
           iceberg::ApplyUpdates(*plan.base, plan.updates,
                                 {.now = plan.now, .base_location = plan.base_location}));
  return PutMetadata(plan.planned_location, std::move(next), deadline);
}

Status IcebergEngine::CheckFile(std::string_view location, Deadline deadline) {
  LAKE_TRY_VOID(WithContext(objects_.Stat(location, deadline), fmt::format("file {}", location)));
  return {};
}

Result<PlannedState> IcebergEngine::Reconcile(std::string_view planned_location,
                                              const Uuid& incarnation, Deadline deadline) {
  // From the store, not from the cache: whether the file is there is the question.
  std::string bytes;
  const Result<MetadataPtr> metadata = Fetch(planned_location, deadline, &bytes);
  if (!metadata.has_value()) {
    switch (metadata.error().code()) {
      case ErrorCode::kNotFound:
      case ErrorCode::kCorruption:
        return PlannedState::kAbsent;
      default:
        return std::unexpected(metadata.error());
    }
  }
  if ((*metadata)->table_uuid != incarnation) {
    return PlannedState::kAbsent;
  }
  // Its writer may have died between making it visible and making it durable. Putting the same bytes again confirms the second;
  // what the file names was complete before it was written.
  const Status confirmed = objects_.PutIfAbsent(planned_location, bytes, deadline);
  if (!confirmed.has_value() && confirmed.error().code() != ErrorCode::kAlreadyExists) {
    return std::unexpected(
        confirmed.error().With(fmt::format("metadata file {}", planned_location)));
  }
  return PlannedState::kComplete;
}

Result<MetadataPtr> IcebergEngine::Load(std::string_view metadata_location, Deadline deadline) {
  if (MetadataPtr cached = cache_.Find(metadata_location); cached != nullptr) {
    return cached;
  }
  std::string bytes;
  return Fetch(metadata_location, deadline, &bytes);
}

Result<MetadataPtr> IcebergEngine::Fetch(std::string_view metadata_location, Deadline deadline,
                                         std::string* bytes) {
  const std::string what = fmt::format("metadata file {}", metadata_location);
  LAKE_TRY(*bytes,
           WithContext(objects_.Get(metadata_location, iceberg::kTableMetadataBytesMax, deadline),
                       what));
  Result<iceberg::TableMetadata> parsed = iceberg::ParseTableMetadata(*bytes);
  if (!parsed.has_value()) {
    const ErrorCode code = parsed.error().code() == ErrorCode::kInvalidArgument
                               ? ErrorCode::kCorruption
                               : parsed.error().code();
    return std::unexpected(Error(code, parsed.error().message()).With(what));
  }
  auto metadata = std::make_shared<const iceberg::TableMetadata>(*std::move(parsed));
  cache_.Insert(metadata_location, metadata, bytes->size());
  return metadata;
}

Status IcebergEngine::RemoveAttempt(std::string_view planned_location,
                                    iceberg::SnapshotId snapshot_id, Deadline deadline) {
  std::vector<std::string> paths = {std::string(planned_location)};
  if (const auto files = AttemptFiles::Of(planned_location, snapshot_id); files.has_value()) {
    std::ranges::move(files->All(), std::back_inserter(paths));
  }
  return objects_.Delete(paths, deadline);
}

Result<TableRemoval> IcebergEngine::StartRemoval(RemovalPlan plan) {
  return TableRemoval::Start(objects_, std::move(plan));
}

}  // namespace lake::engine
