#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lake/base/time.h"
#include "lake/catalog/names.h"

namespace lake::metasrv {

// What maintenance does, in this order.
enum class MaintenanceStep {
  kDropped,          // Resume purges, and forget tables that were dropped long ago.
  kSettle,           // End what was left pending.
  kOperations,       // Forget operations that ended long ago.
  kMergeManifests,   // Make few of many small manifests.
  kExpireSnapshots,  // Give up old snapshots and refs, and remove what only they reach.
  kRemoveOrphans,    // Remove old files that nothing needs. Only when it is asked for.
};

// How old a file must be to be removed as an orphan, if nobody says otherwise, and at least: whoever writes files publishes them within
// that time, or may lose them.
inline constexpr std::chrono::milliseconds kOrphanAgeDefault = std::chrono::days(3);
inline constexpr std::chrono::milliseconds kOrphanAgeMin = std::chrono::hours(24);

// Keep the store and its tables tidy.
struct MaintenanceRequest {
  // Only this table's steps. Without it: the whole store, every table.
  std::optional<catalog::TableName> table;
  std::set<MaintenanceStep> steps = {MaintenanceStep::kDropped, MaintenanceStep::kSettle,
                                     MaintenanceStep::kOperations, MaintenanceStep::kMergeManifests,
                                     MaintenanceStep::kExpireSnapshots};
  bool dry_run = false;  // Say what would be done and change nothing.
  std::chrono::milliseconds orphan_age = kOrphanAgeDefault;  // At least kOrphanAgeMin.
  // Where an earlier call ended: its report's `next`. What is not of a table is done by a call without it.
  std::string after;
};

// The most tables that one call looks at. A report that is not complete asks for another call.
inline constexpr std::size_t kMaintenanceTablesMax = 1000;

// What was done to one table; in a dry run, what would be.
struct TableMaintenance {
  catalog::TableName name;
  std::uint64_t manifests_merged = 0;   // Of the current snapshot: so many
  std::uint64_t manifests_written = 0;  // became so many.
  std::uint64_t snapshots_expired = 0;
  std::uint64_t refs_expired = 0;
  std::uint64_t files_removed = 0;  // Not known in a dry run.
  std::uint64_t files_outside = 0;  // Needed by nobody, but not below the table's location: left.
  std::uint64_t orphans_removed = 0;
  std::uint64_t orphan_bytes = 0;
  std::vector<std::string> orphan_paths;  // The first hundred.
  // What could not be done, one sentence each. The table is as sound as before; a later call tries again.
  std::vector<std::string> problems;

  bool empty() const {
    return manifests_merged == 0 && snapshots_expired == 0 && refs_expired == 0 &&
           files_removed == 0 && files_outside == 0 && orphans_removed == 0 && problems.empty();
  }
};

// What one call did; in a dry run, what it would do.
struct MaintenanceReport {
  bool dry_run = false;
  std::uint64_t purges_ended =
      0;  // Dropped tables whose files are all removed. Not known in a dry run.
  std::uint64_t purges_running = 0;    // Dropped tables whose files are still being removed.
  std::uint64_t files_purged = 0;      // Not known in a dry run.
  std::uint64_t tables_forgotten = 0;  // Dropped tables that can no longer be brought back.
  std::uint64_t operations_settled = 0;
  std::uint64_t operations_forgotten = 0;
  std::uint64_t tables_seen = 0;
  std::vector<TableMaintenance> tables;  // Those of which there is something to say, by name.
  std::vector<std::string> problems;     // Records that were passed over, and steps that failed.
  // Whether all is done. Otherwise another call is to go on from `next`, which is empty if no table was reached.
  bool complete = true;
  std::string next;
};

}  // namespace lake::metasrv
