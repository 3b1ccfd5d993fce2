#pragma once

#include <functional>
#include <optional>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/lease/epoch.h"
#include "lake/lease/lease_guard.h"

namespace lake::lease {

// The one place in a process that says whether it leads: the latest authority, replaced as a whole.
// The election publishes into it; the fenced store reads it for every publication.
//
// It fails closed. Whether the authority still holds is decided when it is asked for, on the clock
// of that moment: an authority whose deadline has passed is never handed out, whether or not any
// thread ran since (I10). What was dropped stays dropped: an epoch that is not newer than a dropped
// one can never be published again. Thread-safe; no call blocks.
class AuthoritySlot {
 public:
  // Empty. Borrows `clock`, on which deadlines are counted, for its lifetime.
  explicit AuthoritySlot(const Clock& clock) : clock_(clock) {}

  ~AuthoritySlot() = default;
  AuthoritySlot(const AuthoritySlot&) = delete;
  AuthoritySlot& operator=(const AuthoritySlot&) = delete;

  // Replaces the authority as a whole. Does nothing for an epoch that was dropped or an older one:
  // a confirmation may arrive after the fence has already spoken. Within an epoch the guard's bytes
  // never change, and epochs never go back.
  void Publish(const Authority& authority) EXCLUDES(mutex_);

  // Drops the authority of `epoch` and of every older epoch, for good, and tells the listener when
  // that is news. An authority of a newer epoch is not touched.
  void Drop(Epoch epoch) EXCLUDES(mutex_);

  // Returns the authority that holds at this moment. kNotLeader when there is none.
  Result<Authority> Current() const EXCLUDES(mutex_);

  // Returns the epoch that new work may begin under. kNotLeader when there is no authority at this
  // moment, or when this process is handing its leadership over and only finishes what it began.
  Result<Epoch> EpochForNewWork() const EXCLUDES(mutex_);

  // Closes, or opens again, the door for new work. What has begun may still be published.
  void CloseToNewWork() EXCLUDES(mutex_);
  void OpenToNewWork() EXCLUDES(mutex_);

  // Calls `listener` with the epoch whenever Drop drops one for the first time; empty: nobody. It
  // is called with the slot locked, must not block and must not call the slot. Once this returns,
  // the previous listener is not running and will not run again.
  void SetDropListener(std::function<void(Epoch)> listener) EXCLUDES(mutex_);

 private:
  Result<Authority> CurrentLocked() const REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::optional<Authority> latest_ GUARDED_BY(mutex_);
  Epoch dropped_ GUARDED_BY(mutex_);  // Nothing up to it may be published.
  bool closed_to_new_work_ GUARDED_BY(mutex_) = false;
  std::function<void(Epoch)> listener_ GUARDED_BY(mutex_);
};

}  // namespace lake::lease
