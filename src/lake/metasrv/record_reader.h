#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/catalog/publications.h"
#include "lake/catalog/records.h"
#include "lake/lease/fenced_store.h"
#include "lake/metastore/metastore.h"

namespace lake::metasrv {

// Reads the catalog's records with the bytes that later transactions will expect. Besides what a method says, each returns
// kUnavailable when the store failed (retry) and kCorruption or kUnimplemented when the record does not decode; the message
// names the thing. Blocks on the store, each call for at most `timeout`. Thread-safe.
class RecordReader {
 public:
  RecordReader(lease::FencedStore& store, const Clock& clock, Duration timeout)
      : store_(store), clock_(clock), timeout_(timeout) {}

  // Each returns nothing when there is no such record. kInvalidArgument: the name breaks the rules.
  Result<std::optional<std::string>> ReadBytes(const std::string& key) const;
  Result<std::optional<catalog::Stored<catalog::NamespaceRecord>>> ReadNamespace(
      const catalog::Namespace& ns) const;
  Result<std::optional<catalog::Stored<catalog::Registration>>> ReadRegistration(
      const catalog::TableName& name) const;
  Result<std::optional<catalog::PendingOperation>> ReadPending(const Uuid& operation) const;

  // The same for a view.
  Result<std::optional<catalog::Stored<catalog::ViewRecord>>> ReadView(
      const catalog::TableName& name) const;

  // How an operation ended, and the registration of the table it named, both as of one instant. A success is visible exactly when
  // both agree.
  struct Outcome {
    std::optional<catalog::OperationRecord> operation;
    std::optional<catalog::Registration> registration;
  };

  // Returns how `operation` ended and, if `table` is given, that table's registration. The registrations of `others` are read in the
  // same instant: a success that is returned is visible in all of them.
  Result<Outcome> ReadOutcome(const Uuid& operation, const std::optional<catalog::TableName>& table,
                              const std::vector<catalog::TableName>& others = {}) const;

  // Returns those of `operations` that are pending, as of one instant. One that does not decode is logged and left out: with it gone
  // for good, the others can only be given up.
  Result<std::vector<catalog::PendingOperation>> ReadGroup(
      const std::vector<Uuid>& operations) const;

  // Returns one page of what is under `prefix`, after `after`; see MetaStore::Scan.
  Result<metastore::Page> ReadPage(const std::string& prefix, const std::string& after) const;
  // Calls `visit` with every entry under `prefix`, in key order, until one call fails or `deadline` passes (kDeadlineExceeded).
  Status ForEach(const std::string& prefix, Deadline deadline,
                 const std::function<Status(const metastore::Entry&)>& visit) const;
  // Calls `visit` with every pending operation. One that does not decode is logged and left out: it must not hide the others.
  Status ForEachPending(Deadline deadline,
                        const std::function<void(const catalog::PendingOperation&)>& visit) const;
  // Returns the names of the tables, views or namespaces, whose keys are under `prefix`, sorted. A key that does not parse is logged and
  // left out.
  Result<std::vector<catalog::TableName>> ListTables(const std::string& prefix,
                                                     Deadline deadline) const;
  Result<std::vector<catalog::TableName>> ListViews(const std::string& prefix,
                                                    Deadline deadline) const;
  Result<std::vector<catalog::Namespace>> ListNamespaces(const std::string& prefix,
                                                         Deadline deadline) const;
  // Returns whether there is any entry under `prefix`.
  Result<bool> AnyUnder(const std::string& prefix) const;

 private:
  template <typename Name>
  Result<std::vector<Name>> ListNames(const std::string& prefix, Deadline deadline,
                                      Result<Name> (*parse)(std::string_view key)) const;

  Deadline NextDeadline() const { return clock_.Now() + timeout_; }

  lease::FencedStore& store_;
  const Clock& clock_;
  const Duration timeout_;
};

}  // namespace lake::metasrv
