#include <exception>
#include <string>
#include <utility>

#include "lake/base/check.h"
#include "lake/sql/column_definitions_internal.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/file_list_internal.h"
#include "lake/sql/object_file_system_internal.h"
#include "lake/sql/scan_internal.h"
#include "lake/sql/scan_reader_internal.h"

namespace lake::sql {
namespace {

// Carries the target from the table function to the reader that DuckDB makes while binding it.
struct ScanInfo final : duckdb::TableFunctionInfo {
  explicit ScanInfo(std::shared_ptr<const ScanTarget> scanned) : target(std::move(scanned)) {}

  const std::shared_ptr<const ScanTarget> target;
};

duckdb::unique_ptr<duckdb::MultiFileReader> MakeReader(const duckdb::TableFunction& function) {
  return duckdb::make_uniq<LakeReader>(static_cast<ScanInfo&>(*function.function_info).target);
}

const ScanTarget& TargetOf(duckdb::optional_ptr<const duckdb::FunctionData> bind_data) {
  return bind_data->Cast<duckdb::MultiFileBindData>()
      .multi_file_reader->Cast<LakeReader>()
      .target();
}

// Says of an error that comes out of DuckDB's Parquet reader that the file is damaged, and which one. What is Lake's own error,
// or no fault of a file, passes as it is.
[[noreturn]] void Blame(const ScanTarget& target, const std::exception& exception,
                        const duckdb::LocalTableFunctionState* state) {
  const duckdb::ErrorData error(exception);
  const bool of_bytes = error.Type() == duckdb::ExceptionType::INVALID_INPUT ||
                        error.Type() == duckdb::ExceptionType::IO ||
                        error.Type() == duckdb::ExceptionType::SERIALIZATION;
  if (IsLakeError(error) || !of_bytes) {
    throw;
  }
  std::string message =
      duckdb::StringUtil::Replace(error.RawMessage(), std::string(kObjectPrefix), "");
  if (state != nullptr) {
    const auto& reader = state->Cast<duckdb::MultiFileLocalState>().reader;
    const std::string file =
        reader == nullptr ? "" : std::string(FromObjectPath(reader->GetFileName()));
    if (message.find(file) == std::string::npos) {
      message = file + ": " + message;
    }
  }
  ThrowWhileRunning(Error(ErrorCode::kCorruption, message)
                        .With("read table " + target.entry->table().name.ToString()));
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitGlobal(
    duckdb::ClientContext& context, duckdb::TableFunctionInitInput& input) {
  const ScanTarget& target = TargetOf(input.bind_data);
  try {
    return target.init_global(context, input);
  } catch (const std::exception& exception) {
    Blame(target, exception, nullptr);
  }
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitLocal(
    duckdb::ExecutionContext& context, duckdb::TableFunctionInitInput& input,
    duckdb::GlobalTableFunctionState* state) {
  const ScanTarget& target = TargetOf(input.bind_data);
  try {
    return target.init_local(context, input, state);
  } catch (const std::exception& exception) {
    Blame(target, exception, nullptr);
  }
}

void ScanRows(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
              duckdb::DataChunk& output) {
  const ScanTarget& target = TargetOf(input.bind_data);
  try {
    target.scan(context, input, output);
  } catch (const std::exception& exception) {
    Blame(target, exception, input.local_state.get());
  }
}

duckdb::BindInfo GetBindInfo(const duckdb::optional_ptr<duckdb::FunctionData> bind_data) {
  return duckdb::BindInfo(*TargetOf(bind_data.get()).entry);
}

duckdb::vector<duckdb::PartitionStatistics> GetPartitionStats(
    duckdb::ClientContext& /*context*/, duckdb::GetPartitionStatsInput& input) {
  const auto& list =
      input.bind_data->Cast<duckdb::MultiFileBindData>().file_list->Cast<LakeFileList>();
  duckdb::vector<duckdb::PartitionStatistics> result;
  duckdb::idx_t row = 0;
  for (const std::size_t index : list.selected()) {
    const SnapshotFile& file = list.files().data[index];
    duckdb::PartitionStatistics stats;
    stats.row_start = row;
    stats.count = static_cast<duckdb::idx_t>(file.file.record_count);
    // The optimizer answers count(*) with exact counts, without reading.
    stats.count_type = list.files().DeletesFor(file).empty() ? duckdb::CountType::COUNT_EXACT
                                                             : duckdb::CountType::COUNT_APPROXIMATE;
    row += stats.count;
    result.push_back(stats);
  }
  return result;
}

// What EXPLAIN shows of a scan.
duckdb::InsertionOrderPreservingMap<std::string> Describe(
    duckdb::TableFunctionToStringInput& input) {
  const ScanTarget& target = TargetOf(input.bind_data);
  const auto& list =
      input.bind_data->Cast<duckdb::MultiFileBindData>().file_list->Cast<LakeFileList>();
  duckdb::InsertionOrderPreservingMap<std::string> result;
  result["Table"] = target.entry->table().name.ToString();
  const iceberg::Snapshot* snapshot = target.entry->version().snapshot;
  result["Snapshot"] =
      snapshot == nullptr ? "none" : std::to_string(std::to_underlying(snapshot->snapshot_id));
  result["Files"] =
      std::to_string(list.selected().size()) + " of " + std::to_string(list.files().data.size());
  return result;
}

// A scan is never written down: Parquet's own form would lose field ids and deletes.
void Serialize(duckdb::Serializer& /*serializer*/,
               const duckdb::optional_ptr<duckdb::FunctionData> /*bind_data*/,
               const duckdb::TableFunction& /*function*/) {
  throw duckdb::NotImplementedException("a scan of a lake table cannot be serialized");
}

duckdb::unique_ptr<duckdb::FunctionData> Deserialize(duckdb::Deserializer& /*deserializer*/,
                                                     duckdb::TableFunction& /*function*/) {
  throw duckdb::NotImplementedException("a scan of a lake table cannot be deserialized");
}

duckdb::TableFunction ParquetScan(duckdb::ClientContext& context) {
  auto& entry =
      duckdb::Catalog::GetSystemCatalog(context).GetEntry<duckdb::TableFunctionCatalogEntry>(
          context, DEFAULT_SCHEMA, "parquet_scan");
  return entry.functions.GetFunctionByArguments(context, {duckdb::LogicalType::VARCHAR});
}

}  // namespace

duckdb::TableFunction BindScan(duckdb::ClientContext& context,
                               std::shared_ptr<LakeTableEntry> entry,
                               std::shared_ptr<const SnapshotFiles> files,
                               duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  auto columns = DefineColumns(*entry->version().schema);
  if (!columns.has_value()) {
    ThrowWhileBinding(columns.error().With("table " + entry->table().name.ToString()));
  }
  duckdb::TableFunction function = ParquetScan(context);
  auto target = std::make_shared<const ScanTarget>(ScanTarget{.entry = std::move(entry),
                                                              .files = std::move(files),
                                                              .columns = std::move(*columns),
                                                              .init_global = function.init_global,
                                                              .init_local = function.init_local,
                                                              .scan = function.function});
  function.init_global = InitGlobal;
  function.init_local = InitLocal;
  function.function = ScanRows;
  function.name = "lake_scan";
  function.function_info = duckdb::make_shared_ptr<ScanInfo>(target);
  function.get_multi_file_reader = MakeReader;
  function.get_bind_info = GetBindInfo;
  function.get_partition_stats = GetPartitionStats;
  function.to_string = Describe;
  function.statistics = nullptr;
  function.serialize = Serialize;
  function.deserialize = Deserialize;

  duckdb::vector<duckdb::Value> inputs = {duckdb::Value("")};
  duckdb::named_parameter_map_t parameters;
  duckdb::vector<duckdb::LogicalType> no_types;
  duckdb::vector<std::string> no_names;
  const duckdb::TableFunctionRef no_ref;
  duckdb::TableFunctionBindInput input(inputs, parameters, no_types, no_names, nullptr, nullptr,
                                       function, no_ref);
  duckdb::vector<duckdb::LogicalType> types;
  duckdb::vector<std::string> names;
  bind_data = function.bind(context, input, types, names);
  LAKE_CHECK(names.size() == target->columns.size(), "a scan has the columns of the table");
  return function;
}

duckdb::virtual_column_map_t ScanVirtualColumns() {
  using duckdb::LogicalType;
  using duckdb::MultiFileReader;
  using duckdb::TableColumn;
  duckdb::virtual_column_map_t result;
  result.insert(std::make_pair(MultiFileReader::COLUMN_IDENTIFIER_FILENAME,
                               TableColumn("filename", LogicalType::VARCHAR)));
  result.insert(std::make_pair(MultiFileReader::COLUMN_IDENTIFIER_FILE_INDEX,
                               TableColumn("file_index", LogicalType::UBIGINT)));
  result.insert(std::make_pair(MultiFileReader::COLUMN_IDENTIFIER_FILE_ROW_NUMBER,
                               TableColumn("file_row_number", LogicalType::BIGINT)));
  result.insert(
      std::make_pair(duckdb::COLUMN_IDENTIFIER_EMPTY, TableColumn("", LogicalType::BOOLEAN)));
  return result;
}

}  // namespace lake::sql
