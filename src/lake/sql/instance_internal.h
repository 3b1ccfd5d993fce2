#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/objstore/objstore.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/sql/guarded_file_system_internal.h"
#include "lake/sql/table_source.h"

namespace lake::sql {

// How an instance works.
struct InstanceOptions {
  std::size_t threads = 0;               // 0: as many as the machine has.
  std::uint64_t memory_limit_bytes = 0;  // 0: DuckDB's own choice, 80 % of the machine's.
  std::string temp_directory;            // Where to spill; empty: a fresh one under the system's.
  bool write_objects = false;
  // Called with the path of every object whose writing begins, by several threads at once. May be empty.
  std::function<void(const std::string&)> on_object_started;
  bool keep_order = true;  // Whether rows keep the order of their files.
};

// A DuckDB of ours: in memory, with Lake's file systems, and with everything off that would load
// code or leave traces.
struct Instance {
  std::unique_ptr<duckdb::DuckDB> database;
  GuardedFileSystem* files = nullptr;  // Owned by the database.
};

// Opens an instance. With a source, Lake's catalog and functions are in it: attached as `lake`, and
// first on the search path of every new connection made by Connect. What is passed by reference
// must outlive it. kInternal: the library is not the version that Lake is built for.
Result<Instance> OpenInstance(objstore::ObjectStore& objects, const Clock& clock,
                              const InstanceOptions& options, TableSource* source);

// Opens a connection whose search path begins with the catalog, if the instance has it.
Result<std::unique_ptr<duckdb::Connection>> Connect(Instance& instance);

}  // namespace lake::sql
