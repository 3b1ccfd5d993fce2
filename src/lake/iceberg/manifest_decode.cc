#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/column_map.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_decode_internal.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/manifest_plan_internal.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"
#include "lake/iceberg/value_bounds.h"

namespace lake::iceberg {
namespace {

using Field = ManifestField;

// Adds to a list, within kManifestItemsMax.
template <typename T, typename... Arguments>
void Add(AvroInput& in, std::vector<T>& list, Arguments&&... arguments) {
  if (list.size() >= kManifestItemsMax) [[unlikely]] {
    in.Fail("a list or map has too many items");
    return;
  }
  list.emplace_back(std::forward<Arguments>(arguments)...);
}

std::size_t ItemBytesMin(const AvroNode& item) {
  return std::max<std::size_t>(item.bytes_min, 1);
}

// Walks the entries of a map stored as key-value records in whatever layout. `set` gets the key and
// must read the value, whose stored type it also gets. Values that are null are left out. A key that
// is stored behind its value costs a second look at the value.
template <typename Set>
void ReadMapEntry(AvroInput& in, const PlannedField& planned, Set&& set) {
  std::optional<std::int32_t> key;
  std::optional<AvroInput> value;
  const std::vector<AvroField>& fields = planned.entry->fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i == planned.entry_key) {
      if (EnterAvroSlot(in, planned.inner_key) == nullptr) {
        in.Fail("a map has a null key");
        return;
      }
      key = in.ReadInt();
      continue;
    }
    if (i == planned.entry_value) {
      value = in;
    }
    SkipAvro(in, *fields[i].type);
    if (!in.ok()) {
      return;
    }
  }
  if (!key.has_value() || !value.has_value()) {
    return;
  }
  if (const AvroNode* type = EnterAvroSlot(*value, planned.inner_value)) {
    set(*key, *value, *type);
  }
}

void ReadLongMap(AvroInput& in, const PlannedField& planned, ColumnMap<std::int64_t>& map) {
  auto entries = std::move(map).Release();
  entries.clear();
  ReadAvroItems(in, ItemBytesMin(*planned.entry), [&] {
    if (planned.entry_plain) [[likely]] {
      const FieldId id{in.ReadInt()};
      Add(in, entries, id, in.ReadLong());
      return;
    }
    ReadMapEntry(in, planned, [&](std::int32_t key, AvroInput& value, const AvroNode&) {
      Add(in, entries, FieldId{key}, value.ReadLong());
    });
  });
  map = ColumnMap<std::int64_t>(std::move(entries));
}

void ReadBytesMap(AvroInput& in, const PlannedField& planned, ColumnMap<std::string>& map) {
  auto entries = std::move(map).Release();
  // Strings that are there already are overwritten in place.
  std::size_t size = 0;
  const auto set = [&](std::int32_t key, std::string_view bytes) {
    if (size < entries.size()) {
      entries[size].first = FieldId{key};
      entries[size].second.assign(bytes);
    } else {
      Add(in, entries, FieldId{key}, std::string(bytes));
    }
    ++size;
  };
  ReadAvroItems(in, ItemBytesMin(*planned.entry), [&] {
    if (planned.entry_plain) [[likely]] {
      const std::int32_t key = in.ReadInt();
      set(key, ReadAvroText(in, *planned.inner_value.type));
      return;
    }
    ReadMapEntry(in, planned, [&](std::int32_t key, AvroInput& value, const AvroNode& type) {
      set(key, ReadAvroText(value, type));
    });
  });
  entries.resize(std::min(size, entries.size()));
  map = ColumnMap<std::string>(std::move(entries));
}

// Walks a list of numbers.
template <typename Item>
void ReadNumbers(AvroInput& in, const PlannedField& planned, Item&& item) {
  ReadAvroItems(in, ItemBytesMin(planned.slot.type->item()), [&] {
    if (EnterAvroSlot(in, planned.inner_value) == nullptr) {
      in.Fail("a list of numbers has a null");
      return;
    }
    item();
  });
}

void ReadText(AvroInput& in, const AvroNode& type, std::string& text) {
  const std::string_view stored = ReadAvroText(in, type);
  if (!IsUtf8(stored)) [[unlikely]] {
    in.Fail("a string is not UTF-8");
    return;
  }
  text.assign(stored);
}

void ReadBytes(AvroInput& in, const AvroNode& type, std::optional<std::string>& bytes) {
  const std::string_view stored = ReadAvroText(in, type);
  if (bytes.has_value()) {
    bytes->assign(stored);
  } else {
    bytes.emplace(stored);
  }
}

std::int64_t ReadCount(AvroInput& in) {
  const std::int64_t count = in.ReadLong();
  if (count < 0) [[unlikely]] {
    in.Fail("a count or size is negative");
  }
  return count;
}

// Reads one of the enumerations that the format stores as numbers from 0 to `last`.
template <typename Enum>
Enum ReadEnum(AvroInput& in, Enum last) {
  const std::int32_t number = in.ReadInt();
  if (number < 0 || number > std::to_underlying(last)) [[unlikely]] {
    in.Fail("a status or content is not one of the specification's");
    return last;
  }
  return Enum{number};
}

FileFormat ReadFileFormat(AvroInput& in, const AvroNode& type) {
  const std::string_view name = ReadAvroText(in, type);
  if (name == "PARQUET") {
    return FileFormat::kParquet;
  }
  const Result<FileFormat> format = ParseFileFormat(name);
  if (!format.has_value()) {
    in.Fail("a file format is none of avro, orc, parquet and puffin");
    return FileFormat::kParquet;
  }
  return *format;
}

void Reset(ManifestEntry& entry, Field field) {
  switch (field) {
    case Field::kSnapshotId:
      entry.snapshot_id.reset();
      return;
    case Field::kSequenceNumber:
      entry.sequence_number.reset();
      return;
    case Field::kFileSequenceNumber:
      entry.file_sequence_number.reset();
      return;
    default:
      return;  // Required ones are never reset.
  }
}

void Reset(DataFile& file, Field field) {
  switch (field) {
    case Field::kContent:
      file.content = FileContent::kData;
      return;
    case Field::kPartition:
      std::ranges::fill(file.partition, Value());
      return;
    case Field::kColumnSizes:
      file.column_sizes.Clear();
      return;
    case Field::kValueCounts:
      file.value_counts.Clear();
      return;
    case Field::kNullValueCounts:
      file.null_value_counts.Clear();
      return;
    case Field::kNanValueCounts:
      file.nan_value_counts.Clear();
      return;
    case Field::kLowerBounds:
      file.lower_bounds.Clear();
      return;
    case Field::kUpperBounds:
      file.upper_bounds.Clear();
      return;
    case Field::kKeyMetadata:
      file.key_metadata.reset();
      return;
    case Field::kSplitOffsets:
      file.split_offsets.clear();
      return;
    case Field::kEqualityIds:
      file.equality_ids.clear();
      return;
    case Field::kSortOrderId:
      file.sort_order_id.reset();
      return;
    case Field::kFirstRowId:
      file.first_row_id.reset();
      return;
    case Field::kReferencedDataFile:
      file.referenced_data_file.reset();
      return;
    case Field::kContentOffset:
      file.content_offset.reset();
      return;
    case Field::kContentSizeInBytes:
      file.content_size_in_bytes.reset();
      return;
    default:
      return;  // Required ones are never reset.
  }
}

// Calls `read` for each planned field that has a value, and `reset` for each that is null.
template <typename Read, typename ResetField>
void DecodeRecord(AvroInput& in, const RecordPlan& plan, Read&& read, ResetField&& reset) {
  for (const PlannedField& planned : plan) {
    if (planned.skip) {
      SkipAvro(in, *planned.slot.type);
    } else if (const AvroNode* type = EnterAvroSlot(in, planned.slot)) {
      read(planned, *type);
    } else if (planned.required) {
      in.Fail("a required field is null");
    } else {
      reset(planned.field);
    }
    if (!in.ok()) [[unlikely]] {
      return;
    }
  }
}

// Finds the record inside `field` of a plan; nullptr if the plan lacks the field.
Result<const AvroNode*> InnerRecord(const RecordPlan& plan, Field field, std::string_view what) {
  const auto found = std::ranges::find_if(plan, [field](const PlannedField& planned) {
    return !planned.skip && planned.field == field;
  });
  if (found == plan.end()) {
    return nullptr;
  }
  return RecordOf(found->slot, what);
}

}  // namespace

Result<ManifestEntryDecoder> ManifestEntryDecoder::Plan(const AvroNode& schema,
                                                        const Type& partition_type,
                                                        const std::vector<bool>& void_fields) {
  ManifestEntryDecoder decoder;
  LAKE_TRY(decoder.entry_, PlanRecord(schema, ManifestEntryFields(), "manifest_entry"));
  decoder.entry_absent_ = AbsentFields(decoder.entry_, ManifestEntryFields());
  LAKE_TRY(const AvroNode* data_file, InnerRecord(decoder.entry_, Field::kDataFile, "data_file"));
  LAKE_TRY(decoder.data_file_, PlanRecord(*data_file, DataFileFields(), "data_file"));
  decoder.data_file_absent_ = AbsentFields(decoder.data_file_, DataFileFields());
  LAKE_TRY(const AvroNode* partition,
           InnerRecord(decoder.data_file_, Field::kPartition, "partition"));
  LAKE_TRY(decoder.partition_, PlanPartition(partition, partition_type, void_fields));
  decoder.bytes_min_ = ItemBytesMin(schema);
  return decoder;
}

void ManifestEntryDecoder::Decode(AvroInput& in, ManifestEntry& entry) const {
  for (const Field field : entry_absent_) {
    Reset(entry, field);
  }
  DecodeRecord(
      in, entry_,
      [&](const PlannedField& planned, const AvroNode&) {
        switch (planned.field) {
          case Field::kStatus:
            entry.status = ReadEnum(in, ManifestEntryStatus::kDeleted);
            return;
          case Field::kSnapshotId:
            entry.snapshot_id = SnapshotId{in.ReadLong()};
            return;
          case Field::kSequenceNumber:
            entry.sequence_number = in.ReadLong();
            return;
          case Field::kFileSequenceNumber:
            entry.file_sequence_number = in.ReadLong();
            return;
          case Field::kDataFile:
            DecodeDataFile(in, entry.data_file);
            return;
          default:
            in.Fail("a field is not part of manifest_entry");
            return;
        }
      },
      [&](Field field) { Reset(entry, field); });
}

void ManifestEntryDecoder::DecodeDataFile(AvroInput& in, DataFile& file) const {
  file.partition.resize(partition_.type.fields().size());
  for (const Field field : data_file_absent_) {
    Reset(file, field);
  }
  DecodeRecord(
      in, data_file_,
      [&](const PlannedField& planned, const AvroNode& type) {
        switch (planned.field) {
          case Field::kContent:
            file.content = ReadEnum(in, FileContent::kEqualityDeletes);
            return;
          case Field::kFilePath:
            ReadText(in, type, file.file_path);
            return;
          case Field::kFileFormat:
            file.file_format = ReadFileFormat(in, type);
            return;
          case Field::kPartition:
            DecodePartition(in, file.partition);
            return;
          case Field::kRecordCount:
            file.record_count = ReadCount(in);
            return;
          case Field::kFileSizeInBytes:
            file.file_size_in_bytes = ReadCount(in);
            return;
          case Field::kColumnSizes:
            ReadLongMap(in, planned, file.column_sizes);
            return;
          case Field::kValueCounts:
            ReadLongMap(in, planned, file.value_counts);
            return;
          case Field::kNullValueCounts:
            ReadLongMap(in, planned, file.null_value_counts);
            return;
          case Field::kNanValueCounts:
            ReadLongMap(in, planned, file.nan_value_counts);
            return;
          case Field::kLowerBounds:
            ReadBytesMap(in, planned, file.lower_bounds);
            return;
          case Field::kUpperBounds:
            ReadBytesMap(in, planned, file.upper_bounds);
            return;
          case Field::kKeyMetadata:
            ReadBytes(in, type, file.key_metadata);
            return;
          case Field::kSplitOffsets:
            file.split_offsets.clear();
            ReadNumbers(in, planned, [&] { Add(in, file.split_offsets, in.ReadLong()); });
            return;
          case Field::kEqualityIds:
            file.equality_ids.clear();
            ReadNumbers(in, planned, [&] { Add(in, file.equality_ids, FieldId{in.ReadInt()}); });
            return;
          case Field::kSortOrderId:
            file.sort_order_id = SortOrderId{in.ReadInt()};
            return;
          case Field::kFirstRowId:
            file.first_row_id = ReadCount(in);
            return;
          case Field::kReferencedDataFile:
            if (!file.referenced_data_file.has_value()) {
              file.referenced_data_file.emplace();
            }
            ReadText(in, type, *file.referenced_data_file);
            return;
          case Field::kContentOffset:
            file.content_offset = ReadCount(in);
            return;
          case Field::kContentSizeInBytes:
            file.content_size_in_bytes = ReadCount(in);
            return;
          default:
            in.Fail("a field is not part of data_file");
            return;
        }
      },
      [&](Field field) { Reset(file, field); });
}

void ManifestEntryDecoder::DecodePartition(AvroInput& in, std::vector<Value>& partition) const {
  std::ranges::fill(partition, Value());
  for (const PlannedPartitionField& planned : partition_.fields) {
    if (planned.skip) {
      SkipAvro(in, *planned.slot.type);
    } else if (const AvroNode* type = EnterAvroSlot(in, planned.slot)) {
      partition[planned.position] = ReadPartitionValue(in, *type, planned.type);
    }
    if (!in.ok()) {
      return;
    }
  }
}

Result<ManifestFileDecoder> ManifestFileDecoder::Plan(const AvroNode& schema) {
  ManifestFileDecoder decoder;
  LAKE_TRY(decoder.manifest_, PlanRecord(schema, ManifestFileFields(), "manifest_file"));
  for (const PlannedField& planned : decoder.manifest_) {
    if (planned.skip || planned.field != Field::kPartitions ||
        planned.slot.presence == AvroSlot::Presence::kUnion) {
      continue;
    }
    LAKE_TRY(const AvroNode* summary, RecordOf(planned.inner_value, "partitions"));
    LAKE_TRY(decoder.summary_, PlanRecord(*summary, FieldSummaryFields(), "field_summary"));
  }
  decoder.bytes_min_ = ItemBytesMin(schema);
  return decoder;
}

void ManifestFileDecoder::Decode(AvroInput& in, ManifestFile& manifest) const {
  // Lists are short; their entries start afresh.
  manifest = ManifestFile();
  // What version 1 leaves out.
  manifest.sequence_number = 0;
  manifest.min_sequence_number = 0;
  DecodeRecord(
      in, manifest_,
      [&](const PlannedField& planned, const AvroNode& type) {
        switch (planned.field) {
          case Field::kManifestPath:
            ReadText(in, type, manifest.manifest_path);
            return;
          case Field::kManifestLength:
            manifest.manifest_length = ReadCount(in);
            return;
          case Field::kPartitionSpecId:
            manifest.partition_spec_id = PartitionSpecId{in.ReadInt()};
            return;
          case Field::kManifestContent:
            manifest.content = ReadEnum(in, ManifestContent::kDeletes);
            return;
          case Field::kManifestSequenceNumber:
            manifest.sequence_number = in.ReadLong();
            return;
          case Field::kMinSequenceNumber:
            manifest.min_sequence_number = in.ReadLong();
            return;
          case Field::kAddedSnapshotId:
            manifest.added_snapshot_id = SnapshotId{in.ReadLong()};
            return;
          case Field::kAddedFilesCount:
            manifest.added_files_count = in.ReadInt();
            return;
          case Field::kExistingFilesCount:
            manifest.existing_files_count = in.ReadInt();
            return;
          case Field::kDeletedFilesCount:
            manifest.deleted_files_count = in.ReadInt();
            return;
          case Field::kAddedRowsCount:
            manifest.added_rows_count = in.ReadLong();
            return;
          case Field::kExistingRowsCount:
            manifest.existing_rows_count = in.ReadLong();
            return;
          case Field::kDeletedRowsCount:
            manifest.deleted_rows_count = in.ReadLong();
            return;
          case Field::kPartitions:
            DecodeSummaries(in, planned, manifest.partitions);
            return;
          case Field::kManifestKeyMetadata:
            ReadBytes(in, type, manifest.key_metadata);
            return;
          case Field::kManifestFirstRowId:
            manifest.first_row_id = ReadCount(in);
            return;
          default:
            in.Fail("a field is not part of manifest_file");
            return;
        }
      },
      [](Field) {});
}

void ManifestFileDecoder::DecodeSummaries(AvroInput& in, const PlannedField& planned,
                                          std::vector<FieldSummary>& summaries) const {
  ReadAvroItems(in, ItemBytesMin(planned.slot.type->item()), [&] {
    if (EnterAvroSlot(in, planned.inner_value) == nullptr) {
      in.Fail("a partition summary is null");
      return;
    }
    Add(in, summaries);
    if (!in.ok()) {
      return;
    }
    FieldSummary& summary = summaries.back();
    DecodeRecord(
        in, summary_,
        [&](const PlannedField& field, const AvroNode& type) {
          switch (field.field) {
            case Field::kContainsNull:
              summary.contains_null = in.ReadBoolean();
              return;
            case Field::kContainsNan:
              summary.contains_nan = in.ReadBoolean();
              return;
            case Field::kSummaryLowerBound:
              ReadBytes(in, type, summary.lower_bound);
              return;
            case Field::kSummaryUpperBound:
              ReadBytes(in, type, summary.upper_bound);
              return;
            default:
              in.Fail("a field is not part of field_summary");
              return;
          }
        },
        [](Field) {});
  });
}

}  // namespace lake::iceberg
