#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/engine/data_file_writer.h"
#include "lake/iceberg/schema.h"

// What a command line asks for, as values: checked as far as that is possible without looking at anything.
namespace lake::cli {

// Properties of a namespace or a table, by key.
using Properties = std::map<std::string, std::string>;

// Make one level of a namespace.
struct NamespaceCreate {
  catalog::Namespace ns;
  Properties properties;
  std::optional<Uuid> operation;
};

// List namespaces, at every depth.
struct NamespaceList {
  catalog::Namespace parent;  // Without levels: all of them.
};

// Show a namespace's properties.
struct NamespaceShow {
  catalog::Namespace ns;
};

// Change a namespace's properties.
struct NamespaceSet {
  catalog::Namespace ns;
  std::map<std::string, std::string> properties;
  std::set<std::string> unset;
  std::optional<Uuid> operation;
};

// Drop an empty namespace.
struct NamespaceDrop {
  catalog::Namespace ns;
  std::optional<Uuid> operation;
};

// The file that standard input is asked for by.
inline constexpr char kStandardInput[] = "-";

// A file that a person hands in.
struct InputArgument {
  std::string path;  // Or kStandardInput.
  engine::InputFormat format = engine::InputFormat::kParquet;
};

// Make a table without rows.
struct TableCreate {
  catalog::TableName name;
  // Exactly one of the two.
  std::optional<iceberg::Schema> schema;
  std::optional<InputArgument> like;
  Properties properties;
  std::optional<Uuid> operation;
};

// List tables.
struct TableList {
  std::optional<catalog::Namespace> ns;  // None: in all namespaces.
  bool dropped = false;                  // Those that were dropped and are not forgotten yet.
};

// Show a table's columns, place and size.
struct TableShow {
  catalog::TableName name;
};

// Show a table's snapshots.
struct TableHistory {
  catalog::TableName name;
};

// Give a table another name.
struct TableRename {
  catalog::TableName from;
  catalog::TableName to;
  std::optional<Uuid> operation;
};

// Change a table's properties.
struct TableSet {
  catalog::TableName name;
  std::map<std::string, std::string> properties;
  std::set<std::string> unset;
  std::optional<Uuid> operation;
};

// Give a name to a table that already has files.
struct TableRegister {
  catalog::TableName name;
  std::string metadata_location;
  std::optional<Uuid> operation;
};

// Take a table out of the catalog.
struct TableDrop {
  catalog::TableName name;
  bool purge = false;
  std::optional<Uuid> operation;
};

// Bring a dropped table back.
struct TableUndrop {
  catalog::TableName name;
  std::optional<Uuid> incarnation;  // None: the one dropped last.
  std::optional<Uuid> operation;
};

// What maintenance of tables takes.
struct MaintenanceArguments {
  std::optional<catalog::TableName> name;  // None: the whole lake.
  bool dry_run = false;
};

// Keep the lake and its tables tidy.
struct Maintain {
  MaintenanceArguments what;
};

// Give up a table's old snapshots.
struct TableExpire {
  MaintenanceArguments what;  // With a name.
};

// Find a table's files that nothing needs, and remove them if that is asked for.
struct TableOrphans {
  catalog::TableName name;
  Duration older_than{};
  bool remove = false;
};

// List operations, the newest first.
struct OperationsList {
  std::size_t limit = 0;
};

// Show what is known of an operation.
struct OperationsShow {
  Uuid operation;
};

// Add the rows of files to a table, as one version.
struct Append {
  catalog::TableName name;
  std::vector<InputArgument> inputs;  // At least one; kStandardInput at most once.
  bool create = false;
  std::optional<Uuid> operation;
};

// How the rows of a result are written.
enum class ResultFormat { kTable, kCsv, kJson, kParquet };

// Run SQL.
struct Sql {
  std::optional<std::string> text;  // None: a prompt, or what standard input holds.
  ResultFormat format = ResultFormat::kTable;
  std::string file;  // Where the result goes; empty: standard output. Never empty with kParquet.
};

// Show the data directory's state.
struct StatusCommand {};

// Verify the files that tables reach.
struct Check {
  std::optional<catalog::TableName> name;  // None: every table.
};

// Show the version.
struct Version {};

// Show the main job.
struct Demo {
  std::string data;  // The flights file; empty: look where setup puts it.
};

// One of them.
using Command =
    std::variant<NamespaceCreate, NamespaceList, NamespaceShow, NamespaceSet, NamespaceDrop,
                 TableCreate, TableList, TableShow, TableHistory, TableRename, TableSet,
                 TableRegister, TableExpire, TableOrphans, TableDrop, TableUndrop, Append, Sql,
                 StatusCommand, Check, Maintain, OperationsList, OperationsShow, Version, Demo>;

// What every command takes.
struct GlobalOptions {
  std::string data_dir;
  Duration wait{};    // How long to wait for another process that holds the data directory.
  bool json = false;  // Write results for programs.
};

// A whole command line.
struct Invocation {
  GlobalOptions global;
  Command command;
};

}  // namespace lake::cli
