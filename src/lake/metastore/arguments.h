#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"

namespace lake::metastore {

// What every backend checks before it does anything, so that a call which one backend refuses is
// refused by all of them.

// Checks the keys of a GetTogether: well-formed, each once, at most kTransactionKeysMax.
// kInvalidArgument names the offence.
Status CheckKeysTogether(const std::vector<std::string>& keys);

// Checks what a GetTogether is about to return: keys and values together at most
// kTransactionBytesMax. kInvalidArgument.
Status CheckBytesTogether(std::size_t bytes);

// Checks the arguments of a Scan as MetaStore::Scan describes them. kInvalidArgument names the
// offence.
Status CheckScan(std::string_view prefix, std::string_view after, std::size_t limit);

// kDeadlineExceeded when `deadline` has passed on `clock`; `operation` names what was not begun.
Status CheckDeadline(const Clock& clock, Deadline deadline, std::string_view operation);

// Returns the smallest string that sorts after every string with this prefix, or an empty one when
// there is none.
std::string PrefixEnd(std::string_view prefix);

// Returns a key for a message: in single quotes, bytes outside printable ASCII as \xNN, cut after
// 100 bytes.
std::string QuoteKey(std::string_view key);

}  // namespace lake::metastore
