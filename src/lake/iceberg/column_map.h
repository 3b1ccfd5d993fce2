#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "lake/iceberg/ids.h"

namespace lake::iceberg {

// A map from column id to T, as manifests keep statistics: few entries, read often, in one piece of
// memory, ordered by id. Empty and absent mean the same to the format, so empty stands for both.
template <typename T>
class ColumnMap {
 public:
  using Entry = std::pair<FieldId, T>;
  using value_type = Entry;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  ColumnMap() = default;

  ColumnMap(std::initializer_list<Entry> entries) : ColumnMap(std::vector<Entry>(entries)) {}

  // Of entries with the same id the last one stays.
  explicit ColumnMap(std::vector<Entry> entries) : entries_(std::move(entries)) { Order(); }

  // Returns the column's value, or nullptr.
  const T* Find(FieldId id) const {
    const auto found = LowerBound(id);
    return found != entries_.end() && found->first == id ? &found->second : nullptr;
  }

  void Set(FieldId id, T value) {
    // Statistics usually arrive in the order of ids.
    if (entries_.empty() || entries_.back().first < id) {
      entries_.emplace_back(id, std::move(value));
      return;
    }
    const auto found = LowerBound(id);
    if (found->first == id) {
      entries_[static_cast<std::size_t>(found - entries_.begin())].second = std::move(value);
    } else {
      entries_.emplace(found, id, std::move(value));
    }
  }

  bool empty() const { return entries_.empty(); }

  std::size_t size() const { return entries_.size(); }

  const_iterator begin() const { return entries_.begin(); }

  const_iterator end() const { return entries_.end(); }

  // Removes all entries and keeps their memory.
  void Clear() { entries_.clear(); }

  // Gives the entries away, with their memory, to be refilled and made a map again.
  std::vector<Entry> Release() && { return std::move(entries_); }

  bool operator==(const ColumnMap&) const = default;

 private:
  static bool Precedes(const Entry& a, const Entry& b) { return a.first < b.first; }

  const_iterator LowerBound(FieldId id) const {
    return std::lower_bound(
        entries_.begin(), entries_.end(), id,
        [](const Entry& entry, FieldId wanted) { return entry.first < wanted; });
  }

  void Order() {
    const auto not_ascending = [](const Entry& a, const Entry& b) { return a.first >= b.first; };
    if (std::adjacent_find(entries_.begin(), entries_.end(), not_ascending) == entries_.end()) {
      return;
    }
    std::stable_sort(entries_.begin(), entries_.end(), Precedes);
    // Of equal neighbours only the last is kept.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i + 1 < entries_.size() && entries_[i].first == entries_[i + 1].first) {
        continue;
      }
      if (kept != i) {
        entries_[kept] = std::move(entries_[i]);
      }
      ++kept;
    }
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(kept), entries_.end());
  }

  std::vector<Entry> entries_;
};

}  // namespace lake::iceberg
