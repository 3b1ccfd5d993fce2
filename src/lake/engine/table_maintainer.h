#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/table_engine.h"

namespace lake::engine {

// A version that was published, and the one before it, of which it gave snapshots up.
struct ExpiredVersion {
  MetadataPtr before;
  MetadataPtr after;
};

// What a removal came to.
struct FileRemoval {
  std::uint64_t files = 0;  // Removed; also those that were gone already.
  std::uint64_t outside =
      0;  // Needed by nobody, but not below the table's location: left where they are.
};

// Keeps the files of tables tidy. Whatever it removes, nobody who reads an unexpired snapshot, branch or tag needs; where that is not
// certain, it removes nothing and says why. What a crash leaves behind, an orphan removal finds.
//
// Every method may block on the object store until its deadline and returns, besides what it says itself:
//   kUnavailable, kOutcomeUnknown, kDeadlineExceeded   the object store failed, or the time is over; what was removed is removed.
//   kCorruption     a file of the table is damaged or missing, so that it cannot be said what it needs; the message names it.
//   kUnimplemented  it is of a form that Lake does not read. Likewise.
// and what `permit` returned.
// Thread-safe.
class TableMaintainer {
 public:
  // Asked before every effect, at least once for every thousand files: whether the caller may still act. Its error ends the work.
  using Permit = std::function<Status()>;

  virtual ~TableMaintainer() = default;

  // Removes the files that snapshots of `before` reach and no snapshot of `after` does: data and delete files, manifests, their
  // lists, statistics. Only what lies below the table's location is removed. May be done at any time after the publication, also
  // while the table goes on changing: what no snapshot of a version reaches, no later version comes to reach.
  // kInvalidArgument: a path cannot be compared with others; nothing is removed that depends on it.
  virtual Result<FileRemoval> RemoveExpired(const ExpiredVersion& version, const Permit& permit,
                                            Deadline deadline) = 0;
};

}  // namespace lake::engine
