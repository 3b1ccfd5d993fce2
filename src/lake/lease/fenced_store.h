#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/epoch.h"
#include "lake/lease/lease_guard.h"
#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"

namespace lake::lease {

class Lane;

// The most keys that a publication may name: the fence adds one.
inline constexpr std::size_t kPublicationKeysMax = metastore::kTransactionKeysMax - 1;

// The most publications that may wait in the lane; more are refused.
inline constexpr std::size_t kLaneWaitingMax = 4096;

// The only way to write metadata: every publication is one transaction with the check that the term
// is still the one it was begun under. Deliberately not a MetaStore: code that takes a FencedStore
// cannot be handed a raw store, so an unfenced write does not compile.
//
// Laws:
//   1. A publication takes effect only if, at that instant, the term record has the exact bytes of
//      this process's guard, whose epoch is the one the work began under (I2).
//   2. The authority used is the latest one when the transaction is sent, never one that was taken
//      when the work began. Without one, and after its deadline, nothing is sent (I10).
//   3. kFenced and Rejected are never mixed up: the first means stop leading, the second means
//      reread and decide again.
//   4. One object serves the whole process, across terms, so that two terms of one process go
//      through the same gate.
//
// Where transactions that share a check disturb each other (MetaStore::Traits::shared_checks is
// false), a lane keeps one of them in flight and combines those that wait into the next:
// independent publications, one check, within the limits of a transaction. That changes no answer,
// only how many requests it takes; see docs/adr/0005-the-lane.md.
//
// Thread-safe. Calls block on the store until their deadline.
class FencedStore final {
 public:
  // Borrows all three for its lifetime. `slot` counts on the same `clock`.
  FencedStore(metastore::MetaStore& raw, Clock& clock, AuthoritySlot& slot);
  // No call may be running. Waits for a transaction that is in flight after its caller has left.
  ~FencedStore();
  FencedStore(const FencedStore&) = delete;
  FencedStore& operator=(const FencedStore&) = delete;

  // Reads pass through to the store; they need no authority. See MetaStore for what they promise.
  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) const;
  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) const;
  Result<metastore::Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                               Deadline deadline) const;

  // Publishes `transaction` for work that began under `begun_under` (see CurrentEpoch). Returns
  // Committed; or Rejected, with the items counted as in `transaction`: some of its own
  // expectations did not hold, nothing was applied; or:
  //   kInvalidArgument   a rule of MetaStore is broken, it has more than kPublicationKeysMax keys,
  //                      or it names a key of the lease. Nothing was sent.
  //   kNotLeader         this process holds no authority now. Nothing was applied; go to the leader.
  //   kFenced            the work began under another epoch than the latest authority's, or
  //                      somebody else leads by now, in which case this process has dropped its
  //                      authority. Certainly not applied; the work must not go on.
  //   kUnavailable       certainly not applied; retry with backoff. Also when too many wait.
  //   kDeadlineExceeded  certainly not applied.
  //   kOutcomeUnknown    it may or may not be applied, now or a little later. Read back under the
  //                      current term; never resend blindly.
  //   kCorruption        as of the store.
  Result<metastore::CommitResult> Commit(const metastore::Transaction& transaction,
                                         Epoch begun_under, Deadline deadline);

  // Returns the guard that a publication would be fenced with now. kNotLeader when this process
  // holds no authority at this moment, even if no thread ran since it ended.
  Result<LeaseGuard> current_guard() const;

  // Returns the epoch that work beginning now belongs to, for Commit. kNotLeader when this process
  // holds no authority at this moment or takes no new work because it is handing over.
  Result<Epoch> CurrentEpoch() const;

 private:
  Result<metastore::CommitResult> Send(const metastore::Transaction& transaction, Epoch begun_under,
                                       Deadline deadline);

  metastore::MetaStore& raw_;
  Clock& clock_;
  AuthoritySlot& slot_;
  std::unique_ptr<Lane> lane_;  // Only where the store needs it.
};

}  // namespace lake::lease
