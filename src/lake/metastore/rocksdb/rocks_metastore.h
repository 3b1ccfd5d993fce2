#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/metastore/metastore.h"

namespace lake::metastore {

// The embedded MetaStore: one RocksDB in a directory of this machine, held by one process at a time.
//
// Beyond MetaStore's laws:
//   * Transactions that wait are committed as one group by one synced write, in the order in which
//     they came; a rejection counts the effects of those before it. A lone caller commits on its own
//     thread.
//   * The first failure of the write-ahead log is the last thing the store does. RocksDB cannot tell
//     then whether the write is on disk, so the whole group is answered kOutcomeUnknown, every later
//     call, reads too, is answered kUnavailable, and `on_fatal` is called. Only reopening, in a new
//     process, settles what happened; until then a read could show a state that does not last.
//   * Other failures (no space for a table file, say) refuse commits with kUnavailable until their
//     cause is gone; reads go on.
//   * Open verifies the logs before RocksDB reads them: what a crash interrupted is cut off, any other
//     damage is refused with file and offset. docs/internals/metastore.md says exactly what is found.
//
// Errors: as MetaStore says. Calls block on disk; Commit may take longer than its deadline when the
// disk does. Thread-safe.
class RocksMetaStore final : public MetaStore {
 public:
  struct Options {
    // Where the store lives. Created when it does not exist.
    std::string path;
    // Called once, by the thread that met it, when the write-ahead log has failed. The process should
    // end with this error. When empty, the store only refuses all further calls.
    std::function<void(const Error&)> on_fatal;
    // Recent commits kept in memory, and the size that a log reaches.
    std::size_t write_buffer_bytes = std::size_t{16} * 1024 * 1024;
    std::size_t block_cache_bytes = std::size_t{8} * 1024 * 1024;
    // How long Open waits for another process that holds the store; zero for not at all.
    Duration lock_wait{};
    // Transactions that may wait for their turn. More are refused with kUnavailable.
    std::size_t waiting_max = 4096;
  };

  // Opens the store, creating it if there is none. Borrows `clock`, on which deadlines are counted,
  // for the store's lifetime. Blocks on disk, and waits for another holder of the store as long as
  // Options::lock_wait says.
  //
  // kDeadlineExceeded when the store is still in use then (the message says by whom): try again later.
  // kUnavailable when the disk fails or is full: mend that first. kPermissionDenied when the directory may not be read or written. kCorruption when
  // the store is damaged; the message names file and offset, and nothing was changed.
  static Result<std::unique_ptr<RocksMetaStore>> Open(Clock& clock, Options options);

  // Closes the store. Nobody may be calling it any more.
  ~RocksMetaStore() override;

  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) override;
  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) override;
  Result<Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                    Deadline deadline) override;
  Result<CommitResult> Commit(const Transaction& transaction, Deadline deadline) override;

  // Exclusive, with shared checks.
  Traits traits() const override;

  // Writes a copy of the store, as of an instant during the call, into `path`, which must not exist;
  // its parent must. The copy is verified and durable on return, and can be opened like any store.
  // This is the only way to back a store up while it is open. Commits go on meanwhile.
  //
  // kAlreadyExists when `path` exists. kUnavailable when the disk fails or is full; `path` may hold
  // the beginning of a copy then, which Open refuses.
  Status Checkpoint(const std::string& path);

 private:
  friend class RocksMetaStoreOpener;
  struct Core;

  explicit RocksMetaStore(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace lake::metastore
