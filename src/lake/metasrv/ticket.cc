#include "lake/metasrv/ticket.h"

#include <utility>

#include "lake/base/check.h"

namespace lake::metasrv {

bool Ticket::Begin() {
  const MutexLock lock(mutex_);
  LAKE_CHECK(state_ != State::kBegun, "a change begins once");
  if (state_ == State::kAbandoned) {
    return false;
  }
  state_ = State::kBegun;
  return true;
}

void Ticket::End(Result<TableResult> result) {
  const MutexLock lock(mutex_);
  LAKE_CHECK(state_ == State::kBegun && !result_.has_value(), "a change ends once, after it began");
  result_ = std::move(result);
  ended_.NotifyAll();
}

Result<TableResult> Ticket::Await(Clock& clock, Deadline deadline) {
  const MutexLock lock(mutex_);
  while (!result_.has_value()) {
    if (clock.Now() >= deadline) {
      if (state_ == State::kWaiting) {
        state_ = State::kAbandoned;
        return DeadlineExceeded(
            "the time was over before the table's earlier changes had ended; nothing was done");
      }
      return OutcomeUnknown(
          "the time was over while it was being done; repeat it with the same operation id");
    }
    clock.WaitUntil(ended_, mutex_, deadline);
  }
  return *result_;
}

}  // namespace lake::metasrv
