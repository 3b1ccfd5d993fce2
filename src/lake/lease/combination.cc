#include <algorithm>
#include <utility>

#include "lake/base/check.h"
#include "lake/lease/combination_internal.h"
#include "lake/lease/fence_internal.h"

namespace lake::lease {
namespace {

using metastore::Expectation;
using metastore::FailedExpectation;
using metastore::Item;
using metastore::Rejected;
using metastore::Transaction;

std::size_t BytesOf(const Item& item) {
  return item.key.size() + item.expectation.bytes.size() + item.value.size();
}

bool IsUnconditionalPut(const Item& item) {
  return item.action == Item::Action::kPut && item.expectation.kind == Expectation::Kind::kAny;
}

// Whether two items of one key can be one item of a combination.
bool CanMerge(const Item& a, const Item& b) {
  const bool equal_checks = a.action == Item::Action::kCheck && a == b;
  return equal_checks || (IsUnconditionalPut(a) && IsUnconditionalPut(b));
}

}  // namespace

Combination::Combination(const LeaseGuard& guard) {
  items_ = TermCheck(guard).items();
  LAKE_CHECK(items_.size() == 1, "the term check is one item");
  item_of_key_.emplace(items_[kTermItem].key, kTermItem);
  owners_.emplace_back();
  bytes_ = BytesOf(items_[kTermItem]);
}

Combination::Added Combination::Add(const Transaction& publication) {
  std::size_t new_items = 0;
  std::size_t bytes = bytes_;
  for (const Item& item : publication.items()) {
    bytes += BytesOf(item);
    const auto there = item_of_key_.find(item.key);
    if (there == item_of_key_.end()) {
      ++new_items;
      continue;
    }
    if (!CanMerge(items_[there->second], item)) {
      return Added::kKeyTaken;
    }
    bytes -= BytesOf(items_[there->second]);
  }
  if (items_.size() + new_items > metastore::kTransactionKeysMax ||
      bytes > metastore::kTransactionBytesMax) {
    return Added::kNoRoom;
  }
  for (std::size_t i = 0; i < publication.items().size(); ++i) {
    const Item& item = publication.items()[i];
    const auto [place, is_new] = item_of_key_.emplace(item.key, items_.size());
    if (is_new) {
      items_.push_back(item);
      owners_.emplace_back();
    } else {
      items_[place->second] = item;
    }
    owners_[place->second].push_back({.member = member_count_, .item = i});
  }
  bytes_ = bytes;
  ++member_count_;
  return Added::kYes;
}

Transaction Combination::Build() const {
  Transaction transaction;
  for (const Item& item : items_) {
    AppendItem(item, transaction);
  }
  return transaction;
}

std::vector<std::optional<Rejected>> Combination::Split(const Rejected& rejected) const {
  std::vector<std::optional<Rejected>> of_members(member_count_);
  for (const FailedExpectation& failure : rejected.failures) {
    LAKE_CHECK(failure.item < items_.size(), "a failure names an item of the transaction");
    for (const Owner& owner : owners_[failure.item]) {
      std::optional<Rejected>& mine = of_members[owner.member];
      if (!mine.has_value()) {
        mine.emplace();
      }
      mine->failures.push_back({.item = owner.item, .key = failure.key, .actual = failure.actual});
    }
  }
  // Merged checks stand where their first owner put them, so the order must be restored.
  for (std::optional<Rejected>& mine : of_members) {
    if (mine.has_value()) {
      std::ranges::sort(mine->failures, {}, &FailedExpectation::item);
    }
  }
  return of_members;
}

}  // namespace lake::lease
