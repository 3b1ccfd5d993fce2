#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"

// What the records of the MetaStore say. docs/internals/keyspace.md specifies their bytes (JSON
// objects).
//
// Every record carries a format number. Decoding refuses a newer one with kUnimplemented, so that
// an old program never rewrites what it does not understand; members it does not know inside a
// known format are kept in `unknown` and written back. Damaged bytes are kCorruption. Comparisons
// in transactions use the exact bytes that were read, never a re-encoding.
namespace lake::catalog {

// The format that this version writes, and the newest it reads.
inline constexpr std::int64_t kRecordFormat = 1;

// ns/<namespace>
struct NamespaceRecord {
  std::map<std::string, std::string> properties;
  std::string unknown;  // The members we do not know, as a JSON object, or empty.

  bool operator==(const NamespaceRecord&) const = default;
};

// tbl/<namespace>/<table>: names a table's current metadata file.
struct Registration {
  Uuid incarnation;               // The table's UUID.
  std::string location;           // Where its files live, without a trailing slash.
  std::string metadata_location;  // The current metadata file.
  std::uint64_t version = 0;      // 1 at creation, +1 with every new metadata file.
  std::string engine = "iceberg";
  Uuid last_operation;  // The operation that last changed the registration.
  std::string unknown;

  bool operator==(const Registration&) const = default;
};

// view/<namespace>/<view>: names a view's current metadata file.
struct ViewRecord {
  Uuid uuid;
  std::string location;  // Where its files live, without a trailing slash.
  std::string metadata_location;
  std::uint64_t version = 0;  // 1 at creation, +1 with every new metadata file.
  Uuid last_operation;        // The operation that published this version.
  std::string unknown;

  bool operator==(const ViewRecord&) const = default;
};

// What an operation does. The names are part of the record format.
enum class OperationKind {
  kCreateNamespace,
  kDropNamespace,
  kSetNamespaceProperties,
  kCreateTable,
  kRegisterTable,
  kAppend,
  kDropTable,
  kRenameTable,
  kCommitTable,   // Updates of one table, with requirements.
  kCommitTables,  // The same of several tables at once.
  kUndropTable,
  kExpireSnapshots,
  kCompactFiles,  // Small data files become fewer larger ones.
  kMergeManifests,
  kCreateView,
  kReplaceView,
  kDropView,
  kRenameView,
};

// Returns the name in records and on the command line, e.g. "create-table".
std::string_view OperationKindName(OperationKind kind);

// One table in a pending operation.
struct PendingTable {
  TableName name;
  Uuid incarnation;
  std::optional<std::string>
      base;  // The exact registration bytes the new version is built on; none for a create.
  std::string location;
  std::string planned_location;   // The metadata file that the engine commit writes last.
  std::int64_t snapshot_id = -1;  // The snapshot it adds; -1: none.

  bool operator==(const PendingTable&) const = default;
};

// pending/<operation id>: an operation between its reservation and its end.
struct PendingRecord {
  OperationKind kind = OperationKind::kAppend;
  std::vector<PendingTable> tables;
  std::string digest;       // Of the request, see OperationRecord.
  std::vector<Uuid> group;  // All operations that share this version, this one among them.
  std::uint64_t epoch = 0;  // Under which it was reserved.
  Uuid session;             // That reserved it.
  std::string unknown;

  bool operator==(const PendingRecord&) const = default;
};

// How an operation ended.
struct OperationResult {
  bool succeeded = false;
  std::string metadata_location;  // Of a success that made a version.
  std::int64_t snapshot_id = -1;  // Of a success that added a snapshot.
  std::string error_code;         // Of a failure: ErrorCodeName.
  std::string error_message;      // Of a failure, at most kErrorBytesMax bytes.

  bool operator==(const OperationResult&) const = default;
};

// The longest recorded error message.
inline constexpr std::size_t kErrorBytesMax = 4096;

// op/<hour>-<shard>/<operation id>: an operation that ended.
struct OperationRecord {
  OperationKind kind = OperationKind::kAppend;
  std::vector<std::string> names;  // The command-line forms of what it named.
  std::vector<Uuid> incarnations;
  // SHA-256 of the canonical {kind, names, options, statement of content}. The same id with another
  // digest is another request.
  std::string digest;
  OperationResult result;
  std::uint64_t epoch = 0;
  WallTime finished;
  std::string unknown;

  bool operator==(const OperationRecord&) const = default;
};

// drop/<incarnation>: a drop in progress, or a dropped table that can still be brought back.
struct Tombstone {
  TableName name;
  std::string registration;  // The exact bytes at the drop.
  bool purge = false;
  std::string state = "dropped";  // "dropped": files are kept; "purging": files are being removed.
  WallTime dropped;
  std::string unknown;

  bool operator==(const Tombstone&) const = default;
};

// The two states of a tombstone.
inline constexpr std::string_view kDroppedState = "dropped";
inline constexpr std::string_view kPurgingState = "purging";

// loc/<location>: whose a location is that was chosen explicitly.
struct LocationRecord {
  Uuid incarnation;
  std::string unknown;

  bool operator==(const LocationRecord&) const = default;
};

// dir/forgotten: how far the records of finished operations have been removed. Without it: not at all.
struct ForgottenRecord {
  // There are no records of earlier hours that decode: what is older need not be looked for.
  std::chrono::hours before{};
  std::string unknown;

  bool operator==(const ForgottenRecord&) const = default;
};

// Encode returns a record's bytes. Decode reads them back; see the top of this file for its errors.
std::string Encode(const NamespaceRecord& record);
std::string Encode(const Registration& record);
std::string Encode(const ViewRecord& record);
std::string Encode(const PendingRecord& record);
std::string Encode(const OperationRecord& record);
std::string Encode(const Tombstone& record);
std::string Encode(const LocationRecord& record);
std::string Encode(const ForgottenRecord& record);
Result<NamespaceRecord> DecodeNamespaceRecord(std::string_view bytes);
Result<Registration> DecodeRegistration(std::string_view bytes);
Result<ViewRecord> DecodeViewRecord(std::string_view bytes);
Result<PendingRecord> DecodePendingRecord(std::string_view bytes);
Result<OperationRecord> DecodeOperationRecord(std::string_view bytes);
Result<Tombstone> DecodeTombstone(std::string_view bytes);
Result<LocationRecord> DecodeLocationRecord(std::string_view bytes);
Result<ForgottenRecord> DecodeForgottenRecord(std::string_view bytes);

}  // namespace lake::catalog
