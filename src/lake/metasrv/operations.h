#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/publications.h"
#include "lake/lease/epoch.h"
#include "lake/lease/fenced_store.h"
#include "lake/metasrv/record_reader.h"
#include "lake/metasrv/request_digest.h"
#include "lake/metasrv/service.h"
#include "lake/metastore/transaction.h"

namespace lake::metasrv {

// One call that changes something: its identity, what it asks for, and the epoch it belongs to.
struct Change {
  Uuid id;
  bool retryable = false;
  RequestStatement statement;
  std::string digest;
  lease::Epoch epoch;
};

// What all changes have in common: their admission, their outcome records, and commits whose outcome becomes known.
// Thread-safe.
class Operations {
 public:
  Operations(lease::FencedStore& store, const RecordReader& reader, const Clock& clock,
             Duration timeout)
      : store_(store), reader_(reader), clock_(clock), timeout_(timeout) {}

  // Whether a request that failed with `code` fails the same way for ever.
  static bool IsFinal(ErrorCode code);

  // Admits a change under the present epoch. kInvalidArgument: its id is refused. kNotLeader: there is no authority.
  Result<Change> Begin(RequestStatement statement, const CallOptions& options) const;

  // Returns how the operation ended if it has: its result, or its recorded failure as the error. Nothing when it is not known to
  // have ended. `table` is the table it names, if it names one.
  //   kInvalidArgument  the id was used for another request.
  //   kConflict         it was done to an earlier table of that name.
  // A success that is returned is visible in `table` and in `others`.
  Result<std::optional<TableResult>> Replay(
      const Change& change, const std::optional<catalog::TableName>& table,
      const std::vector<catalog::TableName>& others = {}) const;

  // Returns the record of a success under the change's epoch.
  catalog::FinishedOperation Succeeded(const Change& change, std::vector<Uuid> incarnations) const;
  // Returns the record with which a pending operation ends well under `epoch`.
  catalog::FinishedOperation Succeeded(const catalog::PendingOperation& operation,
                                       lease::Epoch epoch) const;

  // Ends a change with `error`, of which nothing is or will be visible. When the caller may come back and the error is final, it is
  // recorded first. Returns what the caller must be told: `error`, a result that a duplicate reached meanwhile, or
  // kUnavailable when the failure could not be recorded.
  Result<TableResult> Fail(const Change& change, const Error& error,
                           const std::optional<catalog::TableName>& table) const;

  // Commits under `epoch`, repeating after an unknown or failed attempt. `is_ours` says whether a rejection shows that this very
  // transaction was applied before; it is asked only after an attempt whose outcome is unknown.
  //   Committed         applied, once.          Rejected  certainly not applied, now or later.
  //   kFenced, kNotLeader, kUnavailable         certainly not applied.
  //   kOutcomeUnknown   it may be applied now or later.
  Result<metastore::CommitResult> CommitKnown(
      const metastore::Transaction& transaction, lease::Epoch epoch,
      const std::function<bool(const metastore::Rejected&)>& is_ours) const;

  // Commits under `epoch`, repeating only attempts that were certainly not applied. As CommitKnown, but:
  //   kOutcomeUnknown   one attempt is unanswered. It may be applied at any later time of the epoch, and if it expects that something
  //                     is absent, also after it was applied and undone.
  Result<metastore::CommitResult> CommitOnce(const metastore::Transaction& transaction,
                                             lease::Epoch epoch) const;

  // CommitKnown for transactions that put the outcome of `operation`: when that very outcome is there, they were applied.
  Result<metastore::CommitResult> CommitOutcome(const metastore::Transaction& transaction,
                                                lease::Epoch epoch, const Uuid& operation) const;

  // CommitKnown for giving reservations up. Committed: they are gone and the operations were not published, so that the attempt's
  // files may be removed. Rejected: somebody else ended or changed one before.
  Result<metastore::CommitResult> CommitAbort(const std::vector<catalog::PendingOperation>& group,
                                              lease::Epoch epoch) const;

 private:
  lease::FencedStore& store_;
  const RecordReader& reader_;
  const Clock& clock_;
  const Duration timeout_;
};

// Returns what stands at `key` according to a rejection: nothing when the key's expectation held.
const metastore::FailedExpectation* FindFailure(const metastore::Rejected& rejected,
                                                std::string_view key);

}  // namespace lake::metasrv
