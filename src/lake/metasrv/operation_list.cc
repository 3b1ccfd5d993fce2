#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/operation_id.h"

namespace lake::metasrv {
namespace {

// The most records that a list says it passed over.
constexpr std::size_t kProblemsMax = 100;

// The newest operations that were shown to it.
class Newest {
 public:
  explicit Newest(std::size_t limit) : limit_(limit) {}

  void Add(OperationView view) {
    views_.push_back(std::move(view));
    // Twice as many are kept for a while, so that dropping the rest costs nothing to speak of.
    if (views_.size() >= 2 * limit_ + kSlack) {
      DropOldest();
    }
  }

  // Returns whether more were shown than are kept.
  bool DropOldest() {
    // One that ended between two reads was shown twice; its end is what counts, and comes first.
    std::ranges::sort(views_, [](const OperationView& a, const OperationView& b) {
      return std::pair(a.id, a.finished.has_value()) > std::pair(b.id, b.finished.has_value());
    });
    const auto repeated = std::ranges::unique(views_, {}, &OperationView::id);
    views_.erase(repeated.begin(), repeated.end());
    dropped_ = dropped_ || views_.size() > limit_;
    views_.resize(std::min(views_.size(), limit_));
    return dropped_;
  }

  std::vector<OperationView> Take() { return std::move(views_); }

 private:
  static constexpr std::size_t kSlack = 1000;

  const std::size_t limit_;
  std::vector<OperationView> views_;
  bool dropped_ = false;
};

void AddProblem(OperationList& list, const std::string& key, const Error& error) {
  if (list.problems.size() < kProblemsMax) {
    list.problems.push_back(fmt::format("{} is passed over: {}", key, error.message()));
  }
}

}  // namespace

Result<OperationList> Metasrv::ListOperations(std::size_t limit, Deadline deadline) {
  if (limit == 0 || limit > kOperationsListMax) {
    return InvalidArgument(
        fmt::format("list of operations: {} of them; it holds 1 to {}", limit, kOperationsListMax));
  }
  OperationList list;
  Newest newest(limit);
  LAKE_TRY_VOID(reader_.ForEach(
      std::string(catalog::kPendingPrefix), deadline, [&](const metastore::Entry& entry) -> Status {
        const Result<Uuid> id = catalog::ParsePendingKey(entry.key);
        Result<catalog::PendingRecord> record =
            id.has_value() ? catalog::DecodePendingRecord(entry.value)
                           : Result<catalog::PendingRecord>(std::unexpected(id.error()));
        if (!record.has_value()) {
          AddProblem(list, entry.key, record.error());
          return {};
        }
        newest.Add({.id = *id, .pending = *std::move(record)});
        return {};
      }));
  // Hour by hour, from the latest that an id may have. Within an hour the shards go side by side; none may be left out.
  const WallTime now = deps_.clock.WallNow();
  const auto last = catalog::OperationHour(now - kOperationRetention - kOperationAheadMax);
  std::size_t finished = 0;
  auto hour = catalog::OperationHour(now + kOperationAheadMax);
  for (; hour >= last && finished < limit; --hour) {
    for (int shard = 0; shard < catalog::kOperationShards; ++shard) {
      LAKE_TRY_VOID(reader_.ForEach(
          catalog::OperationsPrefix(hour, shard), deadline,
          [&](const metastore::Entry& entry) -> Status {
            const Result<Uuid> id = catalog::ParseOperationKey(entry.key);
            Result<catalog::OperationRecord> record =
                id.has_value() ? catalog::DecodeOperationRecord(entry.value)
                               : Result<catalog::OperationRecord>(std::unexpected(id.error()));
            if (!record.has_value()) {
              AddProblem(list, entry.key, record.error());
              return {};
            }
            ++finished;
            newest.Add({.id = *id, .finished = *std::move(record)});
            return {};
          }));
    }
  }
  list.more = newest.DropOldest() || hour >= last;
  list.operations = newest.Take();
  return list;
}

}  // namespace lake::metasrv
