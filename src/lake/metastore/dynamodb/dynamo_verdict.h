#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/metastore/dynamodb/dynamo_protocol.h"

namespace lake::metastore {

// What one answer to a TransactWriteItems says about that attempt.
struct DynamoVerdict {
  enum class Kind {
    kCommitted,
    kRejected,    // Conditions failed; nothing was applied. `failures` has at least one.
    kResend,      // Nothing was applied by this attempt; the same request may succeed.
    kUnanswered,  // It may have been applied, or be under way. The same request tells, once it is
                  // answered.
    kRefused,     // Nothing was applied by this attempt, and sending it again cannot help: `error`.
  };

  // A condition that failed, and what stood there.
  struct Failure {
    std::size_t action = 0;
    std::optional<std::string> actual;

    bool operator==(const Failure&) const = default;
  };

  Kind kind = Kind::kUnanswered;
  std::vector<Failure> failures = {};
  // A failed condition among `failures` is one that can never hold again (see IsFence).
  bool is_final = false;
  std::optional<Error> error = {};

  bool operator==(const DynamoVerdict&) const = default;
};

// Returns whether action 0 of the request only checks that an item has exact bytes. That is the
// place of the fence (lease::FencedStore): what it expects, once gone, never comes back. So its
// failure decides a transaction, whatever stands beside it and whenever the request arrives.
bool IsFence(const TransactWriteItems& request);

// Judges an answer by its codes, never by its texts. Of a cancellation the whole list counts:
//   - a failed fence: rejected, whatever stands beside it;
//   - else an action that can never be carried out (too large): refused;
//   - else a conflict, a throttling, or a code nobody knows: resend. What a condition said beside it
//     may have been about a state in between;
//   - else failed conditions alone: rejected.
// A list that does not fit the request (its length, a failed condition that holds for the item it
// shows) is not believed: resend.
DynamoVerdict JudgeWrite(const TransactWriteItems& request, const DynamoAnswer<void>& answer);

// Returns nothing when a read that failed so may succeed if it is sent again, otherwise what it is
// answered with: kInvalidArgument, kCorruption (the item is not Lake's), kUnavailable (no such
// table, no access).
std::optional<Error> JudgeRead(const DynamoError& error);

}  // namespace lake::metastore
