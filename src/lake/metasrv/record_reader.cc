#include "lake/metasrv/record_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lake/base/log.h"
#include "lake/catalog/keyspace.h"

namespace lake::metasrv {
namespace {

// Entries of one scan page.
constexpr std::size_t kPageEntries = 1000;

template <typename Record>
Result<std::optional<catalog::Stored<Record>>> DecodeStored(
    std::optional<std::string> bytes, Result<Record> (*decode)(std::string_view),
    const std::string& what) {
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  LAKE_TRY(Record record, WithContext(decode(*bytes), what));
  return catalog::Stored<Record>{.bytes = *std::move(bytes), .record = std::move(record)};
}

Result<catalog::PendingOperation> DecodePending(const Uuid& operation, std::string bytes) {
  LAKE_TRY(catalog::PendingRecord record,
           WithContext(catalog::DecodePendingRecord(bytes), "operation " + operation.ToString()));
  if (std::ranges::find(record.group, operation) == record.group.end()) {
    return Corruption(
        fmt::format("operation {}: it does not belong to its own group", operation.ToString()));
  }
  return catalog::PendingOperation{
      .id = operation, .bytes = std::move(bytes), .record = std::move(record)};
}

// Says of a damaged record or key that it is passed over.
void LogLeftOut(std::string_view key, const Error& error) {
  Log(LogLevel::kError, fmt::format("{} is damaged and left out: {}", key, error.message()));
}

}  // namespace

Result<std::optional<std::string>> RecordReader::ReadBytes(const std::string& key) const {
  return store_.Get(key, NextDeadline());
}

Result<std::optional<catalog::Stored<catalog::NamespaceRecord>>> RecordReader::ReadNamespace(
    const catalog::Namespace& ns) const {
  LAKE_TRY(const std::string key, catalog::NamespaceKey(ns));
  LAKE_TRY(std::optional<std::string> bytes, ReadBytes(key));
  return DecodeStored(std::move(bytes), catalog::DecodeNamespaceRecord,
                      "namespace " + ns.ToString());
}

Result<std::optional<catalog::Stored<catalog::Registration>>> RecordReader::ReadRegistration(
    const catalog::TableName& name) const {
  LAKE_TRY(const std::string key, catalog::TableKey(name));
  LAKE_TRY(std::optional<std::string> bytes, ReadBytes(key));
  return DecodeStored(std::move(bytes), catalog::DecodeRegistration, "table " + name.ToString());
}

Result<std::optional<catalog::Stored<catalog::ViewRecord>>> RecordReader::ReadView(
    const catalog::TableName& name) const {
  LAKE_TRY(const std::string key, catalog::ViewKey(name));
  LAKE_TRY(std::optional<std::string> bytes, ReadBytes(key));
  return DecodeStored(std::move(bytes), catalog::DecodeViewRecord, "view " + name.ToString());
}

Result<std::optional<catalog::PendingOperation>> RecordReader::ReadPending(
    const Uuid& operation) const {
  LAKE_TRY(std::optional<std::string> bytes, ReadBytes(catalog::PendingKey(operation)));
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  LAKE_TRY(catalog::PendingOperation pending, DecodePending(operation, *std::move(bytes)));
  return pending;
}

Result<RecordReader::Outcome> RecordReader::ReadOutcome(
    const Uuid& operation, const std::optional<catalog::TableName>& table,
    const std::vector<catalog::TableName>& others) const {
  std::vector<std::string> keys = {catalog::OperationKey(operation)};
  if (table.has_value()) {
    LAKE_TRY(std::string key, catalog::TableKey(*table));
    keys.push_back(std::move(key));
  }
  for (const catalog::TableName& other : others) {
    LAKE_TRY(std::string key, catalog::TableKey(other));
    keys.push_back(std::move(key));
  }
  LAKE_TRY(const std::vector<std::optional<std::string>> values,
           store_.GetTogether(keys, NextDeadline()));
  Outcome outcome;
  if (values[0].has_value()) {
    LAKE_TRY(outcome.operation, WithContext(catalog::DecodeOperationRecord(*values[0]),
                                            "operation " + operation.ToString()));
  }
  if (table.has_value() && values[1].has_value()) {
    LAKE_TRY(outcome.registration,
             WithContext(catalog::DecodeRegistration(*values[1]), "table " + table->ToString()));
  }
  return outcome;
}

Result<std::vector<catalog::PendingOperation>> RecordReader::ReadGroup(
    const std::vector<Uuid>& operations) const {
  std::vector<std::string> keys;
  keys.reserve(operations.size());
  for (const Uuid& operation : operations) {
    keys.push_back(catalog::PendingKey(operation));
  }
  LAKE_TRY(std::vector<std::optional<std::string>> values,
           store_.GetTogether(keys, NextDeadline()));
  std::vector<catalog::PendingOperation> group;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!values[i].has_value()) {
      continue;
    }
    if (auto member = DecodePending(operations[i], *std::move(values[i])); member.has_value()) {
      group.push_back(*std::move(member));
    } else {
      LogLeftOut(keys[i], member.error());
    }
  }
  return group;
}

Result<metastore::Page> RecordReader::ReadPage(const std::string& prefix,
                                               const std::string& after) const {
  return store_.Scan(prefix, after, kPageEntries, NextDeadline());
}

Status RecordReader::ForEach(const std::string& prefix, Deadline deadline,
                             const std::function<Status(const metastore::Entry&)>& visit) const {
  std::string after;
  while (true) {
    if (clock_.Now() >= deadline) {
      return DeadlineExceeded(fmt::format("scan of {}: the time is over", prefix));
    }
    LAKE_TRY(const metastore::Page page, ReadPage(prefix, after));
    for (const metastore::Entry& entry : page.entries) {
      LAKE_TRY_VOID(visit(entry));
    }
    if (!page.next.has_value()) {
      return {};
    }
    after = *page.next;
  }
}

Status RecordReader::ForEachPending(
    Deadline deadline, const std::function<void(const catalog::PendingOperation&)>& visit) const {
  return ForEach(
      std::string(catalog::kPendingPrefix), deadline, [&](const metastore::Entry& entry) -> Status {
        const Result<Uuid> id = catalog::ParsePendingKey(entry.key);
        const auto operation = id.has_value()
                                   ? DecodePending(*id, entry.value)
                                   : Result<catalog::PendingOperation>(std::unexpected(id.error()));
        if (operation.has_value()) {
          visit(*operation);
        } else {
          LogLeftOut(entry.key, operation.error());
        }
        return {};
      });
}

template <typename Name>
Result<std::vector<Name>> RecordReader::ListNames(
    const std::string& prefix, Deadline deadline,
    Result<Name> (*parse)(std::string_view key)) const {
  std::vector<Name> names;
  LAKE_TRY_VOID(ForEach(prefix, deadline, [&](const metastore::Entry& entry) -> Status {
    Result<Name> name = parse(entry.key);
    if (name.has_value()) {
      names.push_back(*std::move(name));
    } else {
      LogLeftOut(entry.key, name.error());
    }
    return {};
  }));
  std::ranges::sort(names);
  return names;
}

Result<std::vector<catalog::TableName>> RecordReader::ListTables(const std::string& prefix,
                                                                 Deadline deadline) const {
  return ListNames(prefix, deadline, catalog::ParseTableKey);
}

Result<std::vector<catalog::TableName>> RecordReader::ListViews(const std::string& prefix,
                                                                Deadline deadline) const {
  return ListNames(prefix, deadline, catalog::ParseTableKey);
}

Result<std::vector<catalog::Namespace>> RecordReader::ListNamespaces(const std::string& prefix,
                                                                     Deadline deadline) const {
  return ListNames(prefix, deadline, catalog::ParseNamespaceKey);
}

Result<bool> RecordReader::AnyUnder(const std::string& prefix) const {
  std::string after;
  while (true) {
    LAKE_TRY(const metastore::Page page, store_.Scan(prefix, after, 1, NextDeadline()));
    if (!page.entries.empty()) {
      return true;
    }
    if (!page.next.has_value()) {
      return false;
    }
    after = *page.next;
  }
}

}  // namespace lake::metasrv
