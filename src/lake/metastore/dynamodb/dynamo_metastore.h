#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/metastore/dynamodb/dynamo_client.h"
#include "lake/metastore/dynamodb/dynamo_protocol.h"
#include "lake/metastore/dynamodb/dynamo_verdict.h"
#include "lake/metastore/metastore.h"

namespace lake::metastore {

// A MetaStore in one DynamoDB table: the partition part of a key is the partition key, the rest is
// the sort key, the value is one binary attribute. How requests travel is the client's business.
//
// Beyond MetaStore's laws:
//   * A Commit is one TransactWriteItems with one token: the items in their order, so that a fence
//     at item 0 stays there. What is sent again, after a conflict, a throttling or no answer, is the
//     very same request, so that DynamoDB applies it once; until the deadline, and never later than
//     kResendFor after the first sending, because a token is forgotten one minute after that.
//   * Without an answer in the end it reads back in one transaction. It is committed if every key
//     it writes is as it would have left it, and that is something no earlier state can be taken
//     for (a condition of its own does not hold there); otherwise kOutcomeUnknown. Two callers that
//     write the very same bytes to the same keys cannot be told apart so: whoever must know puts
//     something of its own into what it writes, as Lake's records do.
//   * Once an attempt is unanswered, a rejection of a later one is not the last word: the first may
//     still arrive, and find its conditions true. It is read back like that; only a failed fence
//     (IsFence) is a rejection then too, because its bytes never come back.
//   * A Get sees its key as of now, but one key at a time: of a transaction that DynamoDB is just
//     applying one Get may see the new value and a later Get of another key the old one. Nobody was
//     told then that it is committed. GetTogether and Commit never see that. So nothing is known to
//     be absent because a Get or a Scan did not find it while such a transaction may be under way.
//
// Errors: as MetaStore says; kUnavailable also when the table does not exist or may not be used.
// Every call blocks until its deadline at the latest, if the client keeps to it. Thread-safe.
class DynamoMetaStore final : public MetaStore {
 public:
  struct Options {
    // How long one request may take. Well below the deadlines of callers, so that one that hangs
    // leaves time for another.
    Duration attempt = std::chrono::seconds(1);
    // The pause before a request is sent again is drawn evenly from zero to a bound that begins
    // with the first and doubles up to the second.
    Duration backoff = std::chrono::milliseconds(20);
    Duration backoff_max = std::chrono::seconds(1);
  };

  // How long after the first sending a transaction may be sent again.
  static constexpr Duration kResendFor = std::chrono::minutes(9);

  // Borrows all three for its lifetime. The deadlines of callers are counted on `clock`, and pauses
  // are waited for on it. The times must be positive.
  DynamoMetaStore(DynamoClient& client, Clock& clock, Random& random);
  DynamoMetaStore(DynamoClient& client, Clock& clock, Random& random, Options options);

  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) override;
  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) override;
  Result<Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                    Deadline deadline) override;
  Result<CommitResult> Commit(const Transaction& transaction, Deadline deadline) override;

  // Neither exclusive nor with shared checks.
  Traits traits() const override;

 private:
  // What a read back shows of a transaction that may have been applied.
  enum class Sight {
    kApplied,
    kNotApplied,  // Not by now, or no state could show it.
    kUnreadable,
  };

  // Makes and sends a read until it is answered, refused, or out of time. `call` makes one attempt.
  template <typename T, typename Call>
  Result<T> Read(std::string_view operation, Deadline deadline, const Call& call);
  // Returns what ends an attempt that begins now.
  Deadline AttemptDeadline(Deadline deadline) const;
  // Reads, in one transaction, what `request` would have written, and compares.
  Sight ReadBack(const TransactWriteItems& request, Deadline deadline);
  // Answers for a transaction of which one attempt was not answered and a later one was rejected.
  Result<CommitResult> SettleRejection(const Transaction& transaction,
                                       const TransactWriteItems& request, DynamoVerdict verdict,
                                       Deadline deadline);

  DynamoClient& client_;
  Clock& clock_;
  Random& random_;
  const Options options_;
};

}  // namespace lake::metastore
