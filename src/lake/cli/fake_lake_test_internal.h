#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lake/cli/connection.h"
#include "lake/cli/context.h"
#include "lake/cli/string_output_test_internal.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/metasrv/service.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/seeded_random.h"

namespace lake::cli {

// A control plane in memory, for tests of commands: namespaces and tables as people see them, operations by id, and no leases,
// files or durability. Single-threaded.
class FakeMetaService final : public metasrv::MetaService {
 public:
  FakeMetaService(Clock& clock, Random& random) : clock_(clock), random_(random) {}

  Result<metasrv::NamespaceResult> CreateNamespace(const metasrv::CreateNamespaceRequest& request,
                                                   const metasrv::CallOptions& options) override;
  Result<metasrv::NamespaceResult> DropNamespace(const catalog::Namespace& ns,
                                                 const metasrv::CallOptions& options) override;
  Result<metasrv::NamespaceResult> SetNamespaceProperties(
      const metasrv::SetNamespacePropertiesRequest& request,
      const metasrv::CallOptions& options) override;
  Result<catalog::NamespaceRecord> LoadNamespace(const catalog::Namespace& ns,
                                                 Deadline deadline) override;
  Result<std::vector<catalog::Namespace>> ListNamespaces(const catalog::Namespace& parent,
                                                         Deadline deadline) override;
  Result<metasrv::LoadedTable> PlanTable(const metasrv::CreateTableRequest& request,
                                         const metasrv::CallOptions& options) override;
  Result<metasrv::TableResult> CreateTable(const metasrv::CreateTableRequest& request,
                                           const metasrv::CallOptions& options) override;
  Result<metasrv::TableResult> RegisterTable(const metasrv::RegisterTableRequest& request,
                                             const metasrv::CallOptions& options) override;
  Result<metasrv::TableResult> RenameTable(const metasrv::RenameRequest& request,
                                           const metasrv::CallOptions& options) override;
  Result<metasrv::TableResult> CommitTable(const metasrv::CommitTableRequest& request,
                                           const metasrv::CallOptions& options) override;
  // Several tables and views are not for the command line: kUnimplemented.
  Result<metasrv::ChangeResult> CommitTables(const metasrv::CommitTablesRequest& request,
                                             const metasrv::CallOptions& options) override;
  Result<metasrv::ChangeResult> CreateView(const metasrv::ViewRequest& request,
                                           const metasrv::CallOptions& options) override;
  Result<metasrv::ChangeResult> ReplaceView(const metasrv::ViewRequest& request,
                                            const metasrv::CallOptions& options) override;
  Result<metasrv::ChangeResult> RenameView(const metasrv::RenameRequest& request,
                                           const metasrv::CallOptions& options) override;
  Result<metasrv::ChangeResult> DropView(const catalog::TableName& name,
                                         const metasrv::CallOptions& options) override;
  Result<catalog::ViewRecord> LoadView(const catalog::TableName& name, Deadline deadline) override;
  Result<std::vector<catalog::TableName>> ListViews(const catalog::Namespace& ns,
                                                    Deadline deadline) override;
  Result<metasrv::TableResult> DropTable(const metasrv::DropTableRequest& request,
                                         const metasrv::CallOptions& options) override;
  Result<metasrv::TableResult> UndropTable(const metasrv::UndropTableRequest& request,
                                           const metasrv::CallOptions& options) override;
  Result<std::vector<metasrv::DroppedTable>> ListDropped(
      const std::optional<catalog::Namespace>& ns, Deadline deadline) override;
  Result<metasrv::PurgeProgress> AwaitPurge(const Uuid& incarnation, Deadline deadline) override;
  Result<metasrv::TableResult> Append(const metasrv::AppendRequest& request,
                                      const metasrv::CallOptions& options) override;
  Result<std::optional<metasrv::TableResult>> FindAppend(
      const metasrv::AppendRequest& request, const metasrv::CallOptions& options) override;
  Result<metasrv::LoadedTable> LoadTable(const catalog::TableName& name,
                                         Deadline deadline) override;
  Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& ns,
                                                     Deadline deadline) override;
  Result<metasrv::OperationView> FindOperation(const Uuid& operation, Deadline deadline) override;
  Result<metasrv::OperationList> ListOperations(std::size_t limit, Deadline deadline) override;
  Result<metasrv::MaintenanceReport> Maintain(const metasrv::MaintenanceRequest& request,
                                              Deadline deadline) override;
  Result<metasrv::ServiceStatus> GetStatus(Deadline deadline) override;

  // Called by the next PlanTable before it does anything.
  void BeforeNextPlan(std::function<void()> then) { before_plan_ = std::move(then); }

  // The next change answers with this error and does nothing.
  void FailNextChange(Error error) { next_error_ = std::move(error); }

  // From now on appends answer with this error and do nothing.
  void FailAppends(Error error) { append_error_ = std::move(error); }

  // Loading this table answers with kCorruption.
  void Damage(const catalog::TableName& name) { damaged_.push_back(name); }

  // What the calls of AwaitPurge answer, in order; when there are no more, that it is done.
  std::deque<Result<metasrv::PurgeProgress>> purges;
  std::vector<metasrv::DropTableRequest> drops;  // In order.
  metasrv::ServiceStatus status;                 // What GetStatus answers, but for the counts.
  metasrv::OperationList operations;             // What ListOperations cuts its answer from.
  // What Maintain answers, in order; then reports of nothing.
  std::deque<Result<metasrv::MaintenanceReport>> reports;
  std::vector<metasrv::MaintenanceRequest> maintained;  // In order.
  std::vector<metasrv::AppendRequest> appended;         // In order.
  metasrv::CallOptions last_change;                     // What the last change was called with.

 private:
  Status Admit(const metasrv::CallOptions& options);

  Clock& clock_;
  Random& random_;
  std::map<catalog::Namespace, catalog::NamespaceRecord> namespaces_;
  std::map<catalog::TableName, metasrv::LoadedTable> tables_;
  std::map<catalog::TableName, metasrv::LoadedTable> dropped_;
  std::map<Uuid, metasrv::TableResult> finished_;
  std::vector<catalog::TableName> damaged_;
  std::optional<Error> next_error_;
  std::optional<Error> append_error_;
  std::function<void()> before_plan_;
};

// Makes one data file of each input, holding nothing but the input's path. Single-threaded.
class FakeDataFileWriter final : public engine::DataFileWriter {
 public:
  FakeDataFileWriter(objstore::ObjectStore& objects, const Clock& clock)
      : objects_(objects), clock_(clock) {}

  Result<engine::StagedFiles> Stage(const engine::StageRequest& request) override;
  Result<iceberg::Schema> InferSchema(const engine::StageInput& input) override;

  std::optional<Error> next_error;   // What the next call answers.
  std::optional<Error> stage_error;  // What the next Stage answers.
  std::vector<engine::StageRequest> staged;
  std::int64_t rows_per_file = 10;  // 0: the inputs hold no rows.

 private:
  objstore::ObjectStore& objects_;
  const Clock& clock_;
};

// A lake to run commands on. Everything but SQL works.
class FakeLake {
 public:
  FakeLake()
      : random(1),
        service(clock, random),
        objects(clock),
        reader(objects, clock),
        writer(objects, clock) {}

  // Returns a context whose commands work on this lake. Both outlive what they run.
  Context MakeContext(bool json = false);

  // Returns the paths of all objects.
  std::vector<std::string> ObjectPaths();

  testing::ManualClock clock;
  testing::SeededRandom random;
  FakeMetaService service;
  objstore::MemoryObjectStore objects;
  engine::SnapshotReader reader;
  FakeDataFileWriter writer;
  StringOutput out;
  std::vector<ConnectRequest> connects;  // In order.
  int writers_started = 0;
  std::optional<Error> connect_error;

 private:
  class FakeConnection;
};

}  // namespace lake::cli
