#include <utility>

#include <boost/json.hpp>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/statistics_file.h"
#include "lake/iceberg/table_parts_json_internal.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

Result<BlobMetadata> ReadBlob(const bj::object& object) {
  BlobMetadata blob;
  LAKE_TRY(blob.type, json::GetString(object, "type"));
  LAKE_TRY(blob.snapshot_id, GetId<SnapshotId>(object, "snapshot-id"));
  LAKE_TRY(blob.sequence_number, json::GetInt(object, "sequence-number"));
  LAKE_TRY_VOID(json::GetArray(object, "fields"));
  LAKE_TRY(blob.fields, GetIds<FieldId>(object, "fields"));
  LAKE_TRY(blob.properties, GetProperties(object, "properties"));
  blob.unknown =
      CollectUnknown(object, {"type", "snapshot-id", "sequence-number", "fields", "properties"});
  return blob;
}

bj::object WriteBlob(const BlobMetadata& blob) {
  bj::object object;
  object["type"] = blob.type;
  object["snapshot-id"] = std::to_underlying(blob.snapshot_id);
  object["sequence-number"] = blob.sequence_number;
  object["fields"] = WriteIds(blob.fields);
  if (!blob.properties.empty()) {
    object["properties"] = WriteProperties(blob.properties);
  }
  AddUnknown(object, blob.unknown);
  return object;
}

}  // namespace

Result<StatisticsFile> ReadStatisticsFile(const bj::object& object) {
  StatisticsFile file;
  LAKE_TRY(file.snapshot_id, GetId<SnapshotId>(object, "snapshot-id"));
  LAKE_TRY(file.statistics_path, json::GetString(object, "statistics-path"));
  LAKE_TRY(file.file_size_in_bytes, json::GetInt(object, "file-size-in-bytes"));
  LAKE_TRY(file.file_footer_size_in_bytes, json::GetInt(object, "file-footer-size-in-bytes"));
  LAKE_TRY(file.key_metadata, json::GetOptionalString(object, "key-metadata"));
  LAKE_TRY_VOID(json::GetArray(object, "blob-metadata"));
  LAKE_TRY(file.blob_metadata, GetList(object, "blob-metadata", ReadBlob));
  file.unknown =
      CollectUnknown(object, {"snapshot-id", "statistics-path", "file-size-in-bytes",
                              "file-footer-size-in-bytes", "key-metadata", "blob-metadata"});
  return file;
}

bj::object WriteStatisticsFileObject(const StatisticsFile& file) {
  bj::object object;
  object["snapshot-id"] = std::to_underlying(file.snapshot_id);
  object["statistics-path"] = file.statistics_path;
  object["file-size-in-bytes"] = file.file_size_in_bytes;
  object["file-footer-size-in-bytes"] = file.file_footer_size_in_bytes;
  AddOptional(object, "key-metadata", file.key_metadata);
  object["blob-metadata"] = WriteList(file.blob_metadata, WriteBlob);
  AddUnknown(object, file.unknown);
  return object;
}

Result<PartitionStatisticsFile> ReadPartitionStatisticsFile(const bj::object& object) {
  PartitionStatisticsFile file;
  LAKE_TRY(file.snapshot_id, GetId<SnapshotId>(object, "snapshot-id"));
  LAKE_TRY(file.statistics_path, json::GetString(object, "statistics-path"));
  LAKE_TRY(file.file_size_in_bytes, json::GetInt(object, "file-size-in-bytes"));
  file.unknown = CollectUnknown(object, {"snapshot-id", "statistics-path", "file-size-in-bytes"});
  return file;
}

bj::object WritePartitionStatisticsFileObject(const PartitionStatisticsFile& file) {
  bj::object object;
  object["snapshot-id"] = std::to_underlying(file.snapshot_id);
  object["statistics-path"] = file.statistics_path;
  object["file-size-in-bytes"] = file.file_size_in_bytes;
  AddUnknown(object, file.unknown);
  return object;
}

}  // namespace lake::iceberg
