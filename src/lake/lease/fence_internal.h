#pragma once

#include <cstddef>

#include "lake/base/result.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/epoch.h"
#include "lake/lease/lease_guard.h"
#include "lake/metastore/transaction.h"

// What the direct way and the lane have in common.
namespace lake::lease {

// The place of the term check in every transaction that is sent.
inline constexpr std::size_t kTermItem = 0;

// Returns kFenced when work that began under `begun_under` does not belong to `authority`.
Status CheckEpoch(const Authority& authority, Epoch begun_under);

// Returns the latest authority of `slot` for work that began under `begun_under`. kNotLeader when
// there is none, kFenced when it is of another epoch.
Result<Authority> AuthorityFor(const AuthoritySlot& slot, Epoch begun_under);

// Returns a transaction that holds only the check of the term, as item kTermItem.
metastore::Transaction TermCheck(const LeaseGuard& guard);

// Adds a copy of `item` at the end.
void AppendItem(const metastore::Item& item, metastore::Transaction& transaction);

// Returns whether the term is among the failed expectations.
bool IsTermFailure(const metastore::Rejected& rejected);

// Drops the authority of `epoch` and returns the kFenced that says so.
Error DropFenced(Epoch epoch, AuthoritySlot& slot);

}  // namespace lake::lease
