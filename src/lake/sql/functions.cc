#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lake/catalog/names.h"
#include "lake/sql/catalog_internal.h"
#include "lake/sql/column_statistics_internal.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/functions_internal.h"
#include "lake/sql/table_version_internal.h"
#include "lake/sql/transaction_internal.h"
#include "lake/sql/type_mapping_internal.h"

namespace lake::sql {
namespace {

using duckdb::LogicalType;
using duckdb::Value;

using Row = std::vector<Value>;

struct Column {
  std::string name;
  LogicalType type;
};

// All rows of a function's answer; they are few, and known when the statement is bound.
struct Answer final : duckdb::TableFunctionData {
  std::vector<Row> rows;
};

struct Progress final : duckdb::GlobalTableFunctionState {
  std::size_t next = 0;
};

Value BigInt(std::optional<std::int64_t> value) {
  return value.has_value() ? Value::BIGINT(*value) : Value(LogicalType::BIGINT);
}

Value Integer(std::optional<std::int32_t> value) {
  return value.has_value() ? Value::INTEGER(*value) : Value(LogicalType::INTEGER);
}

Value Text(const std::optional<std::string>& value) {
  return value.has_value() ? Value(*value) : Value(LogicalType::VARCHAR);
}

Value Moment(WallTime time) {
  return Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count()));
}

Value TextMap(const iceberg::Properties& properties) {
  duckdb::vector<Value> keys;
  duckdb::vector<Value> values;
  for (const auto& [key, value] : properties) {
    keys.emplace_back(key);
    values.emplace_back(value);
  }
  return Value::MAP(LogicalType::VARCHAR, LogicalType::VARCHAR, std::move(keys), std::move(values));
}

Value CountMap(const iceberg::ColumnMap<std::int64_t>& counts) {
  duckdb::vector<Value> keys;
  duckdb::vector<Value> values;
  for (const auto& [id, count] : counts) {
    keys.push_back(Value::INTEGER(static_cast<std::int32_t>(id)));
    values.push_back(Value::BIGINT(count));
  }
  return Value::MAP(LogicalType::INTEGER, LogicalType::BIGINT, std::move(keys), std::move(values));
}

// Shows bounds as SQL prints the values; one that cannot be read is left out.
Value BoundMap(const iceberg::Schema& schema, const iceberg::ColumnMap<std::string>& bounds) {
  duckdb::vector<Value> keys;
  duckdb::vector<Value> values;
  for (const auto& [id, bound] : bounds) {
    const iceberg::NestedField* field = schema.FindField(id);
    if (field == nullptr) {
      continue;
    }
    const auto value = iceberg::DecodeValue(field->type, bound);
    if (!value.has_value() || !ToDuckDbType(field->type).has_value()) {
      continue;
    }
    keys.push_back(Value::INTEGER(static_cast<std::int32_t>(id)));
    values.emplace_back(ToDuckDbValue(field->type, *value).ToString());
  }
  return Value::MAP(LogicalType::INTEGER, LogicalType::VARCHAR, std::move(keys), std::move(values));
}

// What a call is about.
struct Subject {
  std::shared_ptr<const PinnedTable> table;
  TableVersion version;
};

Result<TableVersion> NamedVersion(const iceberg::TableMetadata& metadata, const Value& version) {
  if (version.type().IsIntegral()) {
    return VersionOfSnapshot(metadata, iceberg::SnapshotId{version.GetValue<std::int64_t>()});
  }
  return VersionOfRef(metadata, version.ToString());
}

Result<Subject> FindSubject(duckdb::ClientContext& context,
                            const duckdb::TableFunctionBindInput& input) {
  if (input.inputs[0].IsNull()) {
    return InvalidArgument("the name of the table is null");
  }
  LAKE_TRY(const auto name, catalog::ParseTableName(duckdb::StringValue::Get(input.inputs[0])));
  auto& lake = duckdb::Catalog::GetCatalog(context, kCatalogName);
  Subject subject;
  LAKE_TRY(subject.table, LakeTransaction::Get(context, lake).FindTable(name.ns, name.name));
  if (subject.table == nullptr) {
    return NotFound("there is no table " + name.ToString());
  }
  subject.version = CurrentVersion(subject.table->metadata());
  const auto version = input.named_parameters.find("version");
  if (version != input.named_parameters.end() && !version->second.IsNull()) {
    LAKE_TRY(subject.version, WithContext(NamedVersion(subject.table->metadata(), version->second),
                                          "table " + name.ToString()));
  }
  return subject;
}

std::vector<Column> SnapshotColumns() {
  return {{"committed_at", LogicalType::TIMESTAMP_TZ},
          {"snapshot_id", LogicalType::BIGINT},
          {"parent_id", LogicalType::BIGINT},
          {"sequence_number", LogicalType::BIGINT},
          {"operation", LogicalType::VARCHAR},
          {"schema_id", LogicalType::INTEGER},
          {"is_current", LogicalType::BOOLEAN},
          {"refs", LogicalType::LIST(LogicalType::VARCHAR)},
          {"manifest_list", LogicalType::VARCHAR},
          {"summary", LogicalType::MAP(LogicalType::VARCHAR, LogicalType::VARCHAR)}};
}

Result<std::vector<Row>> SnapshotRows(const Subject& subject) {
  const iceberg::TableMetadata& metadata = subject.table->metadata();
  std::vector<const iceberg::Snapshot*> snapshots;
  for (const iceberg::Snapshot& snapshot : metadata.snapshots) {
    snapshots.push_back(&snapshot);
  }
  std::ranges::stable_sort(snapshots, {}, [](const auto* snapshot) {
    return std::pair(snapshot->sequence_number, snapshot->timestamp);
  });
  std::vector<Row> rows;
  for (const iceberg::Snapshot* snapshot : snapshots) {
    duckdb::vector<Value> refs;
    for (const auto& [name, ref] : metadata.refs) {
      if (ref.snapshot_id == snapshot->snapshot_id) {
        refs.emplace_back(name);
      }
    }
    iceberg::Properties summary = snapshot->summary;
    const auto operation = summary.extract("operation");
    const auto id = [](std::optional<iceberg::SnapshotId> value) {
      return value.has_value() ? BigInt(std::to_underlying(*value)) : BigInt(std::nullopt);
    };
    rows.push_back({Moment(snapshot->timestamp), id(snapshot->snapshot_id),
                    id(snapshot->parent_snapshot_id), Value::BIGINT(snapshot->sequence_number),
                    operation.empty() ? Text(std::nullopt) : Value(operation.mapped()),
                    snapshot->schema_id.has_value()
                        ? Integer(std::to_underlying(*snapshot->schema_id))
                        : Integer(std::nullopt),
                    Value::BOOLEAN(metadata.current_snapshot_id == snapshot->snapshot_id),
                    Value::LIST(LogicalType::VARCHAR, std::move(refs)),
                    Value(snapshot->manifest_list), TextMap(summary)});
  }
  return rows;
}

std::vector<Column> ManifestColumns() {
  return {{"content", LogicalType::VARCHAR},          {"manifest_path", LogicalType::VARCHAR},
          {"manifest_length", LogicalType::BIGINT},   {"partition_spec_id", LogicalType::INTEGER},
          {"sequence_number", LogicalType::BIGINT},   {"min_sequence_number", LogicalType::BIGINT},
          {"added_snapshot_id", LogicalType::BIGINT}, {"added_files", LogicalType::INTEGER},
          {"existing_files", LogicalType::INTEGER},   {"deleted_files", LogicalType::INTEGER},
          {"added_rows", LogicalType::BIGINT},        {"existing_rows", LogicalType::BIGINT},
          {"deleted_rows", LogicalType::BIGINT}};
}

Result<std::vector<iceberg::ManifestFile>> Manifests(const Subject& subject) {
  if (subject.version.snapshot == nullptr) {
    return std::vector<iceberg::ManifestFile>();
  }
  return subject.table->source->ListManifests(subject.table->metadata(), *subject.version.snapshot);
}

Result<std::vector<Row>> ManifestRows(const Subject& subject) {
  LAKE_TRY(const auto manifests, Manifests(subject));
  std::vector<Row> rows;
  for (const iceberg::ManifestFile& manifest : manifests) {
    rows.push_back({Value(manifest.content == iceberg::ManifestContent::kData ? "data" : "deletes"),
                    Value(manifest.manifest_path), Value::BIGINT(manifest.manifest_length),
                    Value::INTEGER(std::to_underlying(manifest.partition_spec_id)),
                    BigInt(manifest.sequence_number), BigInt(manifest.min_sequence_number),
                    Value::BIGINT(std::to_underlying(manifest.added_snapshot_id)),
                    Integer(manifest.added_files_count), Integer(manifest.existing_files_count),
                    Integer(manifest.deleted_files_count), BigInt(manifest.added_rows_count),
                    BigInt(manifest.existing_rows_count), BigInt(manifest.deleted_rows_count)});
  }
  return rows;
}

std::vector<Column> FileColumns() {
  const auto counts = LogicalType::MAP(LogicalType::INTEGER, LogicalType::BIGINT);
  const auto bounds = LogicalType::MAP(LogicalType::INTEGER, LogicalType::VARCHAR);
  return {{"content", LogicalType::VARCHAR},
          {"file_path", LogicalType::VARCHAR},
          {"file_format", LogicalType::VARCHAR},
          {"partition_spec_id", LogicalType::INTEGER},
          {"record_count", LogicalType::BIGINT},
          {"file_size_in_bytes", LogicalType::BIGINT},
          {"snapshot_id", LogicalType::BIGINT},
          {"sequence_number", LogicalType::BIGINT},
          {"column_sizes", counts},
          {"value_counts", counts},
          {"null_value_counts", counts},
          {"nan_value_counts", counts},
          {"lower_bounds", bounds},
          {"upper_bounds", bounds},
          {"split_offsets", LogicalType::LIST(LogicalType::BIGINT)}};
}

const char* ContentName(iceberg::FileContent content) {
  switch (content) {
    case iceberg::FileContent::kData:
      return "data";
    case iceberg::FileContent::kPositionDeletes:
      return "position deletes";
    case iceberg::FileContent::kEqualityDeletes:
      return "equality deletes";
  }
  return "unknown";
}

Result<std::vector<Row>> FileRows(const Subject& subject) {
  const iceberg::TableMetadata& metadata = subject.table->metadata();
  LAKE_TRY(const auto manifests, Manifests(subject));
  std::vector<Row> rows;
  for (const iceberg::ManifestFile& manifest : manifests) {
    LAKE_TRY(const auto entries, subject.table->source->ListLiveEntries(metadata, manifest));
    for (const iceberg::ManifestEntry& entry : entries) {
      const iceberg::DataFile& file = entry.data_file;
      duckdb::vector<Value> offsets;
      for (const std::int64_t offset : file.split_offsets) {
        offsets.push_back(Value::BIGINT(offset));
      }
      rows.push_back({Value(ContentName(file.content)), Value(file.file_path),
                      Value(std::string(iceberg::FileFormatName(file.file_format))),
                      Value::INTEGER(std::to_underlying(manifest.partition_spec_id)),
                      Value::BIGINT(file.record_count), Value::BIGINT(file.file_size_in_bytes),
                      entry.snapshot_id.has_value() ? BigInt(std::to_underlying(*entry.snapshot_id))
                                                    : BigInt(std::nullopt),
                      BigInt(entry.sequence_number), CountMap(file.column_sizes),
                      CountMap(file.value_counts), CountMap(file.null_value_counts),
                      CountMap(file.nan_value_counts),
                      BoundMap(*subject.version.schema, file.lower_bounds),
                      BoundMap(*subject.version.schema, file.upper_bounds),
                      Value::LIST(LogicalType::BIGINT, std::move(offsets))});
    }
  }
  return rows;
}

// The bind function of one of the three: DuckDB takes plain functions only.
template <std::vector<Column> (*kColumns)(), Result<std::vector<Row>> (*kRows)(const Subject&)>
duckdb::unique_ptr<duckdb::FunctionData> Bind(duckdb::ClientContext& context,
                                              duckdb::TableFunctionBindInput& input,
                                              duckdb::vector<LogicalType>& types,
                                              duckdb::vector<std::string>& names) {
  for (Column& column : kColumns()) {
    names.push_back(std::move(column.name));
    types.push_back(std::move(column.type));
  }
  const auto subject = FindSubject(context, input);
  if (!subject.has_value()) {
    ThrowWhileBinding(subject.error());
  }
  auto rows = kRows(*subject);
  if (!rows.has_value()) {
    ThrowWhileBinding(rows.error().With("table " + subject->table->name.ToString()));
  }
  auto answer = duckdb::make_uniq<Answer>();
  answer->rows = std::move(*rows);
  return answer;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext& /*context*/,
                                                          duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<Progress>();
}

void Emit(duckdb::ClientContext& /*context*/, duckdb::TableFunctionInput& input,
          duckdb::DataChunk& output) {
  const auto& rows = input.bind_data->Cast<Answer>().rows;
  auto& progress = input.global_state->Cast<Progress>();
  duckdb::idx_t count = 0;
  for (; progress.next < rows.size() && count < STANDARD_VECTOR_SIZE; ++progress.next, ++count) {
    const Row& row = rows[progress.next];
    for (duckdb::idx_t column = 0; column < row.size(); ++column) {
      output.SetValue(column, count, row[column]);
    }
  }
  output.SetCardinality(count);
}

void Register(duckdb::DatabaseInstance& database, const std::string& name,
              duckdb::table_function_bind_t bind, bool versioned) {
  duckdb::TableFunction function(name, {LogicalType::VARCHAR}, Emit, bind, Init);
  if (versioned) {
    function.named_parameters["version"] = LogicalType::ANY;
  }
  duckdb::CreateTableFunctionInfo info(std::move(function));
  auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  duckdb::Catalog::GetSystemCatalog(database).CreateTableFunction(transaction, info);
}

}  // namespace

void RegisterFunctions(duckdb::DatabaseInstance& database) {
  Register(database, "lake_snapshots", Bind<SnapshotColumns, SnapshotRows>, false);
  Register(database, "lake_manifests", Bind<ManifestColumns, ManifestRows>, true);
  Register(database, "lake_files", Bind<FileColumns, FileRows>, true);
}

}  // namespace lake::sql
