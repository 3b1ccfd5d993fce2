#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lake/lease/lease_guard.h"
#include "lake/metastore/transaction.h"

namespace lake::lease {

// Several independent publications in one transaction under one term check. A pure value.
//
// Members share no key, with two exceptions that leave every member's meaning as it is: equal
// checks of a key become one, and of unconditional puts to a key the last one wins, as if the
// members had been applied one after another.
class Combination {
 public:
  // Starts with nothing but the check of the term.
  explicit Combination(const LeaseGuard& guard);

  // Why a publication was added, or not: a key stands in the way, or a limit of transactions would
  // be passed.
  enum class Added { kYes, kKeyTaken, kNoRoom };

  // Adds a publication as the next member, or changes nothing.
  Added Add(const metastore::Transaction& publication);

  // Returns how many publications it holds.
  std::size_t size() const { return member_count_; }

  // Returns what to send: the term check as item 0, then every member's items.
  metastore::Transaction Build() const;

  // Returns for each member, in order, what failed of it, with items counted as in the publication;
  // nothing for a member whose own expectations all held. For a rejection of Build().
  std::vector<std::optional<metastore::Rejected>> Split(const metastore::Rejected& rejected) const;

 private:
  // An item of a member: which publication and which of its items.
  struct Owner {
    std::size_t member = 0;
    std::size_t item = 0;
  };

  std::vector<metastore::Item> items_;
  std::vector<std::vector<Owner>> owners_;  // Of each item; the term check belongs to nobody.
  std::map<std::string, std::size_t, std::less<>> item_of_key_;
  std::size_t bytes_ = 0;
  std::size_t member_count_ = 0;
};

}  // namespace lake::lease
