#include "lake/metasrv/locations.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/catalog/names.h"
#include "lake/catalog/records.h"
#include "lake/engine/normal_path.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Rejected;

// How often the records are completed anew because names came or went.
constexpr int kRounds = 10;

// Where a location's authority ends: at the slash after "file://" or "s3://bucket".
std::size_t RootEnd(std::string_view normal) {
  const std::size_t authority = normal.find("://");
  return authority == std::string_view::npos ? std::string_view::npos
                                             : normal.find('/', authority + 3);
}

// Returns how a publication ended that the caller's change does not depend on having been sent: what is not known is read back.
Status Certain(const Result<CommitResult>& result) {
  if (result.has_value()) {
    return {};
  }
  return result.error().code() == ErrorCode::kOutcomeUnknown
             ? Unavailable(result.error().message())
             : Status(std::unexpected(result.error()));
}

// A scan that has found what it was for.
Error Found() {
  return Error(ErrorCode::kCancelled, "found");
}

}  // namespace

bool Locations::IsOurs(const std::string& location, const Uuid& incarnation) const {
  const Result<std::string> normal = engine::NormalPath(location);
  const Result<std::string> chosen =
      engine::NormalPath(fmt::format("{}/{}", warehouse_, incarnation.ToString()));
  return normal.has_value() && chosen.has_value() && *normal == *chosen;
}

Result<std::optional<catalog::LocationClaim>> Locations::Claim(const std::string& location,
                                                               const Uuid& incarnation,
                                                               bool dropped, lease::Epoch epoch,
                                                               Deadline deadline) const {
  LAKE_TRY(const std::string normal, engine::NormalPath(location));
  LAKE_TRY_VOID(CheckWarehouse(location, normal, incarnation));
  if (IsOurs(location, incarnation)) {
    if (!dropped) {
      // It may be registered, or dropped and forgotten: only the registrations tell.
      LAKE_TRY_VOID(CheckNotRegistered(incarnation, deadline));
    }
    return std::nullopt;
  }
  LAKE_TRY_VOID(EnsureComplete(epoch, deadline));
  LAKE_TRY(std::optional<catalog::LocationClaim> held, Find(location, incarnation));
  if (held.has_value() && !dropped) {
    return std::unexpected(Taken(location, incarnation, deadline));
  }
  if (!held.has_value()) {
    LAKE_TRY_VOID(CheckAround(location, normal, deadline));
    LAKE_TRY_VOID(CheckBelow(location, normal, deadline));
    held = catalog::LocationClaim{.location = normal};
  }
  return held;
}

Result<std::optional<catalog::LocationClaim>> Locations::Reclaim(const std::string& location,
                                                                 const Uuid& incarnation,
                                                                 lease::Epoch epoch,
                                                                 Deadline deadline) const {
  if (IsOurs(location, incarnation)) {
    return std::nullopt;
  }
  LAKE_TRY_VOID(EnsureComplete(epoch, deadline));
  LAKE_TRY(std::optional<catalog::LocationClaim> held, Find(location, incarnation));
  if (!held.has_value()) {
    return Conflict(fmt::format("location {} is no longer that of table {}: another table has it",
                                location, incarnation.ToString()));
  }
  return held;
}

Result<std::optional<catalog::LocationClaim>> Locations::Find(const std::string& location,
                                                              const Uuid& incarnation) const {
  const Result<std::string> normal = engine::NormalPath(location);
  if (!normal.has_value()) {
    return std::nullopt;  // Such a location has no record.
  }
  const Result<std::string> key = catalog::LocationKey(*normal);
  if (!key.has_value()) {
    return std::nullopt;
  }
  LAKE_TRY(std::optional<std::string> bytes, deps_.reader.ReadBytes(*key));
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  LAKE_TRY(const catalog::LocationRecord record,
           WithContext(catalog::DecodeLocationRecord(*bytes), *key));
  if (record.incarnation != incarnation) {
    return std::nullopt;
  }
  return catalog::LocationClaim{.location = *normal, .read_bytes = std::move(bytes)};
}

Status Locations::CheckWarehouse(const std::string& location, const std::string& normal,
                                 const Uuid& incarnation) const {
  LAKE_TRY(const std::string warehouse, engine::NormalPath(warehouse_));
  if (engine::IsWithin(warehouse, normal)) {
    return InvalidArgument(
        fmt::format("location {} holds the warehouse {}, in which every other table gets its place",
                    location, warehouse_));
  }
  if (!engine::IsWithin(normal, warehouse) || IsOurs(location, incarnation)) {
    return {};
  }
  const std::string_view below = std::string_view(normal).substr(warehouse.size() + 1);
  const Result<Uuid> folder = Uuid::Parse(below.substr(0, below.find('/')));
  if (!folder.has_value()) {
    return {};
  }
  return AlreadyExists(
      fmt::format("location {} is in the warehouse's folder of table {}; two tables cannot share "
                  "files",
                  location, folder->ToString()));
}

Status Locations::CheckNotRegistered(const Uuid& incarnation, Deadline deadline) const {
  return deps_.reader.ForEach(
      std::string(catalog::kTablePrefix), deadline, [&](const metastore::Entry& entry) -> Status {
        const Result<catalog::Registration> other = catalog::DecodeRegistration(entry.value);
        if (!other.has_value()) {
          return Corruption(fmt::format("{}: it cannot be seen whether it is table {}: {}",
                                        entry.key, incarnation.ToString(),
                                        other.error().message()));
        }
        if (other->incarnation != incarnation) {
          return {};
        }
        LAKE_TRY(const catalog::TableName name, catalog::ParseTableKey(entry.key));
        return AlreadyExists(
            fmt::format("location {} belongs to table {}; two tables cannot share files",
                        other->location, name.ToString()));
      });
}

Status Locations::CheckAround(const std::string& location, const std::string& normal,
                              Deadline deadline) const {
  const std::size_t root = RootEnd(normal);
  for (std::size_t end = normal.size(); end != std::string::npos && end > root;
       end = normal.rfind('/', end - 1)) {
    LAKE_TRY(const std::string key, catalog::LocationKey(normal.substr(0, end)));
    LAKE_TRY(const std::optional<std::string> bytes, deps_.reader.ReadBytes(key));
    if (bytes.has_value()) {
      LAKE_TRY(const catalog::LocationRecord record,
               WithContext(catalog::DecodeLocationRecord(*bytes), key));
      return std::unexpected(Taken(location, record.incarnation, deadline));
    }
  }
  return {};
}

Status Locations::CheckBelow(const std::string& location, const std::string& normal,
                             Deadline deadline) const {
  LAKE_TRY(const std::string prefix, catalog::LocationsPrefix(normal));
  return deps_.reader.ForEach(prefix, deadline, [&](const metastore::Entry& entry) -> Status {
    LAKE_TRY(const catalog::LocationRecord record,
             WithContext(catalog::DecodeLocationRecord(entry.value), entry.key));
    return std::unexpected(Taken(location, record.incarnation, deadline));
  });
}

Status Locations::EnsureComplete(lease::Epoch epoch, Deadline deadline) const {
  for (int round = 0; round < kRounds; ++round) {
    LAKE_TRY(const std::optional<std::string> complete,
             deps_.reader.ReadBytes(std::string(catalog::kLocationsKey)));
    if (complete.has_value()) {
      return {};
    }
    LAKE_TRY_VOID(Complete(epoch, deadline));
  }
  return Unavailable("names keep changing while the records of locations are completed; retry");
}

Status Locations::Complete(lease::Epoch epoch, Deadline deadline) const {
  LAKE_TRY(const std::optional<std::string> directory,
           deps_.reader.ReadBytes(std::string(catalog::kDirectoryKey)));
  const auto claim_all = [&](std::string_view prefix, Owner owner) {
    return deps_.reader.ForEach(std::string(prefix), deadline, [&](const metastore::Entry& entry) {
      return ClaimFor(entry.key, entry.value, owner, epoch);
    });
  };
  // Tables first: one that was dropped does not hold a location against one that is there.
  LAKE_TRY_VOID(claim_all(catalog::kTablePrefix, [](std::string_view bytes) {
    return catalog::DecodeRegistration(bytes);
  }));
  LAKE_TRY_VOID(claim_all(
      catalog::kTombstonePrefix, [](std::string_view bytes) -> Result<catalog::Registration> {
        LAKE_TRY(const catalog::Tombstone tombstone, catalog::DecodeTombstone(bytes));
        return catalog::DecodeRegistration(tombstone.registration);
      }));
  // Refused when a name came or went meanwhile: the scans may have missed it. Whether it was applied, the caller reads back.
  return Certain(deps_.operations.CommitKnown(
      catalog::CompleteLocations(directory, Uuid::Random4(deps_.random)), epoch,
      [](const Rejected&) { return true; }));
}

Status Locations::ClaimFor(const std::string& key, std::string read_bytes, Owner owner,
                           lease::Epoch epoch) const {
  for (int round = 0; round < kRounds; ++round) {
    LAKE_TRY(const catalog::Registration table, WithContext(owner(read_bytes), key));
    const Result<std::string> normal = engine::NormalPath(table.location);
    if (!normal.has_value() || IsOurs(table.location, table.incarnation)) {
      return {};  // With a location that has no normal form none can be compared, and none is given that is like it.
    }
    LAKE_TRY(const metastore::Transaction transaction,
             catalog::ClaimLocation(*normal, table.incarnation, key, read_bytes));
    LAKE_TRY(const std::string location_key, catalog::LocationKey(*normal));
    const Result<CommitResult> result = deps_.operations.CommitKnown(
        transaction, epoch,
        [&](const Rejected& rejected) { return FindFailure(rejected, location_key) != nullptr; });
    LAKE_TRY_VOID(Certain(result));
    const auto* rejected = std::get_if<Rejected>(&*result);
    if (rejected == nullptr || FindFailure(*rejected, location_key) != nullptr) {
      return {};  // It has its record, or another table had it first.
    }
    // The table changed: its next version has the same location. If it is gone, dir/names has changed.
    LAKE_TRY(std::optional<std::string> bytes, deps_.reader.ReadBytes(key));
    if (!bytes.has_value()) {
      return {};
    }
    read_bytes = *std::move(bytes);
  }
  return Unavailable(fmt::format("{}: it keeps changing while its location is noted; retry", key));
}

Error Locations::Taken(const std::string& location, const Uuid& owner, Deadline deadline) const {
  std::string who = fmt::format("table {}", owner.ToString());
  const auto name_of = [&](std::string_view prefix, bool dropped) {
    return deps_.reader.ForEach(
        std::string(prefix), deadline, [&](const metastore::Entry& entry) -> Status {
          const Result<catalog::Tombstone> tombstone =
              dropped ? catalog::DecodeTombstone(entry.value) : Result<catalog::Tombstone>();
          if (!tombstone.has_value()) {
            return {};
          }
          const Result<catalog::Registration> table =
              catalog::DecodeRegistration(dropped ? tombstone->registration : entry.value);
          const Result<catalog::TableName> name = dropped
                                                      ? Result<catalog::TableName>(tombstone->name)
                                                      : catalog::ParseTableKey(entry.key);
          if (!table.has_value() || table->incarnation != owner || !name.has_value()) {
            return {};
          }
          who = dropped
                    ? fmt::format("the dropped table {} ({})", name->ToString(), owner.ToString())
                    : fmt::format("table {}", name->ToString());
          return std::unexpected(Found());
        });
  };
  if (name_of(catalog::kTablePrefix, false).has_value()) {
    IgnoreError(name_of(catalog::kTombstonePrefix, true), "the UUID says enough");
  }
  return Error(
      ErrorCode::kAlreadyExists,
      fmt::format("location {} belongs to {}; two tables cannot share files", location, who));
}

}  // namespace lake::metasrv
