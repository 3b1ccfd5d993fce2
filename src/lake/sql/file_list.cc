#include <numeric>
#include <utility>

#include "lake/sql/column_statistics_internal.h"
#include "lake/sql/file_list_internal.h"
#include "lake/sql/object_file_system_internal.h"

namespace lake::sql {
namespace {

constexpr const char* kIndexOption = "lake_file_index";

std::vector<std::size_t> AllIndexes(const SnapshotFiles& files) {
  std::vector<std::size_t> all(files.data.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

LakeFileList::LakeFileList(std::shared_ptr<const SnapshotFiles> files, iceberg::Schema schema)
    : MultiFileList({}, duckdb::FileGlobOptions::ALLOW_EMPTY),
      files_(std::move(files)),
      schema_(std::move(schema)),
      selected_(AllIndexes(*files_)) {}

LakeFileList::LakeFileList(const LakeFileList& all, std::vector<std::size_t> selected)
    : MultiFileList({}, duckdb::FileGlobOptions::ALLOW_EMPTY),
      files_(all.files_),
      schema_(all.schema_),
      selected_(std::move(selected)) {}

std::size_t LakeFileList::IndexOf(const duckdb::OpenFileInfo& file) {
  return duckdb::UBigIntValue::Get(file.extended_info->options.at(kIndexOption));
}

duckdb::unique_ptr<LakeFileList> LakeFileList::Prune(const duckdb::TableFilterSet& filters) const {
  std::vector<std::size_t> kept;
  kept.reserve(selected_.size());
  for (const std::size_t index : selected_) {
    if (!Excludes(schema_, files_->data[index].file, filters)) {
      kept.push_back(index);
    }
  }
  if (kept.size() == selected_.size()) {
    return nullptr;
  }
  return duckdb::unique_ptr<LakeFileList>(new LakeFileList(*this, std::move(kept)));
}

duckdb::unique_ptr<duckdb::MultiFileList> LakeFileList::ComplexFilterPushdown(
    duckdb::ClientContext& context, const duckdb::MultiFileOptions& /*options*/,
    duckdb::MultiFilePushdownInfo& info,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) {
  duckdb::FilterCombiner combiner(context);
  for (const auto& filter : filters) {
    // A parameter that has no value yet tells nothing; the filter comes again when it runs.
    if (!filter->HasParameter()) {
      combiner.AddFilter(filter->Copy());
    }
  }
  duckdb::vector<duckdb::FilterPushdownResult> unused;
  return Prune(combiner.GenerateTableScanFilters(info.column_indexes, unused));
}

duckdb::unique_ptr<duckdb::MultiFileList> LakeFileList::DynamicFilterPushdown(
    duckdb::ClientContext& /*context*/, const duckdb::MultiFileOptions& /*options*/,
    const duckdb::vector<std::string>& /*names*/,
    const duckdb::vector<duckdb::LogicalType>& /*types*/,
    const duckdb::vector<duckdb::column_t>& column_ids, duckdb::TableFilterSet& filters) const {
  // These filters are keyed by place in the scan's output.
  duckdb::TableFilterSet by_column;
  for (const auto& [place, filter] : filters.filters) {
    by_column.filters.emplace(column_ids[place], filter->Copy());
  }
  return Prune(by_column);
}

duckdb::vector<duckdb::OpenFileInfo> LakeFileList::GetAllFiles() {
  duckdb::vector<duckdb::OpenFileInfo> result;
  result.reserve(selected_.size());
  for (duckdb::idx_t i = 0; i < selected_.size(); ++i) {
    result.push_back(GetFile(i));
  }
  return result;
}

duckdb::FileExpandResult LakeFileList::GetExpandResult() {
  return duckdb::FileExpandResult::MULTIPLE_FILES;
}

duckdb::idx_t LakeFileList::GetTotalFileCount() {
  return selected_.size();
}

duckdb::unique_ptr<duckdb::NodeStatistics> LakeFileList::GetCardinality(
    duckdb::ClientContext& /*context*/) {
  std::uint64_t rows = 0;
  for (const std::size_t index : selected_) {
    rows += static_cast<std::uint64_t>(files_->data[index].file.record_count);
  }
  return duckdb::make_uniq<duckdb::NodeStatistics>(rows, rows);
}

duckdb::unique_ptr<duckdb::MultiFileList> LakeFileList::Copy() {
  return duckdb::unique_ptr<duckdb::MultiFileList>(new LakeFileList(*this, selected_));
}

duckdb::OpenFileInfo LakeFileList::GetFile(duckdb::idx_t i) {
  if (i >= selected_.size()) {
    return duckdb::OpenFileInfo("");
  }
  const iceberg::DataFile& file = files_->data[selected_[i]].file;
  duckdb::OpenFileInfo info =
      ToOpenFileInfo(file.file_path, static_cast<std::uint64_t>(file.file_size_in_bytes));
  info.extended_info->options[kIndexOption] = duckdb::Value::UBIGINT(selected_[i]);
  return info;
}

}  // namespace lake::sql
