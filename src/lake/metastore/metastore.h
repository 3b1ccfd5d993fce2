#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/metastore/transaction.h"

namespace lake::metastore {

// One entry of a scan.
struct Entry {
  std::string key;
  std::string value;

  bool operator==(const Entry&) const = default;
};

// A page of a scan. `next` says where to go on (pass it as `after`); only an absent `next` ends the
// scan. A page may hold fewer entries than asked for, even none, and still have a `next`.
struct Page {
  std::vector<Entry> entries;
  std::optional<std::string> next;
};

// An ordered key-value store with atomic conditional transactions: the one place where Lake's
// metadata lives.
//
// Laws, the same for every backend and checked by testing/metastore_suite.h:
//   1. Keys sort bytewise. A key is a partition part and a non-empty rest (see SplitKey); another
//      key is kInvalidArgument.
//   2. A transaction takes effect at one instant between Commit's call and its return, whole or not
//      at all, and only if every expectation holds at that instant.
//   3. Get is linearizable, key by key. Scan returns individually committed values, not a snapshot.
//      GetTogether returns values that all were current at one instant. Only it and Commit see a
//      transaction whole: before its Commit has returned, one Get may see it and a later one, of
//      another of its keys, not yet. So that a key is absent is not settled by a Get or a Scan.
//   4. Whatever was answered as committed survives the death of the process and of the machine (not
//      in the memory store).
//   5. The limits below are enforced alike everywhere.
//
// Every method may block on disk or network until its deadline and returns:
//   kInvalidArgument   the call breaks a rule above. Nothing was done.
//   kUnavailable       certainly not applied; retry with backoff.
//   kDeadlineExceeded  the deadline had passed before anything was sent.
//   kOutcomeUnknown    (Commit only) it may or may not be applied. Read back; never resend blindly.
//   kCorruption        stored bytes are damaged. Stop and report.
// Thread-safe.
class MetaStore {
 public:
  // What callers may rely on beyond the laws.
  struct Traits {
    // No other process can hold this store while this one does.
    bool exclusive = false;
    // Transactions that check the same key may be in flight together without disturbing each other.
    // Where not, a caller keeps one in flight per checked key (lease::FencedStore does).
    bool shared_checks = false;
  };

  virtual ~MetaStore() = default;

  // Returns the value of `key`, or nothing when it is absent.
  virtual Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) = 0;

  // Returns the values of up to kTransactionKeysMax different keys, in order, all as of one
  // instant. kInvalidArgument also when keys and values together exceed kTransactionBytesMax: read
  // fewer at once.
  virtual Result<std::vector<std::optional<std::string>>> GetTogether(
      const std::vector<std::string>& keys, Deadline deadline) = 0;

  // Returns the entries whose key starts with `prefix` and sorts after `after` (empty: from the
  // start), at most `limit` of them, in key order. `prefix` must contain a whole partition part
  // with its slash; `after` may be any bytes up to kKeyBytesMax; `limit` is from 1 to
  // kScanLimitMax. A page ends early once it holds kScanBytesMax or more.
  virtual Result<Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                            Deadline deadline) = 0;

  // Applies `transaction` if all its expectations hold: Committed. Otherwise Rejected, with every
  // failed expectation and what stands there; nothing was applied.
  virtual Result<CommitResult> Commit(const Transaction& transaction, Deadline deadline) = 0;

  // Returns what this store promises. Constant for its lifetime.
  virtual Traits traits() const = 0;
};

// The largest `limit` of a scan, and the bytes of keys and values at which a page ends early.
inline constexpr std::size_t kScanLimitMax = 10'000;
inline constexpr std::size_t kScanBytesMax = std::size_t{1024} * 1024;

}  // namespace lake::metastore
