#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"

// Where each record lives. docs/internals/keyspace.md is the specification, with test vectors; keys
// are promises.
//
//   ns/<namespace>                      tbl/<namespace>/<table>           view/<namespace>/<view>
//   pending/<operation id>              op/<hour>-<shard>/<operation id>  drop/<incarnation>
//   loc/<location>                      dir/names                         dir/forgotten
namespace lake::catalog {

// The family of each kind of record.
inline constexpr std::string_view kNamespacePrefix = "ns/";
inline constexpr std::string_view kTablePrefix = "tbl/";
inline constexpr std::string_view kViewPrefix = "view/";
inline constexpr std::string_view kPendingPrefix = "pending/";
inline constexpr std::string_view kOperationPrefix = "op/";
inline constexpr std::string_view kTombstonePrefix = "drop/";
inline constexpr std::string_view kLocationPrefix = "loc/";
// Rewritten with a fresh UUID by every create, drop and rename of a namespace, table or view.
inline constexpr std::string_view kDirectoryKey = "dir/names";
// There once every table whose location was chosen explicitly has its location record.
inline constexpr std::string_view kLocationsKey = "dir/locations";
// Up to which hour the records of finished operations are gone.
inline constexpr std::string_view kForgottenKey = "dir/forgotten";

// How many partitions the operations of one hour are kept in.
inline constexpr int kOperationShards = 16;
// An hour before which no operation of Lake was done.
inline constexpr std::chrono::hours kFirstOperationHour{490'000};  // 2025-11-24

// Returns the form of a level inside keys: '/', '%' and control characters as %XX (upper-case hex),
// all other bytes as they are.
std::string EscapeLevel(std::string_view level);
// Reverses EscapeLevel. kCorruption when `text` is not something EscapeLevel returns.
Result<std::string> UnescapeLevel(std::string_view text);

// Each returns the record's key. The names must be valid. kInvalidArgument when the key would pass
// metastore::kKeyBytesMax, which only long nested names can do.
Result<std::string> NamespaceKey(const Namespace& ns);
Result<std::string> TableKey(const TableName& name);
Result<std::string> ViewKey(const TableName& name);
// `location` is normal: with a scheme, and without a slash at its end.
Result<std::string> LocationKey(std::string_view location);
std::string PendingKey(const Uuid& operation);
// `operation` must be a version 7 UUID: the hours since 1970 of its time and its last four bits
// choose the partition.
std::string OperationKey(const Uuid& operation);
std::string TombstoneKey(const Uuid& incarnation);

// Returns the hours since 1970 of `time`, by which operations are kept.
std::chrono::hours OperationHour(WallTime time);
// Returns the prefix of the keys of the operations of an hour (not negative) in one shard, from 0 to kOperationShards - 1. They
// are in the order of their ids' times.
std::string OperationsPrefix(std::chrono::hours hour, int shard);

// Returns the prefix of the keys of the namespaces below `parent` at any depth, or of all
// namespaces when it has no levels.
Result<std::string> NamespaceChildrenPrefix(const Namespace& parent);
// Returns the prefix of the keys of the tables (views) directly in `ns`.
Result<std::string> TablesPrefix(const Namespace& ns);
Result<std::string> ViewsPrefix(const Namespace& ns);
// Returns the prefix of the keys of the locations below `location`, at any depth.
Result<std::string> LocationsPrefix(std::string_view location);

// Each reads a key of its family back. kCorruption when the key is not of that family or breaks the
// name rules.
Result<Namespace> ParseNamespaceKey(std::string_view key);
Result<TableName> ParseTableKey(std::string_view key);
Result<Uuid> ParsePendingKey(std::string_view key);
Result<Uuid> ParseOperationKey(std::string_view key);
Result<Uuid> ParseTombstoneKey(std::string_view key);

}  // namespace lake::catalog
