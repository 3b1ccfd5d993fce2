#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/metasrv/service.h"
#include "lake/objstore/objstore.h"

namespace lake::server {

// What a command does with the data directory.
enum class Access {
  kRead,   // Reads only: never campaigns for the lease. The directory must exist.
  kWrite,  // Changes things: takes the lease when it is first needed. A missing directory is made.
};

// Which directory, what for, and how patiently.
struct EmbeddedOptions {
  std::string data_dir;
  Access access = Access::kRead;
  // How long to wait for another process that holds the directory.
  Duration lock_wait = std::chrono::seconds(10);
  // What other processes are told about who holds it, e.g. "lake append".
  std::string purpose;
};

// Lake in one process: the RocksDB metastore, the local warehouse, the lease and Metasrv over one data directory.
//
//   <data-dir>/FORMAT       "lake 2", the form of everything below, and where it was made
//   <data-dir>/metastore/   RocksDB
//   <data-dir>/warehouse/   table files
//   <data-dir>/owner        who holds the directory now, as JSON
//
// Thread-safe once open. Destroying it releases the lease and the directory.
class Embedded {
 public:
  // Opens a data directory, or makes it.
  //   kNotFound          it does not exist (kRead).            kInvalidArgument   it exists and is not Lake's.
  //   kUnimplemented     it has a newer format.                kPermissionDenied  it cannot be read or written.
  //   kDeadlineExceeded  another process held it as long as `lock_wait`; the message says which.
  //   kUnavailable       the disk fails or is full.
  //   kCorruption        the metastore is damaged; the message names file and offset.
  //   kConflict          it is a copy, or was moved (kWrite).
  static Result<std::unique_ptr<Embedded>> Open(const EmbeddedOptions& options, Clock& clock,
                                                Random& random);

  ~Embedded();
  Embedded(const Embedded&) = delete;
  Embedded& operator=(const Embedded&) = delete;

  // The control plane. With kRead, changing calls answer kNotLeader.
  metasrv::MetaService& service();
  const engine::SnapshotReader& reader() const;
  objstore::ObjectStore& objects();

 private:
  struct Parts;
  explicit Embedded(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace lake::server
