#include "lake/catalog/publications.h"

#include <utility>

#include "lake/base/check.h"
#include "lake/catalog/keyspace.h"

namespace lake::catalog {
namespace {

using metastore::Expectation;
using metastore::Transaction;

void PutDirectory(const Uuid& directory, Transaction& transaction) {
  transaction.Put(std::string(kDirectoryKey), Expectation::Any(), directory.ToString());
}

// Whoever decided by a scan of names expects that none has come or gone since.
void ReplaceDirectory(const std::optional<std::string>& read, const Uuid& directory,
                      Transaction& transaction) {
  transaction.Put(std::string(kDirectoryKey),
                  read.has_value() ? Expectation::Exactly(*read) : Expectation::Absent(),
                  directory.ToString());
}

void PutOutcome(const FinishedOperation& outcome, Transaction& transaction) {
  transaction.Put(OperationKey(outcome.id), Expectation::Absent(), Encode(outcome.record));
}

// The outcome of an operation that was not reserved. No operation is pending and finished at once.
void PutUnreservedOutcome(const FinishedOperation& outcome, Transaction& transaction) {
  transaction.Check(PendingKey(outcome.id), Expectation::Absent());
  PutOutcome(outcome, transaction);
}

// Moves what stands under one key to another of its family. `other_key` is the new name in the other family.
Result<Transaction> Rename(const Renaming& renaming, std::string from_key, std::string to_key,
                           std::string other_key) {
  Transaction transaction;
  transaction.Delete(std::move(from_key), Expectation::Exactly(renaming.read_bytes));
  transaction.Put(std::move(to_key), Expectation::Absent(), renaming.next_bytes);
  transaction.Check(std::move(other_key), Expectation::Absent());
  LAKE_TRY(std::string namespace_key, NamespaceKey(renaming.to.ns));
  transaction.Check(std::move(namespace_key), Expectation::Exactly(renaming.namespace_bytes));
  PutDirectory(renaming.directory, transaction);
  PutUnreservedOutcome(renaming.outcome, transaction);
  return transaction;
}

// The table has its location after the transaction, or nothing changes.
Status HoldLocation(const std::optional<LocationClaim>& claim, const Uuid& incarnation,
                    Transaction& transaction) {
  if (!claim.has_value()) {
    return {};
  }
  LAKE_TRY(std::string key, LocationKey(claim->location));
  if (claim->read_bytes.has_value()) {
    transaction.Check(std::move(key), Expectation::Exactly(*claim->read_bytes));
  } else {
    transaction.Put(std::move(key), Expectation::Absent(),
                    Encode(LocationRecord{.incarnation = incarnation}));
  }
  return {};
}

// A table gets its name back or a new one, without a reservation.
Status PutRegistration(const TableName& name, const Registration& registration,
                       const std::string& namespace_bytes, Transaction& transaction) {
  LAKE_TRY(std::string key, TableKey(name));
  transaction.Put(std::move(key), Expectation::Absent(), Encode(registration));
  LAKE_TRY(std::string view_key, ViewKey(name));
  transaction.Check(std::move(view_key), Expectation::Absent());
  LAKE_TRY(std::string namespace_key, NamespaceKey(name.ns));
  transaction.Check(std::move(namespace_key), Expectation::Exactly(namespace_bytes));
  return {};
}

}  // namespace

Transaction Reserve(const std::vector<PendingOperation>& operations) {
  Transaction transaction;
  for (const PendingOperation& operation : operations) {
    transaction.Put(PendingKey(operation.id), Expectation::Absent(), operation.bytes);
    transaction.Check(OperationKey(operation.id), Expectation::Absent());
  }
  return transaction;
}

Transaction Abort(const std::vector<PendingOperation>& operations) {
  Transaction transaction;
  for (const PendingOperation& operation : operations) {
    transaction.Delete(PendingKey(operation.id), Expectation::Exactly(operation.bytes));
    transaction.Check(OperationKey(operation.id), Expectation::Absent());
  }
  return transaction;
}

Result<Registration> NextRegistration(const PendingTable& table, const Uuid& operation) {
  Registration next;
  if (table.base.has_value()) {
    LAKE_TRY(next, DecodeRegistration(*table.base));
  } else {
    next.incarnation = table.incarnation;
    next.location = table.location;
  }
  next.metadata_location = table.planned_location;
  next.version += 1;
  next.last_operation = operation;
  return next;
}

Result<Transaction> Publish(const VersionPublication& publication) {
  LAKE_CHECK(!publication.operations.empty() &&
                 publication.operations.size() == publication.outcomes.size(),
             "every operation of a publication has its outcome");
  Transaction transaction;
  bool creates = false;
  const PendingOperation& first = publication.operations.front();
  for (const PendingTable& table : first.record.tables) {
    LAKE_TRY(const Registration next, NextRegistration(table, first.id));
    LAKE_TRY(std::string key, TableKey(table.name));
    if (table.base.has_value()) {
      transaction.Put(std::move(key), Expectation::Exactly(*table.base), Encode(next));
      continue;
    }
    creates = true;
    transaction.Put(std::move(key), Expectation::Absent(), Encode(next));
    LAKE_TRY(std::string view_key, ViewKey(table.name));
    transaction.Check(std::move(view_key), Expectation::Absent());
  }
  for (const auto& [ns, bytes] : publication.namespaces) {
    LAKE_TRY(std::string key, NamespaceKey(ns));
    transaction.Check(std::move(key), Expectation::Exactly(bytes));
  }
  if (creates) {
    PutDirectory(publication.directory, transaction);
  }
  for (std::size_t i = 0; i < publication.operations.size(); ++i) {
    const PendingOperation& operation = publication.operations[i];
    LAKE_CHECK(operation.id == publication.outcomes[i].id, "an outcome belongs to its operation");
    transaction.Delete(PendingKey(operation.id), Expectation::Exactly(operation.bytes));
    PutOutcome(publication.outcomes[i], transaction);
  }
  return transaction;
}

Transaction Record(const FinishedOperation& outcome) {
  Transaction transaction;
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Transaction Forget(const std::vector<RecordedOperation>& operations) {
  LAKE_CHECK(operations.size() <= kForgetMax, "what is forgotten at once fits a transaction");
  Transaction transaction;
  for (const RecordedOperation& operation : operations) {
    transaction.Delete(OperationKey(operation.id), Expectation::Exactly(operation.bytes));
    transaction.Check(PendingKey(operation.id), Expectation::Absent());
  }
  return transaction;
}

Transaction NoteForgotten(const std::optional<std::string>& read_bytes,
                          const ForgottenRecord& record) {
  Transaction transaction;
  transaction.Put(
      std::string(kForgottenKey),
      read_bytes.has_value() ? Expectation::Exactly(*read_bytes) : Expectation::Absent(),
      Encode(record));
  return transaction;
}

Result<Transaction> CreateNamespace(const Namespace& ns, const NamespaceRecord& record,
                                    const std::optional<std::string>& parent, const Uuid& directory,
                                    const FinishedOperation& outcome) {
  Transaction transaction;
  LAKE_TRY(std::string key, NamespaceKey(ns));
  transaction.Put(std::move(key), Expectation::Absent(), Encode(record));
  if (parent.has_value()) {
    LAKE_TRY(std::string parent_key, NamespaceKey(ns.parent()));
    transaction.Check(std::move(parent_key), Expectation::Exactly(*parent));
  }
  PutDirectory(directory, transaction);
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Result<Transaction> DropNamespace(const Namespace& ns, const std::string& read_bytes,
                                  const std::optional<std::string>& read_directory,
                                  const Uuid& directory, const FinishedOperation& outcome) {
  Transaction transaction;
  LAKE_TRY(std::string key, NamespaceKey(ns));
  transaction.Delete(std::move(key), Expectation::Exactly(read_bytes));
  ReplaceDirectory(read_directory, directory, transaction);
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Result<Transaction> SetNamespaceProperties(const Namespace& ns, const std::string& read_bytes,
                                           const NamespaceRecord& record,
                                           const FinishedOperation& outcome) {
  Transaction transaction;
  LAKE_TRY(std::string key, NamespaceKey(ns));
  transaction.Put(std::move(key), Expectation::Exactly(read_bytes), Encode(record));
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Result<Transaction> CommitVersions(const std::vector<NextVersion>& tables,
                                   const FinishedOperation& outcome) {
  LAKE_CHECK(!tables.empty(), "a commit is of a table");
  Transaction transaction;
  for (const NextVersion& table : tables) {
    LAKE_TRY(std::string key, TableKey(table.name));
    if (table.next.has_value()) {
      transaction.Put(std::move(key), Expectation::Exactly(table.base), Encode(*table.next));
    } else {
      transaction.Check(std::move(key), Expectation::Exactly(table.base));
    }
  }
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Result<Transaction> RenameTable(const Renaming& renaming) {
  LAKE_TRY(std::string from_key, TableKey(renaming.from));
  LAKE_TRY(std::string to_key, TableKey(renaming.to));
  LAKE_TRY(std::string view_key, ViewKey(renaming.to));
  return Rename(renaming, std::move(from_key), std::move(to_key), std::move(view_key));
}

Result<Transaction> RenameView(const Renaming& renaming) {
  LAKE_TRY(std::string from_key, ViewKey(renaming.from));
  LAKE_TRY(std::string to_key, ViewKey(renaming.to));
  LAKE_TRY(std::string table_key, TableKey(renaming.to));
  return Rename(renaming, std::move(from_key), std::move(to_key), std::move(table_key));
}

Result<Transaction> CreateView(const TableName& name, const ViewRecord& record,
                               const std::string& namespace_bytes, const Uuid& directory,
                               const FinishedOperation& outcome) {
  Transaction transaction;
  LAKE_TRY(std::string key, ViewKey(name));
  transaction.Put(std::move(key), Expectation::Absent(), Encode(record));
  LAKE_TRY(std::string table_key, TableKey(name));
  transaction.Check(std::move(table_key), Expectation::Absent());
  LAKE_TRY(std::string namespace_key, NamespaceKey(name.ns));
  transaction.Check(std::move(namespace_key), Expectation::Exactly(namespace_bytes));
  PutDirectory(directory, transaction);
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Result<Transaction> ReplaceView(const TableName& name, const std::string& read_bytes,
                                const ViewRecord& record, const FinishedOperation& outcome) {
  Transaction transaction;
  LAKE_TRY(std::string key, ViewKey(name));
  transaction.Put(std::move(key), Expectation::Exactly(read_bytes), Encode(record));
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Result<Transaction> DropView(const TableName& name, const std::string& read_bytes,
                             const Uuid& directory, const FinishedOperation& outcome) {
  Transaction transaction;
  LAKE_TRY(std::string key, ViewKey(name));
  transaction.Delete(std::move(key), Expectation::Exactly(read_bytes));
  PutDirectory(directory, transaction);
  PutUnreservedOutcome(outcome, transaction);
  return transaction;
}

Result<Transaction> RegisterTable(const Registering& registering) {
  Transaction transaction;
  LAKE_TRY_VOID(PutRegistration(registering.name, registering.registration,
                                registering.namespace_bytes, transaction));
  const std::string tombstone_key = TombstoneKey(registering.registration.incarnation);
  if (registering.tombstone_bytes.has_value()) {
    transaction.Delete(tombstone_key, Expectation::Exactly(*registering.tombstone_bytes));
  } else {
    transaction.Check(tombstone_key, Expectation::Absent());
  }
  LAKE_TRY_VOID(
      HoldLocation(registering.location, registering.registration.incarnation, transaction));
  ReplaceDirectory(registering.read_directory, registering.directory, transaction);
  PutUnreservedOutcome(registering.outcome, transaction);
  return transaction;
}

Result<Transaction> DropTable(const Dropping& dropping) {
  Transaction transaction;
  LAKE_TRY(std::string key, TableKey(dropping.name));
  transaction.Delete(std::move(key), Expectation::Exactly(dropping.registration_bytes));
  transaction.Put(TombstoneKey(dropping.incarnation), Expectation::Absent(),
                  Encode(dropping.tombstone));
  PutDirectory(dropping.directory, transaction);
  PutUnreservedOutcome(dropping.outcome, transaction);
  return transaction;
}

Result<Transaction> UndropTable(const Undropping& undropping) {
  LAKE_CHECK(!undropping.location.has_value() || undropping.location->read_bytes.has_value(),
             "a dropped table keeps its location");
  Transaction transaction;
  LAKE_TRY_VOID(PutRegistration(undropping.name, undropping.registration,
                                undropping.namespace_bytes, transaction));
  transaction.Delete(TombstoneKey(undropping.registration.incarnation),
                     Expectation::Exactly(undropping.tombstone_bytes));
  LAKE_TRY_VOID(
      HoldLocation(undropping.location, undropping.registration.incarnation, transaction));
  PutDirectory(undropping.directory, transaction);
  PutUnreservedOutcome(undropping.outcome, transaction);
  return transaction;
}

Result<Transaction> EndDrop(const Uuid& incarnation, const std::string& tombstone_bytes,
                            const std::optional<LocationClaim>& location) {
  Transaction transaction;
  transaction.Delete(TombstoneKey(incarnation), Expectation::Exactly(tombstone_bytes));
  if (location.has_value()) {
    LAKE_CHECK(location->read_bytes.has_value(), "only a location that was read can be given back");
    LAKE_TRY(std::string key, LocationKey(location->location));
    transaction.Delete(std::move(key), Expectation::Exactly(*location->read_bytes));
  }
  return transaction;
}

Result<Transaction> ClaimLocation(const std::string& location, const Uuid& incarnation,
                                  const std::string& key, const std::string& read_bytes) {
  Transaction transaction;
  transaction.Check(key, Expectation::Exactly(read_bytes));
  LAKE_TRY_VOID(HoldLocation(LocationClaim{.location = location}, incarnation, transaction));
  return transaction;
}

Transaction CompleteLocations(const std::optional<std::string>& read_directory,
                              const Uuid& directory) {
  Transaction transaction;
  transaction.Put(std::string(kLocationsKey), Expectation::Any(), directory.ToString());
  ReplaceDirectory(read_directory, directory, transaction);
  return transaction;
}

}  // namespace lake::catalog
