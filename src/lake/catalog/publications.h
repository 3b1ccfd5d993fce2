#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/catalog/records.h"
#include "lake/metastore/transaction.h"

// The transactions by which Lake's metadata changes, as pure functions of what was read. Each is
// one publication: all of it happens or none of it. `read bytes` are always exactly what the store
// returned.
//
// Those that return a Result fail with kInvalidArgument when a name's key would be too long, and
// nothing else.
namespace lake::catalog {

// A value as it was read, with the bytes that a later transaction expects.
template <typename Record>
struct Stored {
  std::string bytes;
  Record record;
};

// An operation and the record of how it ended.
struct FinishedOperation {
  Uuid id;
  OperationRecord record;
};

// A pending operation as it was read.
struct PendingOperation {
  Uuid id;
  std::string bytes;
  PendingRecord record;
};

// Step 1 of a change: reserves `operations`, which share one version. Each must be unknown so far.
metastore::Transaction Reserve(const std::vector<PendingOperation>& operations);

// Gives reservations up, if nobody changed them. When it is refused, the failed expectations tell an
// operation that was given up (its reservation is gone) from one that was published (its outcome is
// there too).
metastore::Transaction Abort(const std::vector<PendingOperation>& operations);

// Step 3 of a change: makes the planned metadata file of every table in the group current, ends the
// reservations and records the outcomes. A table that has no base is created: then `namespaces`
// holds the namespace record it is created in, and `directory` the new content of dir/names.
struct VersionPublication {
  std::vector<PendingOperation> operations;  // The whole group; their tables are the same.
  std::vector<FinishedOperation> outcomes;   // One for each operation, in the same order.
  std::vector<std::pair<Namespace, std::string>> namespaces;
  Uuid directory;
};

// Returns the transaction that publishes it. kInvalidArgument as said at the top.
Result<metastore::Transaction> Publish(const VersionPublication& publication);

// Returns the registration that publishing `table` under `operation` makes: the base with the
// planned location and the next version, or a first one. kCorruption when the base does not decode.
Result<Registration> NextRegistration(const PendingTable& table, const Uuid& operation);

// Records how an operation ended that changed nothing, unless it is known already. Like every
// transaction below, it is refused while the operation is reserved.
metastore::Transaction Record(const FinishedOperation& outcome);

// The record of a finished operation as it was read.
struct RecordedOperation {
  Uuid id;
  std::string bytes;
};

// How many operations one Forget takes.
inline constexpr std::size_t kForgetMax = 48;

// Removes the records of finished operations, at most kForgetMax, if nobody changed them. Refused while one of them is pending:
// then the record is what tells its settler that it has ended.
metastore::Transaction Forget(const std::vector<RecordedOperation>& operations);

// Notes that everything before an hour is forgotten, if the note is still what was read.
metastore::Transaction NoteForgotten(const std::optional<std::string>& read_bytes,
                                     const ForgottenRecord& record);

// Creates a namespace. `parent` is the read bytes of its parent's record, absent for a top-level
// one.
Result<metastore::Transaction> CreateNamespace(const Namespace& ns, const NamespaceRecord& record,
                                               const std::optional<std::string>& parent,
                                               const Uuid& directory,
                                               const FinishedOperation& outcome);

// Drops a namespace that a scan found empty, if since dir/names was read no name has come or gone.
Result<metastore::Transaction> DropNamespace(const Namespace& ns, const std::string& read_bytes,
                                             const std::optional<std::string>& read_directory,
                                             const Uuid& directory,
                                             const FinishedOperation& outcome);

// Gives a namespace other properties. `read_bytes` is what `record` was made of.
Result<metastore::Transaction> SetNamespaceProperties(const Namespace& ns,
                                                      const std::string& read_bytes,
                                                      const NamespaceRecord& record,
                                                      const FinishedOperation& outcome);

// A table, and the registration that takes the place of the one that was read. Without one it only must not have changed.
struct NextVersion {
  TableName name;
  std::string base;
  std::optional<Registration> next;
};

// Makes versions of one or more different tables current at once that were not reserved: everything they name is complete, and
// nobody could have finished them.
Result<metastore::Transaction> CommitVersions(const std::vector<NextVersion>& tables,
                                              const FinishedOperation& outcome);

// Moves a table or a view to a name that no other has, maybe in another namespace.
struct Renaming {
  TableName from;
  TableName to;
  std::string read_bytes;       // Of the registration, or of the view's record.
  std::string next_bytes;       // What stands under the new name.
  std::string namespace_bytes;  // Of the namespace it moves to.
  Uuid directory;
  FinishedOperation outcome;
};

// Each returns the transaction that renames it.
Result<metastore::Transaction> RenameTable(const Renaming& renaming);
Result<metastore::Transaction> RenameView(const Renaming& renaming);

// Creates a view under a name that neither a table nor a view has.
Result<metastore::Transaction> CreateView(const TableName& name, const ViewRecord& record,
                                          const std::string& namespace_bytes, const Uuid& directory,
                                          const FinishedOperation& outcome);

// Gives a view another metadata file. `read_bytes` is the record it is built on.
Result<metastore::Transaction> ReplaceView(const TableName& name, const std::string& read_bytes,
                                           const ViewRecord& record,
                                           const FinishedOperation& outcome);

// Drops a view. Its files stay.
Result<metastore::Transaction> DropView(const TableName& name, const std::string& read_bytes,
                                        const Uuid& directory, const FinishedOperation& outcome);

// A table's location that was chosen explicitly, in normal form, and the read bytes of its record, which names
// that table: absent when the location is free.
struct LocationClaim {
  std::string location;
  std::optional<std::string> read_bytes;
};

// Names an existing metadata file as a table, if since dir/names was read no name has come or gone.
// If the table had been dropped, its tombstone goes.
struct Registering {
  TableName name;
  Registration registration;
  std::string namespace_bytes;
  std::optional<std::string> tombstone_bytes;
  std::optional<LocationClaim> location;  // Nothing: Lake chose the location.
  std::optional<std::string> read_directory;
  Uuid directory;
  FinishedOperation outcome;
};

// Returns the transaction that registers it.
Result<metastore::Transaction> RegisterTable(const Registering& registering);

// Drops a table: its name is free, and the tombstone remembers it.
struct Dropping {
  TableName name;
  std::string registration_bytes;
  Uuid incarnation;
  Tombstone tombstone;
  Uuid directory;
  FinishedOperation outcome;
};

// Returns the transaction that drops it.
Result<metastore::Transaction> DropTable(const Dropping& dropping);

// Brings a dropped table back, whose files were kept: its tombstone goes, and its name must be free.
struct Undropping {
  TableName name;
  Registration registration;
  std::string namespace_bytes;
  std::string tombstone_bytes;
  std::optional<LocationClaim> location;  // With read bytes. Nothing: Lake chose the location.
  Uuid directory;
  FinishedOperation outcome;
};

// Returns the transaction that brings it back.
Result<metastore::Transaction> UndropTable(const Undropping& undropping);

// Forgets a drop whose files are gone, or which nobody took back in time: tombstone and location record
// go. `location` is the record that names the table, if there is one.
Result<metastore::Transaction> EndDrop(const Uuid& incarnation, const std::string& tombstone_bytes,
                                       const std::optional<LocationClaim>& location);

// Gives a free location to the table whose registration or tombstone, at `key`, still has these bytes.
Result<metastore::Transaction> ClaimLocation(const std::string& location, const Uuid& incarnation,
                                             const std::string& key, const std::string& read_bytes);

// Notes that every explicitly chosen location has its record, if since dir/names was read no name has
// come or gone.
metastore::Transaction CompleteLocations(const std::optional<std::string>& read_directory,
                                         const Uuid& directory);

}  // namespace lake::catalog
