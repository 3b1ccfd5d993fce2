#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/task_group.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/records.h"
#include "lake/engine/table_engine.h"
#include "lake/lease/epoch.h"
#include "lake/lease/fenced_store.h"
#include "lake/metasrv/locations.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"
#include "lake/metasrv/service.h"

namespace lake::metasrv {

// What a sweep over the dropped tables did.
struct DropSweep {
  std::size_t started = 0;    // Purges that were started or are waiting for a worker.
  std::size_t forgotten = 0;  // Tombstones that were too old to bring their tables back.
  std::size_t failed =
      0;               // Tombstones that are damaged or could not be dealt with. They are logged.
  bool whole = false;  // It came to the end; otherwise the next sweep goes on from there.
  std::vector<std::string> problems;  // One sentence for each that failed, of the first hundred.
};

// What has become of the purges of a process.
struct PurgeSummary {
  std::size_t running = 0;            // They go on, or wait for a worker.
  std::size_t ended = 0;              // All their files are removed.
  std::uint64_t removed = 0;          // Files.
  std::vector<std::string> problems;  // One sentence for each that stopped with an error.
};

// What happens to a table after its drop was published: its files are removed, if that was asked for, and in the end its tombstone goes
// (docs/internals/drop.md).
//
// A purge is the work of one epoch. Before every step it makes sure that this process still leads, so that a leader that was deposed
// stops; its successor resumes from the tombstone. Nothing is removed for which there is no tombstone in the state "purging".
//
// Thread-safe. What it is given must outlive it.
class Drops {
 public:
  struct Deps {
    lease::FencedStore& store;
    const RecordReader& reader;
    const Operations& operations;
    const Locations& locations;
    engine::TableEngine& engine;
    Clock& clock;
  };

  struct Options {
    Duration undrop_retention;  // How long a dropped table can be brought back.
    Duration engine_timeout;    // Of one step of a removal.
    std::size_t workers = 2;    // Purges at a time.
  };

  Drops(Deps deps, Options options);
  // Stops.
  ~Drops();
  Drops(const Drops&) = delete;
  Drops& operator=(const Drops&) = delete;

  // Interrupts the purges after their present step and returns when all have ended. What is left is for whoever leads next.
  void Stop() EXCLUDES(mutex_);

  // Purges a table whose tombstone says so, in a task of its own; returns false when that is going on already. kUnavailable: too
  // many are waiting; a sweep will come by. kCancelled: stopped.
  Result<bool> StartPurge(const Uuid& incarnation, lease::Epoch epoch) EXCLUDES(mutex_);

  // Goes through the dropped tables: starts the purges that nobody runs, also those that stopped with an error, and forgets tombstones
  // that are older than the retention. At most `budget` tables are dealt with; the next sweep goes on after them.
  //   kNotLeader, kFenced   this process does not lead.     kUnavailable, kDeadlineExceeded   it could not go on.
  Result<DropSweep> Sweep(Deadline deadline, std::size_t budget) EXCLUDES(mutex_);

  // Says what a sweep over all dropped tables would do, and does nothing: `started` are those that are being purged. Errors as for
  // Sweep.
  Result<DropSweep> Survey(Deadline deadline) EXCLUDES(mutex_);

  // Starts the purges that nobody runs, and nothing else. Errors as for Sweep.
  Status ResumePurges(Deadline deadline) EXCLUDES(mutex_);

  // Waits until no purge runs here, or until the deadline.
  void AwaitIdle(Deadline deadline) EXCLUDES(mutex_);

  // Waits as AwaitIdle does and says what has become of the purges since the last such call: an end, an error and a removed file are
  // told once. Those that stopped because this process no longer leads are left out.
  PurgeSummary AwaitPurges(Deadline deadline) EXCLUDES(mutex_);

  // Waits until the purge of a table has ended, or until the deadline, and returns how far it has come; starts it if nobody runs it. A
  // table without a tombstone is done. The error that stopped a purge is returned as it is, once; the next call or sweep tries again.
  //   kConflict   the table was dropped to keep its files.      kNotLeader   another process does it.
  Result<PurgeProgress> Await(const Uuid& incarnation, Deadline deadline) EXCLUDES(mutex_);

 private:
  // A purge of this process, that runs or has ended.
  struct Purge {
    bool running = true;
    std::uint64_t removed = 0;
    Status outcome;
    // What AwaitPurges has told of it.
    std::uint64_t removed_told = 0;
    bool end_told = false;
  };

  // What is done with the tombstones that are visited.
  enum class Visiting {
    kLook,    // Nothing.
    kResume,  // Purges are started.
    kSweep,   // Purges are started, and old tombstones forgotten.
  };

  struct Found {
    Uuid incarnation;
    std::string bytes;
    catalog::Tombstone tombstone;
  };

  void Run(const Uuid& incarnation, lease::Epoch epoch) EXCLUDES(mutex_);
  Status Remove(const Uuid& incarnation, lease::Epoch epoch) EXCLUDES(mutex_);
  // Await for a purge of this process; nothing when there is none.
  Result<std::optional<PurgeProgress>> AwaitKnown(const Uuid& incarnation, Deadline deadline)
      EXCLUDES(mutex_);
  Status CheckAuthority(lease::Epoch epoch) EXCLUDES(mutex_);
  Result<std::optional<Found>> ReadTombstone(const Uuid& incarnation) const;
  // Publishes that a drop has ended. False: it had ended before, or the table was brought back.
  Result<bool> End(const Found& found, lease::Epoch epoch) const;
  // Deals with one dropped table; returns whether there was anything to do.
  Result<bool> Visit(const Found& found, lease::Epoch epoch, Visiting visiting, DropSweep& sweep)
      EXCLUDES(mutex_);
  // Visits the tombstones after `after` until `budget` were dealt with, and leaves `after` where it ended.
  Result<DropSweep> VisitAll(std::string& after, Visiting visiting, Deadline deadline,
                             std::size_t budget) EXCLUDES(mutex_);

  const Deps deps_;
  const Options options_;

  Mutex mutex_;
  CondVar changed_;  // A purge went on or ended, or stopping_ was set.
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::map<Uuid, Purge> purges_ GUARDED_BY(mutex_);
  std::string sweep_after_ GUARDED_BY(mutex_);  // The key after which the next sweep goes on.

  TaskGroup workers_;
};

}  // namespace lake::metasrv
