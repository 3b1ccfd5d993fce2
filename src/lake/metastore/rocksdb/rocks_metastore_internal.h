#pragma once

#include <memory>

#include <rocksdb/file_system.h>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/metastore/rocksdb/rocks_metastore.h"

namespace lake::metastore {

// Opens a RocksMetaStore over a file system of RocksDB's that a test supplies. The ledger, the checks
// before opening and the syncs of directories use the real one.
class RocksMetaStoreOpener {
 public:
  // As RocksMetaStore::Open.
  static Result<std::unique_ptr<RocksMetaStore>> Open(
      Clock& clock, RocksMetaStore::Options options,
      std::shared_ptr<rocksdb::FileSystem> file_system);
};

}  // namespace lake::metastore
