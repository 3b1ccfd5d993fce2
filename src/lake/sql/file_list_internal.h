#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lake/iceberg/schema.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/sql/snapshot_files_internal.h"

namespace lake::sql {

// The files that a scan reads: those of a snapshot, less the ones whose bounds show that no row of
// theirs can pass the filters. A file keeps its index in the snapshot whatever else is left out.
// Immutable; thread-safe.
class LakeFileList final : public duckdb::MultiFileList {
 public:
  // All files of `files`, whose columns are those of `schema`.
  LakeFileList(std::shared_ptr<const SnapshotFiles> files, iceberg::Schema schema);

  // Returns the index in the snapshot that was put into `file`.
  static std::size_t IndexOf(const duckdb::OpenFileInfo& file);

  const SnapshotFiles& files() const { return *files_; }

  // The files of this list, by index in the snapshot, ascending.
  const std::vector<std::size_t>& selected() const { return selected_; }

  // Returns the same list without files that `filters`, by column of the schema, exclude; nullptr
  // if there is none.
  duckdb::unique_ptr<LakeFileList> Prune(const duckdb::TableFilterSet& filters) const;

  duckdb::unique_ptr<duckdb::MultiFileList> ComplexFilterPushdown(
      duckdb::ClientContext& context, const duckdb::MultiFileOptions& options,
      duckdb::MultiFilePushdownInfo& info,
      duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) override;
  duckdb::unique_ptr<duckdb::MultiFileList> DynamicFilterPushdown(
      duckdb::ClientContext& context, const duckdb::MultiFileOptions& options,
      const duckdb::vector<std::string>& names, const duckdb::vector<duckdb::LogicalType>& types,
      const duckdb::vector<duckdb::column_t>& column_ids,
      duckdb::TableFilterSet& filters) const override;

  duckdb::vector<duckdb::OpenFileInfo> GetAllFiles() override;
  // Always "several": DuckDB reads a single file with a single thread unless it has opened it.
  duckdb::FileExpandResult GetExpandResult() override;
  duckdb::idx_t GetTotalFileCount() override;
  duckdb::unique_ptr<duckdb::NodeStatistics> GetCardinality(
      duckdb::ClientContext& context) override;
  duckdb::unique_ptr<duckdb::MultiFileList> Copy() override;

 protected:
  duckdb::OpenFileInfo GetFile(duckdb::idx_t i) override;

 private:
  LakeFileList(const LakeFileList& all, std::vector<std::size_t> selected);

  const std::shared_ptr<const SnapshotFiles> files_;
  const iceberg::Schema schema_;
  const std::vector<std::size_t> selected_;
};

}  // namespace lake::sql
