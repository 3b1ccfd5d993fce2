#include <utility>

#include "lake/base/check.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/file_list_internal.h"
#include "lake/sql/name_mapping_internal.h"
#include "lake/sql/object_file_system_internal.h"
#include "lake/sql/position_deletes_internal.h"
#include "lake/sql/scan_reader_internal.h"

namespace lake::sql {
namespace {

struct ScanState final : duckdb::MultiFileReaderGlobalState {
  ScanState(const duckdb::MultiFileList& files, PositionDeletes positions)
      : MultiFileReaderGlobalState({}, &files), deletes(std::move(positions)) {}

  const PositionDeletes deletes;
};

// Whether DuckDB may translate a filter on the table's type into one on the file's type. It casts
// the constant, which is exact between integers and between decimals; a double cut to a float, or a
// timestamp to a date, would select other rows.
bool CastsFiltersExactly(const duckdb::LogicalType& file, const duckdb::LogicalType& table) {
  return file == table || (file.IsIntegral() && table.IsIntegral()) ||
         (file.id() == duckdb::LogicalTypeId::DECIMAL &&
          table.id() == duckdb::LogicalTypeId::DECIMAL);
}

// Returns the filter in a form that is evaluated on values of the table's type, or nullptr for one
// that only ever saves work.
duckdb::unique_ptr<duckdb::TableFilter> AsExpression(const duckdb::TableFilter& filter,
                                                     const duckdb::LogicalType& type) {
  if (filter.filter_type == duckdb::TableFilterType::OPTIONAL_FILTER) {
    return nullptr;
  }
  if (filter.filter_type == duckdb::TableFilterType::CONJUNCTION_AND) {
    auto result = duckdb::make_uniq<duckdb::ConjunctionAndFilter>();
    for (const auto& child : filter.Cast<duckdb::ConjunctionAndFilter>().child_filters) {
      if (auto converted = AsExpression(*child, type)) {
        result->child_filters.push_back(std::move(converted));
      }
    }
    if (result->child_filters.empty()) {
      return nullptr;
    }
    return result;
  }
  const duckdb::BoundReferenceExpression column(type, duckdb::idx_t{0});
  return duckdb::make_uniq<duckdb::ExpressionFilter>(filter.ToExpression(column));
}

const duckdb::MultiFileColumnDefinition* FindById(
    const duckdb::vector<duckdb::MultiFileColumnDefinition>& columns, std::int32_t id) {
  for (const auto& column : columns) {
    if (!column.identifier.IsNull() && column.GetIdentifierFieldId() == id) {
      return &column;
    }
  }
  return nullptr;
}

}  // namespace

LakeReader::LakeReader(std::shared_ptr<const ScanTarget> target) : target_(std::move(target)) {
  function_name = "lake_scan";
}

duckdb::shared_ptr<duckdb::MultiFileList> LakeReader::CreateFileList(
    duckdb::ClientContext& /*context*/, const duckdb::vector<std::string>& /*paths*/,
    const duckdb::FileGlobInput& /*glob*/) {
  return duckdb::make_shared_ptr<LakeFileList>(target_->files, *target_->entry->version().schema);
}

bool LakeReader::Bind(duckdb::MultiFileOptions& /*options*/, duckdb::MultiFileList& /*files*/,
                      duckdb::vector<duckdb::LogicalType>& return_types,
                      duckdb::vector<std::string>& names,
                      duckdb::MultiFileReaderBindData& bind_data) {
  for (const auto& column : target_->columns) {
    return_types.push_back(column.type);
    names.push_back(column.name);
  }
  bind_data.schema = target_->columns;
  bind_data.mapping = duckdb::MultiFileColumnMappingMode::BY_FIELD_ID;
  return true;
}

duckdb::unique_ptr<duckdb::MultiFileReaderGlobalState> LakeReader::InitializeGlobalState(
    duckdb::ClientContext& context, const duckdb::MultiFileOptions& /*options*/,
    const duckdb::MultiFileReaderBindData& /*bind_data*/, const duckdb::MultiFileList& files,
    const duckdb::vector<duckdb::MultiFileColumnDefinition>& /*global_columns*/,
    const duckdb::vector<duckdb::ColumnIndex>& /*global_column_ids*/) {
  const auto& list = files.Cast<LakeFileList>();
  auto deletes = PositionDeletes::Load(context, list.files(), list.selected());
  if (!deletes.has_value()) {
    ThrowWhileRunning(
        deletes.error().With("read table " + target_->entry->table().name.ToString()));
  }
  return duckdb::make_uniq<ScanState>(files, std::move(*deletes));
}

void LakeReader::FinalizeBind(
    duckdb::MultiFileReaderData& reader_data, const duckdb::MultiFileOptions& /*options*/,
    const duckdb::MultiFileReaderBindData& /*bind_data*/,
    const duckdb::vector<duckdb::MultiFileColumnDefinition>& /*global_columns*/,
    const duckdb::vector<duckdb::ColumnIndex>& global_column_ids,
    duckdb::ClientContext& /*context*/,
    duckdb::optional_ptr<duckdb::MultiFileReaderGlobalState> state) {
  duckdb::BaseFileReader& reader = *reader_data.reader;
  const std::size_t index = LakeFileList::IndexOf(reader.file);
  // A plan may read a table twice and join on (file, row); both must number the files alike.
  reader.file_list_idx = index;
  AssignFieldIds(*target_->entry->version().schema, target_->entry->table().metadata(),
                 reader.columns);
  reader.deletion_filter = state->Cast<ScanState>().deletes.FilterFor(index);
  for (std::size_t i = 0; i < global_column_ids.size(); ++i) {
    const duckdb::MultiFileGlobalIndex place(i);
    switch (global_column_ids[i].GetPrimaryIndex()) {
      case COLUMN_IDENTIFIER_FILENAME:
        reader_data.constant_map.Add(
            place, duckdb::Value(std::string(FromObjectPath(reader.GetFileName()))));
        break;
      case COLUMN_IDENTIFIER_FILE_INDEX:
        reader_data.constant_map.Add(place, duckdb::Value::UBIGINT(index));
        break;
      default:
        break;
    }
  }
}

duckdb::ReaderInitializeType LakeReader::CreateMapping(
    duckdb::ClientContext& context, duckdb::MultiFileReaderData& reader_data,
    const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
    const duckdb::vector<duckdb::ColumnIndex>& global_column_ids,
    duckdb::optional_ptr<duckdb::TableFilterSet> filters, duckdb::MultiFileList& files,
    const duckdb::MultiFileReaderBindData& bind_data,
    const duckdb::virtual_column_map_t& virtual_columns, duckdb::MultiFileColumnMappingMode mode) {
  duckdb::TableFilterSet exact;
  bool changed = false;
  if (filters) {
    for (const auto& [place, filter] : filters->filters) {
      const duckdb::ColumnIndex& id = global_column_ids[place];
      const duckdb::MultiFileColumnDefinition* in_file = nullptr;
      if (!id.IsVirtualColumn()) {
        const auto& column = global_columns[id.GetPrimaryIndex()];
        in_file = FindById(reader_data.reader->columns, column.GetIdentifierFieldId());
        if (in_file != nullptr && !CastsFiltersExactly(in_file->type, column.type)) {
          changed = true;
          if (auto converted = AsExpression(*filter, column.type)) {
            exact.filters.emplace(place, std::move(converted));
          }
          continue;
        }
      }
      exact.filters.emplace(place, filter->Copy());
    }
  }
  return MultiFileReader::CreateMapping(
      context, reader_data, global_columns, global_column_ids,
      changed ? duckdb::optional_ptr<duckdb::TableFilterSet>(&exact) : filters, files, bind_data,
      virtual_columns, mode);
}

duckdb::unique_ptr<duckdb::MultiFileReader> LakeReader::Copy() const {
  return duckdb::make_uniq<LakeReader>(target_);
}

}  // namespace lake::sql
