#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/catalog/publications.h"
#include "lake/lease/epoch.h"
#include "lake/lease/fenced_store.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"

namespace lake::metasrv {

// Forgets operations that ended long ago.
//
// The problem: a record is what makes a repeated id answer the same, so it may go only when no such repetition is admitted any more.
// An id is admitted for kOperationRetention by its own time, which may be kOperationAheadMax ahead of the leader's clock; and an
// operation may end long after its id was made. So a record goes when its id and its end are both older than the two together.
//
// Records are kept by the hour of their ids, sixteen shards an hour, each in the order of time. The walk begins at the hour that is
// noted in dir/forgotten and ends at the first one that is young. In a shard it stops at the first young id. What is gone is noted as
// the walk goes on, so that the next one, of whatever leader, begins there. Every removal expects the very bytes that were read, and
// that the operation is not pending.
//
// Thread-safe. What it is given must outlive it.
class OperationExpiry {
 public:
  struct Deps {
    lease::FencedStore& store;
    const RecordReader& reader;
    const Operations& operations;
    const Clock& clock;
  };

  explicit OperationExpiry(Deps deps) : deps_(deps) {}

  // What a walk did.
  struct Report {
    std::uint64_t removed = 0;  // In a dry run: would have been removed.
    std::uint64_t pages = 0;    // Read.
    bool complete =
        true;  // False: the deadline came first. Another walk goes on where this one ended.
    std::vector<std::string>
        problems;  // Records that were passed over, at most kProblemsMax; one sentence each.
  };

  // The most problems that one report lists.
  static constexpr std::size_t kProblemsMax = 100;

  // Walks under `epoch` until all is done or `deadline` comes. A record that does not decode is reported and passed over.
  //   kFenced, kNotLeader   another process leads. What was removed is removed.
  //   kUnavailable, kOutcomeUnknown, kCorruption (of dir/forgotten)   as of the store. Walk again later.
  Result<Report> Run(lease::Epoch epoch, bool dry_run, Deadline deadline) const;

 private:
  class Walk;

  const Deps deps_;
};

}  // namespace lake::metasrv
