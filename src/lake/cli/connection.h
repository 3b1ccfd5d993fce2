#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/data_file_writer.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/metasrv/service.h"
#include "lake/objstore/objstore.h"
#include "lake/sql/session.h"

namespace lake::cli {

// Whether a command changes anything.
enum class Access { kRead, kWrite };

// The lake that a command works on, wherever its control plane runs. What it returns lives as long as the connection.
// Single-threaded, but for what the returned objects promise.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual metasrv::MetaService& service() = 0;
  virtual const engine::SnapshotReader& reader() = 0;
  virtual objstore::ObjectStore& objects() = 0;

  // Returns what writes data files. The first call of one of these two starts the SQL engine. kInternal: it does not start.
  virtual Result<engine::DataFileWriter*> writer() = 0;
  // Returns the session in which statements run.
  virtual Result<sql::SqlSession*> session() = 0;
};

// Which lake, and what for.
struct ConnectRequest {
  std::string data_dir;
  Access access = Access::kRead;
  Duration wait{};      // How long to wait for another process that holds the data directory.
  std::string purpose;  // What that process would be told about us, e.g. "lake append".
};

// Opens a lake. Errors as for server::Embedded::Open.
using Connect = std::function<Result<std::unique_ptr<Connection>>(const ConnectRequest&)>;

}  // namespace lake::cli
