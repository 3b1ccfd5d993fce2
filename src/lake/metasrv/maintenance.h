#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/task_group.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/publications.h"
#include "lake/catalog/records.h"
#include "lake/engine/table_engine.h"
#include "lake/engine/table_maintainer.h"
#include "lake/lease/epoch.h"
#include "lake/lease/fenced_store.h"
#include "lake/metasrv/drops.h"
#include "lake/metasrv/maintenance_report.h"
#include "lake/metasrv/operation_expiry.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"
#include "lake/metasrv/service.h"
#include "lake/metasrv/settler.h"
#include "lake/metasrv/table_queue.h"
#include "lake/metasrv/version_maker.h"

namespace lake::metasrv {

// Keeps the store and its tables tidy, as the leader, in bounded pages.
//
// Everything it does to a table's metadata is an operation like any other: reserved, written and published in the table's turn, so
// that it neither loses nor delays a change for longer than that takes. What follows a publication, the removal of files that nobody
// needs any more, is done outside the turn. It belongs to the epoch under which it began: whether that epoch still lasts is asked
// before every effect, and the store's fence asks again.
//
// Several tables are maintained at once, on threads of its own, and each by one thread. A table that fails is reported, and
// holds up no other.
//
// Thread-safe. What it is given must outlive it.
class Maintenance {
 public:
  struct Deps {
    lease::FencedStore& store;
    const RecordReader& reader;
    const Operations& operations;
    Settler& settler;
    Drops& drops;
    const VersionMaker& versions;
    engine::TableEngine& engine;
    engine::TableMaintainer& maintainer;
    TableQueue& queue;
    Clock& clock;
    Random& random;
  };

  struct Options {
    std::size_t tables_at_once = 2;
    Duration engine_timeout;
  };

  Maintenance(Deps deps, Options options);
  // Stops.
  ~Maintenance();
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;

  // Takes no more work and returns when what was begun has ended, which the next effect brings about. Idempotent.
  void Stop();

  // See MetaService::Maintain.
  Result<MaintenanceReport> Run(const MaintenanceRequest& request, Deadline deadline);

 private:
  class Sweep;
  struct Expired;
  struct Merge;

  // A table in its turn.
  struct Table {
    catalog::TableName name;
    catalog::Registration registration;  // As the sweep found it.
  };

  // A table as it is found in its turn, for its next version to be made on.
  struct TurnBase {
    catalog::Stored<catalog::Registration> registration;
    engine::MetadataPtr metadata;
  };

  // What a call works under.
  struct Work {
    MaintenanceRequest request;
    lease::Epoch epoch;
    Deadline deadline;
  };

  // Starts the purges, which go on while the rest is done.
  Status SweepDropped(const Work& work, MaintenanceReport& report);
  // Waits for them, as long as the call may take: whoever calls may end the process when it returns.
  Status AwaitPurges(const Work& work, MaintenanceReport& report);
  Status SettleAll(const Work& work, MaintenanceReport& report);
  Status ForgetOperations(const Work& work, MaintenanceReport& report);
  Status SweepTables(const Work& work, MaintenanceReport& report);
  // Finds the tables of one page and returns whether there are more.
  Result<bool> FindTables(const Work& work, Sweep& sweep, MaintenanceReport& report);
  void MaintainTables(const std::shared_ptr<Sweep>& sweep);

  // Each does one step for one table.
  Status MergeManifests(const Work& work, const Table& table, TableMaintenance& report);
  Status MergeInTurn(const Work& work, const Table& table, Merge& merge);
  Status ExpireSnapshots(const Work& work, const Table& table, TableMaintenance& report);
  Status ExpireInTurn(const Work& work, const Table& table, Expired& expired);

  Status RemoveOrphans(const Work& work, const Table& table, TableMaintenance& report);
  Result<engine::TableNeeds> ReadNeeds(const Work& work, const Table& table) const;

  // Settles the table and reads it, in its turn; nothing when it was dropped, renamed or replaced meanwhile.
  Result<std::optional<TurnBase>> ReadInTurn(const Work& work, const Table& table);
  // Returns the reservation of the version that follows.
  catalog::PendingTable PlanVersion(const Work& work, const Table& table,
                                    const TurnBase& base) const;
  // Runs `work` in its turn of `key`, and waits for it until the deadline.
  Status RunInTurn(const std::string& key, Deadline deadline, std::function<Status()> work);
  // Returns the change that one step is.
  Change Begin(const Work& work, catalog::OperationKind kind, const catalog::TableName& name) const;
  // kFenced, kNotLeader, kCancelled: nothing may be done any more for work that began under `epoch`.
  Status MayGoOn(lease::Epoch epoch) const;

  const Deps deps_;
  const Options options_;
  const OperationExpiry operation_expiry_;
  std::atomic<bool> stopping_ = false;
  TaskGroup workers_;
};

}  // namespace lake::metasrv
