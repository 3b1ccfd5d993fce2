#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/task_group.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/catalog/publications.h"
#include "lake/catalog/records.h"
#include "lake/engine/table_engine.h"
#include "lake/engine/table_maintainer.h"
#include "lake/lease/epoch.h"
#include "lake/lease/fenced_store.h"
#include "lake/metasrv/append_service.h"
#include "lake/metasrv/drops.h"
#include "lake/metasrv/locations.h"
#include "lake/metasrv/maintenance.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"
#include "lake/metasrv/service.h"
#include "lake/metasrv/settler.h"
#include "lake/metasrv/table_queue.h"
#include "lake/metasrv/version_maker.h"

namespace lake::metasrv {

// The control plane in the process that leads, or wants to.
//
// Every change is an operation: reserve, engine commit, publish (docs/internals/operations.md). All publications go through one
// FencedStore, so that none of them takes effect after another process has won the lease. A change of a table runs in an owned task:
// whoever waits for it may go away without stopping it between engine commit and publication. The changes of one table run one
// after another; different tables run in parallel.
//
// What an earlier leader left half done is settled before anything else happens to its table.
//
// Thread-safe. What it is given must outlive it.
class Metasrv final : public MetaService {
 public:
  struct Deps {
    lease::FencedStore& store;
    engine::TableEngine& engine;
    engine::TableMaintainer& maintainer;
    Clock& clock;
    Random& random;
  };

  struct Options {
    Uuid session;           // Of this process; written into reservations.
    std::string warehouse;  // New tables go to <warehouse>/<incarnation>. No trailing slash.
    std::size_t workers = 4;
    std::size_t waiting_max = 1000;                          // Changes of one table that may wait.
    Duration store_timeout = std::chrono::seconds(10);       // Of one call to the MetaStore.
    Duration engine_timeout = std::chrono::seconds(120);     // Of one engine commit.
    Duration undrop_retention = std::chrono::hours(24 * 7);  // How long a dropped table is kept.
  };

  Metasrv(Deps deps, Options options);
  // Stops.
  ~Metasrv() override;
  Metasrv(const Metasrv&) = delete;
  Metasrv& operator=(const Metasrv&) = delete;

  // Takes no more changes of tables and returns when those already begun have ended. Idempotent.
  void Stop();

  // Finds what earlier leaders left pending and settles it, each table in its own turn; to be called when a term was won. Blocks
  // until each has been settled or could not be, at most until the deadline; what is not done then goes on by itself. Changes do
  // not depend on it: they settle their own table first. Reads do: a table whose creation is pending is not there yet. What cannot
  // be settled now is logged, holds up only its own table, and is tried again with the table's next change. Purges that nobody runs are
  // started, and awaited for two seconds at most; they go on by themselves.
  // kNotLeader: there is no authority. kUnavailable: the store failed.
  Status Recover(Deadline deadline);

  // Deals with dropped tables; see Drops::Sweep.
  Result<DropSweep> SweepDrops(Deadline deadline, std::size_t budget);

  Result<NamespaceResult> CreateNamespace(const CreateNamespaceRequest& request,
                                          const CallOptions& options) override;
  Result<NamespaceResult> DropNamespace(const catalog::Namespace& ns,
                                        const CallOptions& options) override;
  Result<NamespaceResult> SetNamespaceProperties(const SetNamespacePropertiesRequest& request,
                                                 const CallOptions& options) override;
  Result<catalog::NamespaceRecord> LoadNamespace(const catalog::Namespace& ns,
                                                 Deadline deadline) override;
  Result<std::vector<catalog::Namespace>> ListNamespaces(const catalog::Namespace& parent,
                                                         Deadline deadline) override;
  Result<LoadedTable> PlanTable(const CreateTableRequest& request,
                                const CallOptions& options) override;
  Result<TableResult> CreateTable(const CreateTableRequest& request,
                                  const CallOptions& options) override;
  Result<TableResult> RegisterTable(const RegisterTableRequest& request,
                                    const CallOptions& options) override;
  Result<TableResult> RenameTable(const RenameRequest& request,
                                  const CallOptions& options) override;
  Result<TableResult> CommitTable(const CommitTableRequest& request,
                                  const CallOptions& options) override;
  Result<ChangeResult> CommitTables(const CommitTablesRequest& request,
                                    const CallOptions& options) override;
  Result<TableResult> DropTable(const DropTableRequest& request,
                                const CallOptions& options) override;
  Result<TableResult> UndropTable(const UndropTableRequest& request,
                                  const CallOptions& options) override;
  Result<std::vector<DroppedTable>> ListDropped(const std::optional<catalog::Namespace>& ns,
                                                Deadline deadline) override;
  Result<PurgeProgress> AwaitPurge(const Uuid& incarnation, Deadline deadline) override;
  Result<TableResult> Append(const AppendRequest& request, const CallOptions& options) override;
  Result<std::optional<TableResult>> FindAppend(const AppendRequest& request,
                                                const CallOptions& options) override;
  Result<LoadedTable> LoadTable(const catalog::TableName& name, Deadline deadline) override;
  Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& ns,
                                                     Deadline deadline) override;
  Result<ChangeResult> CreateView(const ViewRequest& request, const CallOptions& options) override;
  Result<ChangeResult> ReplaceView(const ViewRequest& request, const CallOptions& options) override;
  Result<ChangeResult> RenameView(const RenameRequest& request,
                                  const CallOptions& options) override;
  Result<ChangeResult> DropView(const catalog::TableName& name,
                                const CallOptions& options) override;
  Result<catalog::ViewRecord> LoadView(const catalog::TableName& name, Deadline deadline) override;
  Result<std::vector<catalog::TableName>> ListViews(const catalog::Namespace& ns,
                                                    Deadline deadline) override;
  Result<OperationView> FindOperation(const Uuid& operation, Deadline deadline) override;
  Result<OperationList> ListOperations(std::size_t limit, Deadline deadline) override;
  Result<MaintenanceReport> Maintain(const MaintenanceRequest& request, Deadline deadline) override;
  Result<ServiceStatus> GetStatus(Deadline deadline) override;

 private:
  // Admits a change under the present epoch, whose leftovers are known.
  Result<Change> Begin(RequestStatement statement, const CallOptions& options);
  // Runs `work` in its turn of every key and waits for it until the caller's deadline.
  Result<TableResult> RunInTurns(const std::set<std::string>& keys, Deadline deadline,
                                 std::function<Result<TableResult>()> work);
  Result<TableResult> RunInTurn(const std::string& key, Deadline deadline,
                                std::function<Result<TableResult>()> work);
  // Returns the earlier outcome of a change, after settling it if it is pending. It is visible in `table` and in `others`.
  Result<std::optional<TableResult>> FindEarlier(
      const Change& change, const std::optional<catalog::TableName>& table,
      const std::vector<catalog::TableName>& others = {});
  // Returns what is answered for a change that makes no version of one table.
  static Result<ChangeResult> WithoutVersion(const Result<TableResult>& result);
  // One attempt at a change that is one publication; nothing when what it had read changed meanwhile.
  using Attempt = std::function<Result<std::optional<TableResult>>()>;
  // Returns the earlier outcome of a change, or that of the first attempt that nobody disturbs. kUnavailable when `what` keeps
  // changing.
  Result<TableResult> Publish(const Change& change, const std::vector<catalog::TableName>& tables,
                              const std::string& what, const Attempt& attempt);
  // Commits an attempt's transaction; nothing when it was rejected.
  Result<std::optional<TableResult>> CommitAttempt(const metastore::Transaction& transaction,
                                                   const Change& change, const TableResult& result);

  // Returns what the caller of `operation` may be told: a call that failed for now says nothing of an operation that is known to be
  // open from an earlier one.
  Result<TableResult> WithoutFalseCertainty(const Uuid& operation, Result<TableResult> result);

  // namespaces.cc
  Result<std::optional<TableResult>> TryCreateNamespace(const CreateNamespaceRequest& request,
                                                        const Change& change);
  Result<std::optional<TableResult>> TryDropNamespace(const catalog::Namespace& ns,
                                                      const Change& change);
  Result<std::optional<TableResult>> TrySetNamespaceProperties(
      const SetNamespacePropertiesRequest& request, const Change& change);
  Result<bool> IsEmpty(const catalog::Namespace& ns);

  // tables.cc. Those that end in InTurn run in the table's turn.
  // kConflict: the table's files may belong to others.
  Status CheckOwnsItsFiles(const catalog::TableName& name,
                           const catalog::Registration& registration);
  Result<Change> BeginCreate(const CreateTableRequest& request, const CallOptions& options);
  engine::CreatePlan PlanCreate(const CreateTableRequest& request, const Change& change) const;
  Result<TableResult> CreateInTurn(const CreateTableRequest& request, const Change& change);
  Result<std::optional<TableResult>> TryRegisterTable(const RegisterTableRequest& request,
                                                      const Change& change);
  Status CheckNameIsFree(const catalog::TableName& name) const;

  // dropping.cc.
  struct FoundTombstone {
    Uuid incarnation;
    std::string bytes;
    catalog::Tombstone tombstone;
  };

  Result<std::optional<TableResult>> TryDropTable(const DropTableRequest& request,
                                                  const Uuid& incarnation, const Change& change);
  Result<std::optional<TableResult>> TryUndropTable(const UndropTableRequest& request,
                                                    const Change& change);
  // Returns the tombstone that is to be undropped. kNotFound, kConflict as of UndropTable.
  Result<FoundTombstone> FindDropped(const UndropTableRequest& request, Deadline deadline) const;
  Result<catalog::Undropping> PlanUndrop(const UndropTableRequest& request, const Change& change,
                                         Deadline deadline) const;

  // renames.cc
  Result<std::optional<TableResult>> TryRenameTable(const RenameRequest& request,
                                                    const Uuid& incarnation, const Change& change);
  Result<std::optional<TableResult>> TryRenameView(const RenameRequest& request,
                                                   const Change& change);

  // commits.cc. A table of a commit as it was read in its turn.
  struct CommitBase {
    catalog::Stored<catalog::Registration> registration;
    engine::MetadataPtr metadata;
  };

  Result<TableResult> Commit(std::vector<TableCommit> commits, Change change, Deadline deadline);
  Result<std::optional<TableResult>> TryCommit(const std::vector<TableCommit>& commits,
                                               const std::vector<Uuid>& incarnations,
                                               const Change& change);
  Result<std::vector<CommitBase>> ReadBases(const std::vector<TableCommit>& commits,
                                            const std::vector<Uuid>& incarnations,
                                            const Change& change);
  static bool AreMade(const std::vector<TableCommit>& commits, const std::vector<CommitBase>& bases,
                      bool refused);
  Status CheckAddedSnapshots(const std::vector<TableCommit>& commits,
                             const std::vector<CommitBase>& bases);
  Result<std::vector<catalog::NextVersion>> WriteVersions(const std::vector<TableCommit>& commits,
                                                          const std::vector<CommitBase>& bases,
                                                          const Change& change);
  void RemoveVersions(const std::vector<catalog::NextVersion>& versions);

  // views.cc
  Result<std::optional<TableResult>> TryCreateView(const ViewRequest& request,
                                                   const Change& change);
  Result<std::optional<TableResult>> TryReplaceView(const ViewRequest& request,
                                                    const Change& change);
  Result<std::optional<TableResult>> TryDropView(const catalog::TableName& name,
                                                 const Change& change);

  const Deps deps_;
  const Options options_;
  const RecordReader reader_;
  const Operations operations_;
  Settler settler_;
  const VersionMaker versions_;
  TaskGroup workers_;
  TableQueue queue_;
  AppendService appends_;
  const Locations locations_;
  Drops drops_;
  Maintenance maintenance_;
};

}  // namespace lake::metasrv
