#pragma once

#include <memory>
#include <string>
#include <utility>

#include "lake/base/time.h"
#include "lake/lease/epoch.h"

namespace lake::lease {

// What a publication is fenced with: an epoch and the exact bytes of the term record that the
// leader of this epoch wrote. Immutable, and the same for the whole term: heartbeats move the
// deadline of an authority, never its guard. Copies share the bytes. A value.
class LeaseGuard {
 public:
  LeaseGuard(Epoch epoch, std::string term_bytes)
      : epoch_(epoch), term_bytes_(std::make_shared<const std::string>(std::move(term_bytes))) {}

  Epoch epoch() const { return epoch_; }

  const std::string& term_bytes() const { return *term_bytes_; }

  bool operator==(const LeaseGuard& other) const {
    return epoch_ == other.epoch_ && *term_bytes_ == *other.term_bytes_;
  }

 private:
  Epoch epoch_;
  std::shared_ptr<const std::string> term_bytes_;
};

// The right to publish as this process holds it: a guard, and the instant of this machine's
// boot-time clock from which it may no longer be used. A value, replaced as a whole.
struct Authority {
  LeaseGuard guard;
  Deadline deadline;

  bool operator==(const Authority&) const = default;
};

}  // namespace lake::lease
