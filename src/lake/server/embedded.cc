#include "lake/server/embedded.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lake/base/log.h"
#include "lake/base/uuid.h"
#include "lake/engine/iceberg_engine.h"
#include "lake/engine/iceberg_maintainer.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/election.h"
#include "lake/lease/fenced_store.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metastore/rocksdb/rocks_metastore.h"
#include "lake/objstore/local/local_objstore.h"
#include "lake/server/data_dir.h"

namespace lake::server {
namespace {

// How long taking the lease, and giving it back, may take.
constexpr std::chrono::seconds kLeaseWait{10};

// Opens the metastore, waiting for another process that holds it. `failed` is set when its log fails
// later.
Result<std::unique_ptr<metastore::RocksMetaStore>> OpenMetaStore(const DataDir& dir,
                                                                 Duration lock_wait, Clock& clock,
                                                                 std::atomic<bool>& failed) {
  auto opened = metastore::RocksMetaStore::Open(
      clock, {.path = dir.metastore_path(),
              .on_fatal =
                  [root = dir.root, &failed](const Error& error) {
                    failed = true;
                    Log(LogLevel::kError,
                        fmt::format("data directory {}: the log of the metastore has failed, and "
                                    "nothing more is done: {}",
                                    root, error.message()));
                  },
              .lock_wait = lock_wait});
  if (!opened.has_value() && opened.error().code() == ErrorCode::kDeadlineExceeded) {
    return DeadlineExceeded(fmt::format("data directory {}: {} ({})", dir.root, DescribeOwner(dir),
                                        opened.error().message()));
  }
  return opened;
}

std::string NodeName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return "localhost";
  }
  return name.data();
}

}  // namespace

// Members are destroyed from the last to the first: Metasrv before what it stands on.
struct Embedded::Parts {
  Parts(Clock& clock_in, Random& random)
      : clock(clock_in), slot(clock_in), objects(clock_in, random) {}

  Clock& clock;
  std::atomic<bool> metastore_failed = false;
  std::unique_ptr<metastore::RocksMetaStore> metastore;
  lease::AuthoritySlot slot;
  objstore::LocalObjectStore objects;
  std::optional<engine::SnapshotReader> reader;
  std::optional<engine::IcebergEngine> engine;
  std::optional<engine::IcebergMaintainer> maintainer;
  std::optional<lease::FencedStore> fenced;
  std::unique_ptr<lease::Election> election;
  std::optional<metasrv::Metasrv> service;
};

Result<std::unique_ptr<Embedded>> Embedded::Open(const EmbeddedOptions& options, Clock& clock,
                                                 Random& random) {
  LAKE_TRY(const DataDir dir, LocateDataDir(options.data_dir));
  const bool writes = options.access == Access::kWrite;
  LAKE_TRY_VOID(writes ? EnsureDataDir(dir) : CheckDataDir(dir));

  auto parts = std::make_unique<Parts>(clock, random);
  LAKE_TRY(parts->metastore, OpenMetaStore(dir, options.lock_wait, clock, parts->metastore_failed));
  IgnoreError(WriteOwner(dir, options.purpose), "it only tells others who they are waiting for");

  const Uuid session = Uuid::Random7(clock, random);
  parts->reader.emplace(parts->objects, clock);
  parts->engine.emplace(parts->objects, clock, random, engine::IcebergEngine::Options{});
  parts->maintainer.emplace(parts->objects, clock, random);
  parts->fenced.emplace(*parts->metastore, clock, parts->slot);
  parts->service.emplace(
      metasrv::Metasrv::Deps{.store = *parts->fenced,
                             .engine = *parts->engine,
                             .maintainer = *parts->maintainer,
                             .clock = clock,
                             .random = random},
      metasrv::Metasrv::Options{.session = session, .warehouse = dir.warehouse_path()});
  if (writes) {
    LAKE_TRY(parts->election,
             lease::Election::Create(
                 *parts->metastore, clock, parts->slot,
                 {.identity = {.node = NodeName(), .session = session, .address = ""},
                  .config = {},
                  .single_instance = true,
                  .on_won = {}}));
    parts->election->Start();
    LAKE_TRY_VOID(parts->election->WaitForAuthority(clock.Now() + kLeaseWait));
    LAKE_TRY_VOID(parts->service->Recover(clock.Now() + kLeaseWait));
  }
  return std::unique_ptr<Embedded>(new Embedded(std::move(parts)));
}

Embedded::Embedded(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Embedded::~Embedded() {
  if (parts_->election == nullptr) {
    return;
  }
  if (parts_->metastore_failed) {
    // There is nothing to give the lease back with. Whoever opens the directory next takes it over.
    parts_->service->Stop();
    parts_->election->Stop();
  } else {
    const Status released = parts_->election->Release([this](Deadline) { parts_->service->Stop(); },
                                                      parts_->clock.Now() + kLeaseWait);
    if (!released.has_value()) {
      Log(LogLevel::kInfo, "the lease was not given back: " + released.error().message());
    }
  }
}

metasrv::MetaService& Embedded::service() {
  return *parts_->service;
}

const engine::SnapshotReader& Embedded::reader() const {
  return *parts_->reader;
}

objstore::ObjectStore& Embedded::objects() {
  return parts_->objects;
}

}  // namespace lake::server
