#include "lake/lease/authority_slot.h"

#include <utility>

#include "lake/base/check.h"

namespace lake::lease {

void AuthoritySlot::Publish(const Authority& authority) {
  const MutexLock lock(mutex_);
  const Epoch epoch = authority.guard.epoch();
  if (epoch <= dropped_) {
    return;
  }
  if (latest_.has_value()) {
    LAKE_CHECK(epoch >= latest_->guard.epoch(), "epochs never go back");
    LAKE_CHECK(epoch > latest_->guard.epoch() || authority.guard == latest_->guard,
               "a guard stays the same for the whole term");
  }
  latest_ = authority;
}

void AuthoritySlot::Drop(Epoch epoch) {
  const MutexLock lock(mutex_);
  if (epoch <= dropped_) {
    return;
  }
  dropped_ = epoch;
  if (latest_.has_value() && latest_->guard.epoch() <= epoch) {
    latest_.reset();
  }
  if (listener_) {
    listener_(epoch);
  }
}

Result<Authority> AuthoritySlot::CurrentLocked() const {
  if (!latest_.has_value()) {
    return NotLeader("this process does not lead");
  }
  // The authority first, the clock after it: the other way round, a pause in between would hand out
  // what has ended.
  if (clock_.Now() >= latest_->deadline) {
    return NotLeader("this process could not renew its lease in time; it does not lead now");
  }
  return *latest_;
}

Result<Authority> AuthoritySlot::Current() const {
  const MutexLock lock(mutex_);
  return CurrentLocked();
}

Result<Epoch> AuthoritySlot::EpochForNewWork() const {
  const MutexLock lock(mutex_);
  if (closed_to_new_work_) {
    return NotLeader("this process is handing its leadership over");
  }
  LAKE_TRY(const Authority authority, CurrentLocked());
  return authority.guard.epoch();
}

void AuthoritySlot::CloseToNewWork() {
  const MutexLock lock(mutex_);
  closed_to_new_work_ = true;
}

void AuthoritySlot::OpenToNewWork() {
  const MutexLock lock(mutex_);
  closed_to_new_work_ = false;
}

void AuthoritySlot::SetDropListener(std::function<void(Epoch)> listener) {
  const MutexLock lock(mutex_);
  listener_ = std::move(listener);
}

}  // namespace lake::lease
