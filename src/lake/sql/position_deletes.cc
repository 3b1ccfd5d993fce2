#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "lake/sql/error_internal.h"
#include "lake/sql/object_file_system_internal.h"
#include "lake/sql/position_deletes_internal.h"

namespace lake::sql {
namespace {

using PositionList = std::vector<std::int64_t>;

class PositionFilter final : public duckdb::DeleteFilter {
 public:
  explicit PositionFilter(std::shared_ptr<const PositionList> positions)
      : positions_(std::move(positions)) {}

  // Called by several threads at once.
  duckdb::idx_t Filter(duckdb::row_t start, duckdb::idx_t count,
                       duckdb::SelectionVector& selection) override {
    const auto end_row = start + static_cast<duckdb::row_t>(count);
    auto next = std::lower_bound(positions_->begin(), positions_->end(), start);
    const auto end = std::lower_bound(next, positions_->end(), end_row);
    if (next == end) {
      return count;  // The selection stands for all rows as it is.
    }
    selection.Initialize(count);
    duckdb::idx_t kept = 0;
    for (duckdb::idx_t i = 0; i < count; ++i) {
      if (next != end && *next == start + static_cast<duckdb::row_t>(i)) {
        ++next;
      } else {
        selection.set_index(kept++, i);
      }
    }
    return kept;
  }

 private:
  const std::shared_ptr<const PositionList> positions_;
};

// Which delete file speaks of which data file.
struct Wanted {
  std::map<std::string, std::set<std::size_t>> data_by_delete_file;  // By DuckDB's name for it.
  std::unordered_map<std::string, std::size_t> data_by_path;         // By normalized location.
};

Wanted FindWanted(const SnapshotFiles& files, const std::vector<std::size_t>& selected) {
  Wanted wanted;
  if (files.position_deletes.empty()) {
    return wanted;
  }
  for (const std::size_t index : selected) {
    const auto deletes = files.DeletesFor(files.data[index]);
    if (deletes.empty()) {
      continue;
    }
    wanted.data_by_path.emplace(NormalizeLocation(files.data[index].file.file_path), index);
    for (const std::size_t delete_index : deletes) {
      const auto name = ToObjectPath(files.position_deletes[delete_index].file.file_path);
      wanted.data_by_delete_file[name].insert(index);
    }
  }
  return wanted;
}

std::string SelectPositions(const Wanted& wanted) {
  std::string names;
  for (const auto& [name, unused] : wanted.data_by_delete_file) {
    names += (names.empty() ? "" : ", ") + duckdb::KeywordHelper::WriteQuoted(name, '\'');
  }
  return "SELECT filename, file_path::VARCHAR, pos::BIGINT FROM read_parquet([" + names +
         "], filename = true)";
}

// Adds what a chunk of (delete file, data file, position) says.
Status Collect(const Wanted& wanted, duckdb::DataChunk& chunk,
               std::map<std::size_t, PositionList>& positions) {
  chunk.Flatten();
  const auto* names = duckdb::FlatVector::GetData<duckdb::string_t>(chunk.data[0]);
  const auto* paths = duckdb::FlatVector::GetData<duckdb::string_t>(chunk.data[1]);
  const auto* rows = duckdb::FlatVector::GetData<std::int64_t>(chunk.data[2]);
  // Rows are ordered by path, so most rows repeat the one before.
  const duckdb::string_t* last_path = nullptr;
  PositionList* target = nullptr;
  for (duckdb::idx_t i = 0; i < chunk.size(); ++i) {
    if (duckdb::FlatVector::IsNull(chunk.data[1], i) ||
        duckdb::FlatVector::IsNull(chunk.data[2], i)) {
      return Corruption("a position delete without path or position in " +
                        std::string(FromObjectPath(names[i].GetString())));
    }
    if (last_path == nullptr || !(paths[i] == *last_path) || !(names[i] == names[i - 1])) {
      last_path = &paths[i];
      const auto& named_by = wanted.data_by_delete_file.at(names[i].GetString());
      const auto data = wanted.data_by_path.find(NormalizeLocation(paths[i].GetString()));
      const bool applies = data != wanted.data_by_path.end() && named_by.contains(data->second);
      target = applies ? &positions[data->second] : nullptr;
    }
    if (target != nullptr) {
      target->push_back(rows[i]);
    }
  }
  return {};
}

}  // namespace

Result<PositionDeletes> PositionDeletes::Load(duckdb::ClientContext& context,
                                              const SnapshotFiles& files,
                                              const std::vector<std::size_t>& selected) {
  PositionDeletes result;
  const Wanted wanted = FindWanted(files, selected);
  if (wanted.data_by_delete_file.empty()) {
    return result;
  }
  std::map<std::size_t, PositionList> positions;
  const Status read = CatchDuckDb([&]() -> Status {
    duckdb::Connection connection(*context.db);
    const auto query = connection.SendQuery(SelectPositions(wanted));
    if (query->HasError()) {
      return std::unexpected(ToError(query->GetErrorObject()));
    }
    while (const auto chunk = query->Fetch()) {
      if (context.interrupted) {
        return Cancelled("the query was interrupted");
      }
      LAKE_TRY_VOID(Collect(wanted, *chunk, positions));
    }
    if (query->HasError()) {
      return std::unexpected(ToError(query->GetErrorObject()));
    }
    return {};
  });
  if (!read.has_value()) {
    const bool ours = read.error().code() != ErrorCode::kInvalidArgument;
    return std::unexpected(
        Error(ours ? read.error().code() : ErrorCode::kCorruption, read.error().message())
            .With("read position deletes"));
  }
  for (auto& [index, list] : positions) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    result.by_file_.emplace(index, std::make_shared<const PositionList>(std::move(list)));
  }
  return result;
}

duckdb::unique_ptr<duckdb::DeleteFilter> PositionDeletes::FilterFor(std::size_t index) const {
  const auto found = by_file_.find(index);
  if (found == by_file_.end()) {
    return nullptr;
  }
  return duckdb::make_uniq<PositionFilter>(found->second);
}

}  // namespace lake::sql
