#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/publications.h"
#include "lake/engine/table_engine.h"
#include "lake/lease/epoch.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"
#include "lake/metasrv/table_queue.h"

namespace lake::metasrv {

// Finishes what others left half done: other processes, earlier terms, and attempts of our own whose outcome stayed open.
//
// The rule (design of operations): if the tables still are what the reservation was built on and every planned metadata file is there
// and complete, the operation is published as it stands, under the present fence. Otherwise its reservation is removed, after
// which nobody can publish it any more. Both are conditional on the exact reservation, so any number of settlers converge.
//
// What is pending is scanned for once in every epoch, after the term was won: whatever an older leader reserves later is fenced.
// Thread-safe; SettleTable and SettleOperation are called where the changes of that table are serialised.
class Settler {
 public:
  struct Deps {
    const RecordReader& reader;
    const Operations& operations;
    engine::TableEngine& engine;
    const Clock& clock;
    Random& random;
  };

  Settler(Deps deps, Duration engine_timeout) : deps_(deps), engine_timeout_(engine_timeout) {}

  // Makes sure that what was pending when `epoch` was won is known; scans if nobody has. kUnavailable: the store failed.
  Status EnsureScanned(lease::Epoch epoch, Clock& clock, Deadline deadline) EXCLUDES(mutex_);

  // Remembers an operation as pending without anybody who runs it.
  void Note(const catalog::PendingOperation& operation) EXCLUDES(mutex_);

  // Returns whether an operation is known to be pending, or may be: if so, a call that repeats it and fails knows nothing of its end.
  bool MayBePending(const Uuid& operation) EXCLUDES(mutex_);

  // A table that has something to settle, and the turn in which that must be done.
  struct UnsettledTable {
    Uuid incarnation;
    std::string turn;
  };

  // Returns the tables that have something to settle.
  std::vector<UnsettledTable> UnsettledTables() EXCLUDES(mutex_);

  // Settles everything that is known to be pending for a table; returns how many operations that were. Until this succeeded,
  // nothing else may happen to the table.
  //   kUnavailable, kCorruption, …   one could not be settled now; the message names it.
  //   kFenced, kNotLeader            another process leads.
  Result<std::size_t> SettleTable(const Uuid& incarnation, lease::Epoch epoch) EXCLUDES(mutex_);

  // Settles one operation, if it is pending. Errors as for SettleTable.
  Status SettleOperation(const Uuid& operation, lease::Epoch epoch) EXCLUDES(mutex_);

  // Returns the publication that ends `group` well under `epoch`: the same in normal work and in settling. Nothing when a namespace
  // in which it creates a table is gone.
  Result<std::optional<catalog::VersionPublication>> Publication(
      std::vector<catalog::PendingOperation> group, lease::Epoch epoch) const;

  // Removes the files of an attempt whose reservations were given up. What cannot be removed is left: nothing names it.
  void RemoveFiles(const std::vector<catalog::PendingOperation>& group) const;

 private:
  Status Scan();
  Result<bool> IsComplete(const std::vector<catalog::PendingOperation>& group) const;
  Result<bool> TrySettle(const catalog::PendingOperation& shown, lease::Epoch epoch);
  Result<bool> TryAbort(const std::vector<catalog::PendingOperation>& group, lease::Epoch epoch);
  void Forget(const std::vector<catalog::PendingOperation>& group) EXCLUDES(mutex_);
  void ForgetOperation(const Uuid& operation) EXCLUDES(mutex_);

  struct Unsettled {
    std::string turn;
    std::set<Uuid> operations;
  };

  const Deps deps_;
  const Duration engine_timeout_;

  Mutex mutex_;
  CondVar scan_ended_;
  bool scanning_ GUARDED_BY(mutex_) = false;
  lease::Epoch scanned_epoch_ GUARDED_BY(mutex_);
  std::map<Uuid, Unsettled> unsettled_ GUARDED_BY(mutex_);  // By table.
};

}  // namespace lake::metasrv
