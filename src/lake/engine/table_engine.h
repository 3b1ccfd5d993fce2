#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/engine/metadata_ptr.h"
#include "lake/engine/table_removal.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"

namespace lake::engine {

// A new table's first version.
struct CreatePlan {
  Uuid incarnation;
  std::string location;          // Where the table's files go, without a trailing slash.
  std::string planned_location;  // Plan does not look at it.
  iceberg::Schema schema;        // Its field ids are assigned afresh.
  std::map<std::string, std::string> properties;
  WallTime now;
};

// A new version of a table with more data files.
struct AppendPlan {
  MetadataPtr base;
  std::string base_location;  // The metadata file of `base`.
  std::string planned_location;
  iceberg::SnapshotId snapshot_id;
  std::vector<iceberg::DataFile> files;
  std::map<std::string, std::string> summary;  // Added to what the format asks for.
  WallTime now;
};

// A new version of a table that changes metadata only: whatever its updates name is written and complete.
struct CommitPlan {
  MetadataPtr base;
  std::string base_location;  // The metadata file of `base`.
  std::string planned_location;
  std::vector<iceberg::TableUpdate> updates;
  WallTime now;
};

// What a planned metadata file turned out to be.
enum class PlannedState {
  kComplete,  // It is there, durable, and a version of that table: it may be published.
  kAbsent,  // It is not there, or is no metadata of that table: its operation can only be aborted.
};

// Makes the immutable files of a table version. Nothing it does is visible to a reader before the registration names the new
// metadata file; every file it writes is new, and is complete (objstore::ObjectStore, law 1) before the next one that names it
// is written, the metadata file last.
//
// Every method may block on the object store until its deadline and returns, besides what it says itself:
//   kUnavailable, kOutcomeUnknown   the object store failed. Files of the attempt may lie around unreferenced.
//   kCorruption                     a file of the table is damaged or missing; the message names it. Only this table is hurt.
// Thread-safe.
class TableEngine {
 public:
  virtual ~TableEngine() = default;

  // Returns the metadata that Create would write, without writing anything. kInvalidArgument: the schema is wrong.
  virtual Result<MetadataPtr> Plan(const CreatePlan& plan) = 0;

  // Writes the first metadata file. kAlreadyExists: the planned location is taken. kInvalidArgument: the schema is wrong.
  virtual Status Create(const CreatePlan& plan, Deadline deadline) = 0;

  // Checks whether `files` may be appended to the table: each exists under the table's location with the size it claims, is
  // unpartitioned Parquet with rows, and as far as its statistics say it fits the schema; and the table takes appends. It does not
  // read them.
  //   kInvalidArgument   a file is wrong; the message names it.     kUnimplemented   the table is one Lake does not write.
  virtual Status CheckAppend(const iceberg::TableMetadata& metadata,
                             const std::vector<iceberg::DataFile>& files, Deadline deadline) = 0;

  // Writes a manifest, a manifest list and the metadata file of a version that holds the base's files and `files`.
  virtual Status Append(const AppendPlan& plan, Deadline deadline) = 0;

  // Writes the metadata file of the version that `updates` make of the base, and returns its content. It does not look at the files
  // that the updates name. kInvalidArgument: an update is wrong in itself. kConflict: the table has moved past what an update was
  // made for (iceberg::ApplyUpdates); make it again for the newer base.
  virtual Result<MetadataPtr> Commit(const CommitPlan& plan, Deadline deadline) = 0;

  // Checks that there is a file at `location`. kNotFound: there is none.
  virtual Status CheckFile(std::string_view location, Deadline deadline) = 0;

  // Says whether the metadata file at `planned_location` is there, parses, and is of the table `incarnation`. One that is there is
  // complete on return, whatever became of its writer.
  virtual Result<PlannedState> Reconcile(std::string_view planned_location, const Uuid& incarnation,
                                         Deadline deadline) = 0;

  // Returns the metadata at a location. Files are immutable, so answers are cached. kNotFound: no such file.
  virtual Result<MetadataPtr> Load(std::string_view metadata_location, Deadline deadline) = 0;

  // Removes what an aborted attempt may have left: its planned metadata file, and the manifest list and manifests that only that
  // attempt wrote. The caller has made sure that it can never be published.
  virtual Status RemoveAttempt(std::string_view planned_location, iceberg::SnapshotId snapshot_id,
                               Deadline deadline) = 0;

  // Starts to remove the files of a dropped table; nothing is removed yet. The engine must outlive it. Errors as of
  // TableRemoval::Start, and no others.
  virtual Result<TableRemoval> StartRemoval(RemovalPlan plan) = 0;
};

}  // namespace lake::engine
