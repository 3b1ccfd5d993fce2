#include "lake/metasrv/operation_expiry.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/catalog/records.h"
#include "lake/metasrv/operation_id.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Rejected;
using std::chrono::hours;

// After how many hours of the walk it is noted how far it has come.
constexpr hours kNoteEvery{24 * 7};
// Bytes of records that one transaction removes, well below what a transaction may have.
constexpr std::size_t kBatchBytesMax = std::size_t{1} << 20;

}  // namespace

// One walk. Single-threaded.
class OperationExpiry::Walk {
 public:
  Walk(const Deps& deps, lease::Epoch epoch, bool dry_run, Deadline deadline)
      : deps_(deps),
        epoch_(epoch),
        dry_run_(dry_run),
        deadline_(deadline),
        young_(deps.clock.WallNow() - kOperationRetention - kOperationAheadMax) {}

  Result<Report> Run() {
    LAKE_TRY_VOID(ReadNote());
    const hours last = catalog::OperationHour(young_);
    for (hours hour = noted_; hour <= last && report_.complete; ++hour) {
      if (!IsTimeLeft()) {
        break;
      }
      // Between two of our effects somebody else may have come to lead: the fence stops those, this the reading.
      LAKE_TRY(const lease::Epoch now, deps_.store.CurrentEpoch());
      if (now != epoch_) {
        return std::unexpected(
            Error(ErrorCode::kFenced, "expiry of operations: it began under an earlier epoch"));
      }
      for (int shard = 0; shard < catalog::kOperationShards; ++shard) {
        LAKE_TRY_VOID(WalkShard(hour, shard));
      }
      // Ids of the last hour may still come.
      reached_ = std::min(hour + hours(1), last);
      if (reached_ - noted_ >= kNoteEvery) {
        LAKE_TRY_VOID(Note());
      }
    }
    LAKE_TRY_VOID(Note());
    return std::move(report_);
  }

 private:
  Status ReadNote() {
    LAKE_TRY(note_bytes_, deps_.reader.ReadBytes(std::string(catalog::kForgottenKey)));
    noted_ = catalog::kFirstOperationHour;
    if (note_bytes_.has_value()) {
      LAKE_TRY(note_, WithContext(catalog::DecodeForgottenRecord(*note_bytes_),
                                  std::string(catalog::kForgottenKey)));
      noted_ = std::max(noted_, note_.before);
    }
    reached_ = noted_;
    return {};
  }

  bool IsTimeLeft() {
    report_.complete = report_.complete && deps_.clock.Now() < deadline_;
    return report_.complete;
  }

  Status WalkShard(hours hour, int shard) {
    const std::string prefix = catalog::OperationsPrefix(hour, shard);
    std::string after;
    while (true) {
      if (!IsTimeLeft()) {
        KeepFrom(hour);
        return {};
      }
      LAKE_TRY(const metastore::Page page, deps_.reader.ReadPage(prefix, after));
      ++report_.pages;
      for (const metastore::Entry& entry : page.entries) {
        LAKE_TRY(const bool more, Visit(hour, entry));
        if (!more) {
          return {};
        }
      }
      if (!page.next.has_value()) {
        return {};
      }
      after = *page.next;
    }
  }

  // Decides about one record; false when those after it in its shard are young.
  Result<bool> Visit(hours hour, const metastore::Entry& entry) {
    const Result<Uuid> id = catalog::ParseOperationKey(entry.key);
    if (!id.has_value()) {
      PassOver(entry.key, id.error());
      return true;
    }
    if (id->time() >= young_) {
      KeepFrom(hour);
      return false;
    }
    const Result<catalog::OperationRecord> record = catalog::DecodeOperationRecord(entry.value);
    if (!record.has_value()) {
      PassOver(entry.key, record.error());
      return true;
    }
    if (record->finished >= young_) {
      KeepFrom(hour);
      return true;
    }
    batch_.push_back({.id = *id, .bytes = entry.value});
    batch_bytes_ += entry.key.size() + entry.value.size();
    if (batch_.size() == catalog::kForgetMax || batch_bytes_ >= kBatchBytesMax) {
      LAKE_TRY_VOID(Flush());
    }
    return true;
  }

  // Removes what was collected. What changed meanwhile, or is pending, stays for another walk; the rest is tried without it.
  Status Flush() {
    while (!batch_.empty()) {
      if (dry_run_) {
        report_.removed += batch_.size();
        break;
      }
      LAKE_TRY(const CommitResult result,
               deps_.operations.CommitKnown(
                   catalog::Forget(batch_), epoch_, [this](const Rejected& rejected) {
                     return std::ranges::all_of(batch_, [&](const auto& operation) {
                       const auto* failure =
                           FindFailure(rejected, catalog::OperationKey(operation.id));
                       return failure != nullptr && !failure->actual.has_value();
                     });
                   }));
      const auto* rejected = std::get_if<Rejected>(&result);
      if (rejected == nullptr) {
        report_.removed += batch_.size();
        break;
      }
      std::erase_if(batch_, [&](const catalog::RecordedOperation& operation) {
        const bool stays = FindFailure(*rejected, catalog::OperationKey(operation.id)) != nullptr ||
                           FindFailure(*rejected, catalog::PendingKey(operation.id)) != nullptr;
        if (stays) {
          KeepFrom(catalog::OperationHour(operation.id.time()));
        }
        return stays;
      });
    }
    batch_.clear();
    batch_bytes_ = 0;
    return {};
  }

  // Notes how far everything is gone. Before what was collected is removed, nothing of it is.
  Status Note() {
    LAKE_TRY_VOID(Flush());
    const hours gone = std::min(reached_, kept_from_.value_or(reached_));
    if (dry_run_ || gone <= noted_) {
      return {};
    }
    catalog::ForgottenRecord next = note_;
    next.before = gone;
    LAKE_TRY(const CommitResult result,
             deps_.operations.CommitKnown(
                 catalog::NoteForgotten(note_bytes_, next), epoch_,
                 [bytes = catalog::Encode(next)](const Rejected& rejected) {
                   const auto* failure = FindFailure(rejected, catalog::kForgottenKey);
                   return failure != nullptr && failure->actual == bytes;
                 }));
    if (std::holds_alternative<Rejected>(result)) {
      // Another walk of this leader is on its way. Both remove the same; one that is ahead needs no help.
      return Unavailable("expiry of operations: another one is running; retry");
    }
    note_bytes_ = catalog::Encode(next);
    note_ = std::move(next);
    noted_ = gone;
    return {};
  }

  void KeepFrom(hours hour) { kept_from_ = std::min(hour, kept_from_.value_or(hour)); }

  void PassOver(const std::string& key, const Error& error) {
    if (report_.problems.size() < kProblemsMax) {
      report_.problems.push_back(fmt::format("{} is passed over: {}", key, error.message()));
    }
  }

  const Deps& deps_;
  const lease::Epoch epoch_;
  const bool dry_run_;
  const Deadline deadline_;
  const WallTime young_;  // What is not older than this stays.

  std::optional<std::string> note_bytes_;
  catalog::ForgottenRecord note_;
  hours noted_{};
  hours reached_{};
  std::optional<hours> kept_from_;  // The first hour that holds a record which stays.
  std::vector<catalog::RecordedOperation> batch_;
  std::size_t batch_bytes_ = 0;
  Report report_;
};

Result<OperationExpiry::Report> OperationExpiry::Run(lease::Epoch epoch, bool dry_run,
                                                     Deadline deadline) const {
  return Walk(deps_, epoch, dry_run, deadline).Run();
}

}  // namespace lake::metasrv
