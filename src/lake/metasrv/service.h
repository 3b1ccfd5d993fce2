#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/catalog/records.h"
#include "lake/engine/table_engine.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/table_requirement.h"
#include "lake/iceberg/table_update.h"
#include "lake/metasrv/maintenance_report.h"

namespace lake::metasrv {

// What every changing call carries.
struct CallOptions {
  // The identity of the caller's intent: the same id again is the same operation, whatever happened in between.
  Uuid operation;
  // Whether the caller may come back with this id. A final failure is then recorded before it is answered, so that a late
  // duplicate cannot succeed after its caller was told no.
  bool retryable = false;
  Deadline deadline;
};

// Make one level of a namespace; the one above must exist.
struct CreateNamespaceRequest {
  catalog::Namespace ns;
  std::map<std::string, std::string> properties;
};

// Change the properties of a namespace. A property that is to be removed need not be there; none is both set and removed.
struct SetNamespacePropertiesRequest {
  catalog::Namespace ns;
  std::map<std::string, std::string> updates;
  std::set<std::string> removals;
};

// Make a table without rows.
struct CreateTableRequest {
  catalog::TableName name;
  iceberg::Schema schema;
  std::map<std::string, std::string> properties;
};

// Name an existing metadata file as a table.
struct RegisterTableRequest {
  catalog::TableName name;
  std::string metadata_location;
};

// Take a table out of the catalog.
struct DropTableRequest {
  catalog::TableName name;
  bool purge = false;
};

// Give a table or a view another name, maybe in another namespace.
struct RenameRequest {
  catalog::TableName from;
  catalog::TableName to;
};

// Change a table's metadata, if it still is what the caller requires. What the updates name is written and complete.
struct TableCommit {
  catalog::TableName name;
  std::vector<iceberg::TableRequirement> requirements;
  std::vector<iceberg::TableUpdate> updates;
};

// Commit to one table.
struct CommitTableRequest {
  TableCommit commit;
  // What the caller says the request is, e.g. its canonical text: part of what makes a repeated id the same request.
  std::vector<std::string> content;
};

// Commit to several different tables at once: every commit is made, or none.
struct CommitTablesRequest {
  std::vector<TableCommit> commits;  // 1 to kCommitTablesMax.
  std::vector<std::string> content;  // As in CommitTableRequest.
};

// The most tables of one commit: they fit into one fenced transaction.
inline constexpr std::size_t kCommitTablesMax = 90;

// Name a metadata file as a view's current one: of a new view, or of one that exists.
struct ViewRequest {
  catalog::TableName name;
  Uuid uuid;  // Of the view. Of one that exists: what the caller read; another one is kConflict.
  std::string location;           // Where the view's files live, without a trailing slash.
  std::string metadata_location;  // Written and complete.
  // Of a view that exists: the metadata file that the new one was made from; another one is kConflict.
  std::string base_location;
};

// Bring back a dropped table whose files were kept.
struct UndropTableRequest {
  catalog::TableName name;
  // Which of the tables that were dropped under this name; absent: the one dropped last.
  std::optional<Uuid> incarnation;
};

// Add data files that are already written and complete.
struct AppendRequest {
  catalog::TableName name;
  // The table the files were staged for. A table that was dropped and created again meanwhile is another one: kConflict.
  Uuid incarnation;
  // What the caller says the content is, e.g. the SHA-256 of each input: part of what makes a repeated id the same request.
  std::vector<std::string> content;
  std::vector<iceberg::DataFile>
      files;  // None: there was nothing to append, which is recorded and makes no version.
};

// A table as its registration names it.
struct LoadedTable {
  catalog::TableName name;
  catalog::Registration registration;
  engine::MetadataPtr metadata;
};

// How a change that makes no version of one table ended.
struct ChangeResult {
  std::uint64_t epoch = 0;  // Under which it was published.
  bool replayed = false;    // Answered from the record of an earlier call with the same id.
};

// How a change of a namespace ended.
using NamespaceResult = ChangeResult;

// How a change of a table ended.
struct TableResult {
  Uuid incarnation;
  // Of the version that was made, of the last one for a drop; empty when no version was made.
  std::string metadata_location;
  std::int64_t snapshot_id = -1;  // -1 when no snapshot was added.
  std::uint64_t epoch = 0;        // Under which it was published.
  bool replayed = false;          // Answered from the record of an earlier call with the same id.
};

// A table that was dropped and is not forgotten yet.
struct DroppedTable {
  catalog::TableName name;
  Uuid incarnation;
  std::string location;
  std::string metadata_location;  // The last version's.
  WallTime dropped;
  bool purging = false;  // Its files are being removed; it cannot be brought back.
  WallTime kept_until;   // From when on it may be forgotten, unless it is being purged.
};

// How far the removal of a dropped table's files has come.
struct PurgeProgress {
  std::uint64_t removed = 0;  // Files, by this process.
  bool done = false;
};

// What is known of an operation.
struct OperationView {
  Uuid id;
  // Exactly one of the two.
  std::optional<catalog::PendingRecord> pending;
  std::optional<catalog::OperationRecord> finished;
};

// Operations, the newest first.
struct OperationList {
  std::vector<OperationView> operations;
  bool more = false;                  // There are older ones.
  std::vector<std::string> problems;  // Records that do not decode, one sentence each.
};

// The most operations that one list holds.
inline constexpr std::size_t kOperationsListMax = 10'000;

// What is known of the store and of who leads it.
struct ServiceStatus {
  bool has_term = false;    // Somebody has led this store.
  std::uint64_t epoch = 0;  // Of the term record.
  std::string leader_node;  // Of the term record; whether it still lives is not known from here.
  Uuid leader_session;
  bool released = false;               // The last leader gave its term back.
  bool leading = false;                // This service holds the authority now.
  std::vector<OperationView> pending;  // At most kStatusPendingMax of them.
  std::uint64_t namespaces = 0;
  std::uint64_t tables = 0;
};

// The most pending operations that a status lists.
inline constexpr std::size_t kStatusPendingMax = 100;

// The control plane: what can be asked of Lake's metadata. Implemented by the leader in this process and, later, by a client of
// another process.
//
// Reading calls return: kNotFound (the thing does not exist), kCorruption (stored bytes are damaged; the message names the thing,
// others work), kUnavailable (the store failed; retry), kInvalidArgument (a name breaks the rules).
//
// Changing calls are operations (docs/internals/operations.md): they happen at most once for one id, and return besides those:
//   kAlreadyExists    the name is taken.
//   kConflict         what the caller assumed no longer holds: read again and decide anew.
//   kInvalidArgument  also: the id is not a UUIDv7, is too old or too far ahead, or was used for another request.
//   kNotLeader, kFenced   nothing was done; ask the leader.
//   kUnavailable      certainly not done; retry, best with the same id.
//   kDeadlineExceeded certainly not done.
//   kUnimplemented    Lake does not do this. Nothing was touched.
//   kOutcomeUnknown   it may be done now or later: repeat the call with the same id to learn which.
// "Certainly not done" is said of this call: when it repeats one that ended with kOutcomeUnknown, kNotLeader, kFenced, kUnavailable and
// kDeadlineExceeded leave that one's outcome as unknown as it was.
// Every call blocks until its deadline. Thread-safe.
class MetaService {
 public:
  virtual ~MetaService() = default;

  // Makes a namespace. kNotFound: there is no parent.
  virtual Result<NamespaceResult> CreateNamespace(const CreateNamespaceRequest& request,
                                                  const CallOptions& options) = 0;
  // kConflict: it still holds namespaces, tables or views.
  virtual Result<NamespaceResult> DropNamespace(const catalog::Namespace& ns,
                                                const CallOptions& options) = 0;
  // Sets and removes properties. kNotFound: there is no such namespace.
  virtual Result<NamespaceResult> SetNamespaceProperties(
      const SetNamespacePropertiesRequest& request, const CallOptions& options) = 0;
  // Returns the namespace's record.
  virtual Result<catalog::NamespaceRecord> LoadNamespace(const catalog::Namespace& ns,
                                                         Deadline deadline) = 0;
  // Returns the namespaces below `parent` at every depth, sorted; below one without levels: all.
  virtual Result<std::vector<catalog::Namespace>> ListNamespaces(const catalog::Namespace& parent,
                                                                 Deadline deadline) = 0;

  // Returns the table that CreateTable would make for the same request and operation, without making it: its incarnation, its
  // location and the schema with its field ids, so that data files can be staged before there is a table. It has neither a version
  // nor a metadata location yet. Changes nothing, and does not look for earlier calls with this id: call it for a new one.
  // kAlreadyExists: the name is taken. kNotFound: there is no such namespace. Otherwise errors as for any change.
  virtual Result<LoadedTable> PlanTable(const CreateTableRequest& request,
                                        const CallOptions& options) = 0;
  // Makes a table. kNotFound: there is no such namespace.
  virtual Result<TableResult> CreateTable(const CreateTableRequest& request,
                                          const CallOptions& options) = 0;
  // Registers a table. kNotFound: there is no such namespace or file.
  virtual Result<TableResult> RegisterTable(const RegisterTableRequest& request,
                                            const CallOptions& options) = 0;
  // Renames a table: what it is, its files and its history stay. kNotFound: there is no such table, or no such namespace to move to.
  virtual Result<TableResult> RenameTable(const RenameRequest& request,
                                          const CallOptions& options) = 0;
  // Makes the version that the updates describe. A commit whose requirements fail is kConflict, unless the snapshot it adds is among
  // the table's already: then it has been made by an earlier call, and that is the answer. Without updates nothing is changed.
  // kNotFound: there is no such table. kUnimplemented: an update that moves the table.
  virtual Result<TableResult> CommitTable(const CommitTableRequest& request,
                                          const CallOptions& options) = 0;
  // The same for several tables in one publication: whoever reads sees all of it or nothing.
  virtual Result<ChangeResult> CommitTables(const CommitTablesRequest& request,
                                            const CallOptions& options) = 0;
  // Drops a table. Without purge its files stay, and it can be brought back for a while. With purge the call returns once the table is
  // dropped for good; its files are removed after that, by whoever leads (AwaitPurge). kInvalidArgument also: its location is not one
  // that can be purged.
  virtual Result<TableResult> DropTable(const DropTableRequest& request,
                                        const CallOptions& options) = 0;
  // Brings a dropped table back as it was. kNotFound: there is no such namespace or no such dropped table. kConflict: its files are
  // being removed, or its location is another table's by now.
  virtual Result<TableResult> UndropTable(const UndropTableRequest& request,
                                          const CallOptions& options) = 0;
  // Returns the dropped tables of `ns`, or of all namespaces, by name and then by the time of their drop.
  virtual Result<std::vector<DroppedTable>> ListDropped(const std::optional<catalog::Namespace>& ns,
                                                        Deadline deadline) = 0;
  // Waits until the files of a table that was dropped with purge are removed, or until the deadline, and returns how far that has
  // come. The error that stopped the removal is returned once; calling again tries again, and so does every later leader.
  //   kConflict     a person must look: a file of another table is in the way; or the table was dropped without purge.
  //   kCorruption   a file that names others is damaged.      kUnavailable, kOutcomeUnknown   the store failed.
  virtual Result<PurgeProgress> AwaitPurge(const Uuid& incarnation, Deadline deadline) = 0;
  // Adds the files as one version. kNotFound: there is no such table.
  virtual Result<TableResult> Append(const AppendRequest& request, const CallOptions& options) = 0;
  // Returns how the append with this id ended, settling it first if it is pending, or nothing when no such operation is known:
  // then its files can be staged. `request.files` is not looked at.
  virtual Result<std::optional<TableResult>> FindAppend(const AppendRequest& request,
                                                        const CallOptions& options) = 0;

  // Returns the table as it is registered now.
  virtual Result<LoadedTable> LoadTable(const catalog::TableName& name, Deadline deadline) = 0;
  // Returns the tables directly in `ns`, sorted.
  virtual Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& ns,
                                                             Deadline deadline) = 0;

  // Makes a view. kNotFound: there is no such namespace or metadata file.
  virtual Result<ChangeResult> CreateView(const ViewRequest& request,
                                          const CallOptions& options) = 0;
  // Gives a view another metadata file. kNotFound: there is no such view or metadata file.
  virtual Result<ChangeResult> ReplaceView(const ViewRequest& request,
                                           const CallOptions& options) = 0;
  // Renames a view; as RenameTable.
  virtual Result<ChangeResult> RenameView(const RenameRequest& request,
                                          const CallOptions& options) = 0;
  // Takes a view out of the catalog. Its files stay. kNotFound: there is no such view.
  virtual Result<ChangeResult> DropView(const catalog::TableName& name,
                                        const CallOptions& options) = 0;
  // Returns the view's record.
  virtual Result<catalog::ViewRecord> LoadView(const catalog::TableName& name,
                                               Deadline deadline) = 0;
  // Returns the views directly in `ns`, sorted.
  virtual Result<std::vector<catalog::TableName>> ListViews(const catalog::Namespace& ns,
                                                            Deadline deadline) = 0;

  // Returns what is known of an operation. kNotFound: nothing.
  virtual Result<OperationView> FindOperation(const Uuid& operation, Deadline deadline) = 0;
  // Returns the newest operations by their ids' times, pending and finished, at most `limit` (from 1 to kOperationsListMax). Those
  // whose records may have been forgotten are not looked for.
  virtual Result<OperationList> ListOperations(std::size_t limit, Deadline deadline) = 0;
  // Keeps the store and its tables tidy, as far as one call goes: at most kMaintenanceTablesMax tables, until the deadline. What
  // concerns one table alone and fails is in the report; what it did is done, whatever the answer.
  //   kNotFound           the one table asked for does not exist.
  //   kInvalidArgument    `orphan_age` is less than kOrphanAgeMin. Nothing was done.
  //   kNotLeader, kFenced, kCancelled   another process leads, or this one stops: the leader goes on.
  //   kUnavailable        the store failed; call again.
  //   kDeadlineExceeded   the time was over before anything was begun.
  virtual Result<MaintenanceReport> Maintain(const MaintenanceRequest& request,
                                             Deadline deadline) = 0;
  // Returns the state of the store. Takes no lease.
  virtual Result<ServiceStatus> GetStatus(Deadline deadline) = 0;
};

}  // namespace lake::metasrv
