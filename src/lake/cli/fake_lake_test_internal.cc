#include "lake/cli/fake_lake_test_internal.h"

#include <algorithm>
#include <utility>

#include "lake/iceberg/snapshot_summary.h"
#include "lake/iceberg/table_create.h"
#include "lake/iceberg/table_requirement.h"
#include "lake/iceberg/table_update_apply.h"

namespace lake::cli {
namespace {

constexpr std::uint64_t kEpoch = 7;

std::unexpected<Error> NotForCommands() {
  return Unimplemented("no command does this");
}

}  // namespace

Status FakeMetaService::Admit(const metasrv::CallOptions& options) {
  last_change = options;
  if (next_error_.has_value()) {
    return std::unexpected(*std::exchange(next_error_, std::nullopt));
  }
  return {};
}

Result<metasrv::NamespaceResult> FakeMetaService::CreateNamespace(
    const metasrv::CreateNamespaceRequest& request, const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  if (finished_.contains(options.operation)) {
    return metasrv::NamespaceResult{.epoch = kEpoch, .replayed = true};
  }
  const catalog::Namespace parent = request.ns.parent();
  if (!parent.levels.empty() && !namespaces_.contains(parent)) {
    return NotFound("namespace " + parent.ToString() + " does not exist");
  }
  if (!namespaces_
           .emplace(request.ns,
                    catalog::NamespaceRecord{.properties = request.properties, .unknown = ""})
           .second) {
    return AlreadyExists("namespace " + request.ns.ToString() + " already exists");
  }
  finished_[options.operation] = {.epoch = kEpoch};
  return metasrv::NamespaceResult{.epoch = kEpoch};
}

Result<metasrv::NamespaceResult> FakeMetaService::DropNamespace(
    const catalog::Namespace& ns, const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  const bool used =
      std::ranges::any_of(tables_, [&](const auto& entry) { return entry.first.ns == ns; });
  if (used) {
    return Conflict("namespace " + ns.ToString() + " is not empty");
  }
  if (namespaces_.erase(ns) == 0) {
    return NotFound("namespace " + ns.ToString() + " does not exist");
  }
  return metasrv::NamespaceResult{.epoch = kEpoch};
}

Result<metasrv::NamespaceResult> FakeMetaService::SetNamespaceProperties(
    const metasrv::SetNamespacePropertiesRequest& request, const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  const auto found = namespaces_.find(request.ns);
  if (found == namespaces_.end()) {
    return NotFound("namespace " + request.ns.ToString() + " does not exist");
  }
  for (const auto& [key, value] : request.updates) {
    found->second.properties.insert_or_assign(key, value);
  }
  for (const std::string& key : request.removals) {
    found->second.properties.erase(key);
  }
  return metasrv::NamespaceResult{.epoch = kEpoch};
}

Result<catalog::NamespaceRecord> FakeMetaService::LoadNamespace(const catalog::Namespace& ns,
                                                                Deadline /*deadline*/) {
  const auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) {
    return NotFound("namespace " + ns.ToString() + " does not exist");
  }
  return found->second;
}

Result<std::vector<catalog::Namespace>> FakeMetaService::ListNamespaces(
    const catalog::Namespace& parent, Deadline /*deadline*/) {
  std::vector<catalog::Namespace> names;
  for (const auto& [ns, record] : namespaces_) {
    const bool below = ns.levels.size() > parent.levels.size() &&
                       std::equal(parent.levels.begin(), parent.levels.end(), ns.levels.begin());
    if (below) {
      names.push_back(ns);
    }
  }
  return names;
}

Result<metasrv::LoadedTable> FakeMetaService::PlanTable(const metasrv::CreateTableRequest& request,
                                                        const metasrv::CallOptions& options) {
  if (before_plan_) {
    std::exchange(before_plan_, nullptr)();
  }
  if (!namespaces_.contains(request.name.ns)) {
    return NotFound("namespace " + request.name.ns.ToString() + " does not exist");
  }
  if (tables_.contains(request.name)) {
    return AlreadyExists("table " + request.name.ToString() + " already exists");
  }
  const Uuid incarnation = Uuid::Hashed8(options.operation.ToString());
  const std::string location = "/warehouse/" + incarnation.ToString();
  LAKE_TRY(iceberg::TableMetadata metadata,
           iceberg::NewTableMetadata(
               {.table_uuid = incarnation,
                .location = location,
                .schema = request.schema,
                .properties = {request.properties.begin(), request.properties.end()},
                .now = clock_.WallNow()}));
  return metasrv::LoadedTable{
      .name = request.name,
      .registration = {.incarnation = incarnation,
                       .location = location,
                       .metadata_location = location + "/metadata/1.json",
                       .version = 1},
      .metadata = std::make_shared<const iceberg::TableMetadata>(std::move(metadata))};
}

Result<metasrv::TableResult> FakeMetaService::CreateTable(
    const metasrv::CreateTableRequest& request, const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  LAKE_TRY(const metasrv::LoadedTable table, PlanTable(request, options));
  tables_.emplace(request.name, table);
  return metasrv::TableResult{.incarnation = table.registration.incarnation,
                              .metadata_location = table.registration.metadata_location,
                              .epoch = kEpoch};
}

Result<metasrv::TableResult> FakeMetaService::RegisterTable(
    const metasrv::RegisterTableRequest& request, const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  return metasrv::TableResult{.incarnation = Uuid::Random4(random_),
                              .metadata_location = request.metadata_location,
                              .epoch = kEpoch};
}

Result<metasrv::TableResult> FakeMetaService::RenameTable(const metasrv::RenameRequest& request,
                                                          const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  LAKE_TRY(metasrv::LoadedTable table, LoadTable(request.from, options.deadline));
  if (tables_.contains(request.to)) {
    return AlreadyExists("table " + request.to.ToString() + " already exists");
  }
  if (!namespaces_.contains(request.to.ns)) {
    return NotFound("namespace " + request.to.ns.ToString() + " does not exist");
  }
  tables_.erase(request.from);
  table.name = request.to;
  const catalog::Registration registration = table.registration;
  tables_.emplace(request.to, std::move(table));
  return metasrv::TableResult{.incarnation = registration.incarnation,
                              .metadata_location = registration.metadata_location,
                              .epoch = kEpoch};
}

Result<metasrv::TableResult> FakeMetaService::CommitTable(
    const metasrv::CommitTableRequest& request, const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  LAKE_TRY_VOID(LoadTable(request.commit.name, options.deadline));
  metasrv::LoadedTable& table = tables_.at(request.commit.name);
  LAKE_TRY_VOID(iceberg::CheckRequirements(table.metadata.get(), request.commit.requirements));
  LAKE_TRY(iceberg::TableMetadata next,
           iceberg::ApplyUpdates(
               *table.metadata, request.commit.updates,
               {.now = clock_.WallNow(), .base_location = table.registration.metadata_location}));
  table.metadata = std::make_shared<const iceberg::TableMetadata>(std::move(next));
  return metasrv::TableResult{.incarnation = table.registration.incarnation,
                              .metadata_location = table.registration.metadata_location,
                              .epoch = kEpoch};
}

Result<metasrv::ChangeResult> FakeMetaService::CommitTables(
    const metasrv::CommitTablesRequest& /*request*/, const metasrv::CallOptions& /*options*/) {
  return NotForCommands();
}

Result<metasrv::ChangeResult> FakeMetaService::CreateView(const metasrv::ViewRequest& /*request*/,
                                                          const metasrv::CallOptions& /*options*/) {
  return NotForCommands();
}

Result<metasrv::ChangeResult> FakeMetaService::ReplaceView(
    const metasrv::ViewRequest& /*request*/, const metasrv::CallOptions& /*options*/) {
  return NotForCommands();
}

Result<metasrv::ChangeResult> FakeMetaService::RenameView(const metasrv::RenameRequest& /*request*/,
                                                          const metasrv::CallOptions& /*options*/) {
  return NotForCommands();
}

Result<metasrv::ChangeResult> FakeMetaService::DropView(const catalog::TableName& /*name*/,
                                                        const metasrv::CallOptions& /*options*/) {
  return NotForCommands();
}

Result<catalog::ViewRecord> FakeMetaService::LoadView(const catalog::TableName& /*name*/,
                                                      Deadline /*deadline*/) {
  return NotForCommands();
}

Result<std::vector<catalog::TableName>> FakeMetaService::ListViews(const catalog::Namespace& /*ns*/,
                                                                   Deadline /*deadline*/) {
  return NotForCommands();
}

Result<metasrv::TableResult> FakeMetaService::DropTable(const metasrv::DropTableRequest& request,
                                                        const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  const auto found = tables_.find(request.name);
  if (found == tables_.end()) {
    return NotFound("table " + request.name.ToString() + " does not exist");
  }
  drops.push_back(request);
  const catalog::Registration dropped = found->second.registration;
  if (!request.purge) {
    dropped_[request.name] = found->second;
  }
  tables_.erase(found);
  return metasrv::TableResult{.incarnation = dropped.incarnation,
                              .metadata_location = dropped.metadata_location,
                              .epoch = kEpoch};
}

Result<metasrv::TableResult> FakeMetaService::UndropTable(
    const metasrv::UndropTableRequest& request, const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  if (tables_.contains(request.name)) {
    return AlreadyExists("table " + request.name.ToString() + " already exists");
  }
  const auto found = dropped_.find(request.name);
  if (found == dropped_.end() || (request.incarnation.has_value() &&
                                  *request.incarnation != found->second.registration.incarnation)) {
    return NotFound("no such table was dropped: " + request.name.ToString());
  }
  const metasrv::LoadedTable table = found->second;
  dropped_.erase(found);
  tables_.emplace(request.name, table);
  return metasrv::TableResult{.incarnation = table.registration.incarnation,
                              .metadata_location = table.registration.metadata_location,
                              .epoch = kEpoch};
}

Result<std::vector<metasrv::DroppedTable>> FakeMetaService::ListDropped(
    const std::optional<catalog::Namespace>& ns, Deadline /*deadline*/) {
  std::vector<metasrv::DroppedTable> tables;
  for (const auto& [name, table] : dropped_) {
    if (!ns.has_value() || name.ns == *ns) {
      tables.push_back({.name = name,
                        .incarnation = table.registration.incarnation,
                        .location = table.registration.location,
                        .metadata_location = table.registration.metadata_location,
                        .dropped = WallTime(std::chrono::milliseconds(0)),
                        .kept_until = WallTime(std::chrono::milliseconds(1))});
    }
  }
  return tables;
}

Result<metasrv::PurgeProgress> FakeMetaService::AwaitPurge(const Uuid& /*incarnation*/,
                                                           Deadline /*deadline*/) {
  if (purges.empty()) {
    return metasrv::PurgeProgress{.removed = 3, .done = true};
  }
  Result<metasrv::PurgeProgress> next = purges.front();
  purges.pop_front();
  return next;
}

Result<metasrv::TableResult> FakeMetaService::Append(const metasrv::AppendRequest& request,
                                                     const metasrv::CallOptions& options) {
  LAKE_TRY_VOID(Admit(options));
  if (append_error_.has_value()) {
    return std::unexpected(*append_error_);
  }
  metasrv::LoadedTable& table = tables_.at(request.name);
  metasrv::TableResult result{.incarnation = request.incarnation, .epoch = kEpoch};
  if (!request.files.empty()) {
    iceberg::SnapshotChanges changes;
    for (const iceberg::DataFile& file : request.files) {
      ++changes.added_data_files;
      changes.added_records += file.record_count;
    }
    const std::int64_t id =
        std::int64_t{1} + static_cast<std::int64_t>(table.metadata->snapshots.size());
    iceberg::Snapshot snapshot{.snapshot_id = iceberg::SnapshotId{id}, .manifest_list = "/list"};
    snapshot.summary = iceberg::MakeSummary(iceberg::SnapshotOperation::kAppend, changes,
                                            table.metadata->current_snapshot(),
                                            {{"lake.epoch", std::to_string(kEpoch)},
                                             {"lake.operation-ids", options.operation.ToString()}});
    LAKE_TRY(iceberg::TableMetadata next,
             iceberg::AppendSnapshot(
                 *table.metadata, std::move(snapshot),
                 {.now = clock_.WallNow(), .base_location = table.registration.metadata_location}));
    table.metadata = std::make_shared<const iceberg::TableMetadata>(std::move(next));
    result.snapshot_id = id;
  }
  appended.push_back(request);
  finished_[options.operation] = result;
  return result;
}

Result<std::optional<metasrv::TableResult>> FakeMetaService::FindAppend(
    const metasrv::AppendRequest& /*request*/, const metasrv::CallOptions& options) {
  const auto found = finished_.find(options.operation);
  return found == finished_.end() ? std::nullopt : std::optional(found->second);
}

Result<metasrv::LoadedTable> FakeMetaService::LoadTable(const catalog::TableName& name,
                                                        Deadline /*deadline*/) {
  if (std::ranges::find(damaged_, name) != damaged_.end()) {
    return Corruption("table " + name.ToString() + ": its metadata file is damaged");
  }
  const auto found = tables_.find(name);
  if (found == tables_.end()) {
    return NotFound("table " + name.ToString() + " does not exist");
  }
  return found->second;
}

Result<std::vector<catalog::TableName>> FakeMetaService::ListTables(const catalog::Namespace& ns,
                                                                    Deadline deadline) {
  LAKE_TRY_VOID(LoadNamespace(ns, deadline));
  std::vector<catalog::TableName> names;
  for (const auto& [name, table] : tables_) {
    if (name.ns == ns) {
      names.push_back(name);
    }
  }
  return names;
}

Result<metasrv::OperationView> FakeMetaService::FindOperation(const Uuid& operation,
                                                              Deadline /*deadline*/) {
  return NotFound("operation " + operation.ToString());
}

Result<metasrv::ServiceStatus> FakeMetaService::GetStatus(Deadline /*deadline*/) {
  metasrv::ServiceStatus answer = status;
  answer.namespaces = namespaces_.size();
  answer.tables = tables_.size();
  return answer;
}

Result<metasrv::OperationList> FakeMetaService::ListOperations(std::size_t limit,
                                                               Deadline /*deadline*/) {
  metasrv::OperationList list = operations;
  list.more = list.operations.size() > limit;
  list.operations.resize(std::min(limit, list.operations.size()));
  return list;
}

Result<metasrv::MaintenanceReport> FakeMetaService::Maintain(
    const metasrv::MaintenanceRequest& request, Deadline /*deadline*/) {
  maintained.push_back(request);
  if (reports.empty()) {
    return metasrv::MaintenanceReport{.dry_run = request.dry_run};
  }
  Result<metasrv::MaintenanceReport> report = std::move(reports.front());
  reports.pop_front();
  return report;
}

Result<engine::StagedFiles> FakeDataFileWriter::Stage(const engine::StageRequest& request) {
  for (std::optional<Error>* error : {&next_error, &stage_error}) {
    if (error->has_value()) {
      return std::unexpected(*std::exchange(*error, std::nullopt));
    }
  }
  engine::StagedFiles result;
  for (std::size_t i = 0; rows_per_file > 0 && i < request.inputs.size(); ++i) {
    const std::string path = request.data_location + "/" + std::to_string(staged.size()) + "-" +
                             std::to_string(i) + ".parquet";
    LAKE_TRY_VOID(objects_.PutIfAbsent(path, request.inputs[i].path, clock_.Now() + kReadTimeout));
    iceberg::DataFile file{.file_path = path, .record_count = rows_per_file};
    file.file_size_in_bytes = static_cast<std::int64_t>(request.inputs[i].path.size());
    result.files.push_back(std::move(file));
    result.row_count += static_cast<std::uint64_t>(rows_per_file);
  }
  staged.push_back(request);
  return result;
}

Result<iceberg::Schema> FakeDataFileWriter::InferSchema(const engine::StageInput& input) {
  if (next_error.has_value()) {
    return std::unexpected(
        Error(next_error->code(),
              input.path + ": " + std::exchange(next_error, std::nullopt)->message()));
  }
  return iceberg::Schema::Make(
      {.fields = {{.id = iceberg::FieldId{1}, .name = "a", .type = iceberg::Type::Long()}}});
}

class FakeLake::FakeConnection final : public Connection {
 public:
  explicit FakeConnection(FakeLake& lake) : lake_(lake) {}

  metasrv::MetaService& service() override { return lake_.service; }

  const engine::SnapshotReader& reader() override { return lake_.reader; }

  objstore::ObjectStore& objects() override { return lake_.objects; }

  Result<engine::DataFileWriter*> writer() override {
    ++lake_.writers_started;
    return &lake_.writer;
  }

  Result<sql::SqlSession*> session() override { return Unimplemented("this lake has no SQL"); }

 private:
  FakeLake& lake_;
};

Context FakeLake::MakeContext(bool json) {
  return {.options = {.data_dir = "/data", .wait = {}, .json = json},
          .connect = [this](const ConnectRequest& request) -> Result<std::unique_ptr<Connection>> {
            connects.push_back(request);
            if (connect_error.has_value()) {
              return std::unexpected(*connect_error);
            }
            return std::make_unique<FakeConnection>(*this);
          },
          .clock = clock,
          .random = random,
          .out = out};
}

std::vector<std::string> FakeLake::ObjectPaths() {
  std::vector<std::string> paths;
  const Result<objstore::ObjectPage> page = objects.List("/", "", 1000, clock.Now() + kReadTimeout);
  if (page.has_value()) {
    for (const objstore::ObjectInfo& object : page->objects) {
      paths.push_back(object.path);
    }
  }
  return paths;
}

}  // namespace lake::cli
