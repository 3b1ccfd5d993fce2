#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/lease/epoch.h"
#include "lake/lease/records.h"
#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"

namespace lake::testing {

// One Commit that went through a RecordingMetaStore, and its answer.
struct RecordedCommit {
  metastore::Transaction transaction;
  Result<metastore::CommitResult> answer;
};

// Writes down every transaction on its way to the store under it. Put it directly above the real
// store, below whatever injects faults. It lets one transaction through at a time, so that the order
// of the record is the order in which they took effect. Thread-safe.
class RecordingMetaStore final : public metastore::MetaStore {
 public:
  // Borrows `under` for its lifetime.
  explicit RecordingMetaStore(metastore::MetaStore& under) : under_(under) {}

  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) override {
    return under_.Get(key, deadline);
  }

  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) override {
    return under_.GetTogether(keys, deadline);
  }

  Result<metastore::Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                               Deadline deadline) override {
    return under_.Scan(prefix, after, limit, deadline);
  }

  Result<metastore::CommitResult> Commit(const metastore::Transaction& transaction,
                                         Deadline deadline) override EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Result<metastore::CommitResult> answer = under_.Commit(transaction, deadline);
    commits_.push_back({.transaction = transaction, .answer = answer});
    return answer;
  }

  Traits traits() const override { return under_.traits(); }

  // Returns everything that was sent so far, in order.
  std::vector<RecordedCommit> commits() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return commits_;
  }

 private:
  metastore::MetaStore& under_;
  mutable Mutex mutex_;
  std::vector<RecordedCommit> commits_ GUARDED_BY(mutex_);
};

// Judges a whole run: every transaction must be the election's or fenced, and the fence must have
// held. Knows nothing of how lake::lease does it; it replays what was recorded.
class FencingChecker {
 public:
  // Returns what is wrong, one sentence for each offence; nothing when the record, which begins with
  // an empty store, is clean:
  //   - nothing but takeovers, heartbeats and releases writes the lease, each under the exact bytes
  //     it found, and nothing removes it;
  //   - everything else checks the term first, with the exact bytes of a held term, and names no
  //     other key of the lease;
  //   - what was committed was fenced with the term in force (I2), and epochs grow one by one, one
  //     session each (I1).
  static std::vector<std::string> FindOffences(const std::vector<RecordedCommit>& commits) {
    FencingChecker checker;
    for (const RecordedCommit& commit : commits) {
      checker.Judge(commit);
      ++checker.number_;
    }
    return std::move(checker.offences_);
  }

  // Returns how many of the transactions are publications, so that a test can see that there was
  // something to judge.
  static std::size_t CountPublications(const std::vector<RecordedCommit>& commits) {
    std::size_t count = 0;
    for (const RecordedCommit& commit : commits) {
      count += NamesOnlyLease(commit.transaction) ? 0 : 1;
    }
    return count;
  }

 private:
  using Item = metastore::Item;
  using Expectation = metastore::Expectation;

  static bool IsLeaseKey(std::string_view key) { return key.starts_with(lease::kLeasePrefix); }

  static bool NamesOnlyLease(const metastore::Transaction& transaction) {
    for (const Item& item : transaction.items()) {
      if (!IsLeaseKey(item.key)) {
        return false;
      }
    }
    return true;
  }

  void Offence(std::string_view what) {
    offences_.push_back("transaction " + std::to_string(number_) + ": " + std::string(what));
  }

  void Judge(const RecordedCommit& commit) {
    const bool committed =
        commit.answer.has_value() && std::holds_alternative<metastore::Committed>(*commit.answer);
    // A store that does not say may have applied it; the term in force is then not known for sure.
    const bool unknown =
        !commit.answer.has_value() && commit.answer.error().code() == ErrorCode::kOutcomeUnknown;
    if (NamesOnlyLease(commit.transaction)) {
      JudgeElection(commit.transaction, committed);
    } else {
      JudgePublication(commit.transaction, committed);
    }
    if (unknown) {
      Offence("the store under the record did not say what happened; the replay is worthless");
    }
  }

  void JudgeElection(const metastore::Transaction& transaction, bool committed) {
    for (const Item& item : transaction.items()) {
      if (item.action != Item::Action::kPut || item.expectation.kind == Expectation::Kind::kAny) {
        Offence("the lease is changed otherwise than by a conditional put: " + item.key);
      }
      if (item.key == lease::kTermKey) {
        JudgeTerm(item, transaction.items().size(), committed);
      } else if (item.key != lease::kHeartbeatKey) {
        Offence("an unknown key of the lease: " + item.key);
      }
    }
  }

  void JudgeTerm(const Item& item, std::size_t items, bool committed) {
    const Result<lease::TermRecord> next = lease::DecodeTerm(item.value);
    if (!next.has_value()) {
      Offence("a term that does not decode: " + next.error().message());
      return;
    }
    const bool held = next->state == lease::TermRecord::State::kHeld;
    if (held != (items == 2)) {
      Offence("a takeover writes term and heartbeat, a release the term alone");
    }
    if (!committed) {
      return;
    }
    const lease::Epoch expected = held ? lease::Epoch(epoch_.value() + 1) : epoch_;
    if (next->epoch != expected) {
      Offence("epoch " + next->epoch.ToString() + " where " + expected.ToString() + " belongs");
    }
    if (!held && next->session != session_) {
      Offence("a term is released by a session that does not hold it");
    }
    epoch_ = next->epoch;
    session_ = next->session;
    term_ = item.value;
    term_held_ = held;
  }

  void JudgePublication(const metastore::Transaction& transaction, bool committed) {
    const Item& check = transaction.items()[0];
    if (check.key != lease::kTermKey || check.action != Item::Action::kCheck ||
        check.expectation.kind != Expectation::Kind::kExactly) {
      Offence("not fenced: item 0 does not check the term but concerns " + check.key);
      return;
    }
    for (std::size_t i = 1; i < transaction.items().size(); ++i) {
      if (IsLeaseKey(transaction.items()[i].key)) {
        Offence("a publication names " + transaction.items()[i].key);
      }
    }
    const Result<lease::TermRecord> guard = lease::DecodeTerm(check.expectation.bytes);
    if (!guard.has_value() || guard->state != lease::TermRecord::State::kHeld) {
      Offence("fenced with bytes that are not a held term");
    }
    if (committed && (!term_held_ || check.expectation.bytes != term_)) {
      Offence("committed though the term in force is another");
    }
  }

  std::size_t number_ = 0;
  std::vector<std::string> offences_;
  lease::Epoch epoch_;
  Uuid session_;
  std::string term_;
  bool term_held_ = false;
};

}  // namespace lake::testing
