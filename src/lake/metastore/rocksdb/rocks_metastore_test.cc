#include "lake/metastore/rocksdb/rocks_metastore.h"

#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/metastore_suite.h"
#include "lake/testing/temp_dir.h"

namespace lake::testing {
namespace {

using metastore::RocksMetaStore;

class RocksHarness final : public MetaStoreHarness {
 public:
  RocksHarness() { Reopen(); }

  MetaStore& store() override { return *store_; }

  ManualClock& clock() override { return clock_; }

  void Reopen() override {
    store_.reset();
    Result<std::unique_ptr<RocksMetaStore>> opened =
        RocksMetaStore::Open(clock_, {.path = dir_.Join("store")});
    LAKE_CHECK(opened.has_value(), "the store can be opened");
    store_ = *std::move(opened);
  }

 private:
  TempDir dir_;
  ManualClock clock_;
  std::unique_ptr<RocksMetaStore> store_;
};

MetaStoreBackend Backend() {
  return {.name = "Default",
          .make = [] { return std::make_unique<RocksHarness>(); },
          .traits = {.exclusive = true, .shared_checks = true}};
}

INSTANTIATE_TEST_SUITE_P(Rocks, MetaStoreSuite, ::testing::Values(Backend()), MetaStoreBackendName);
INSTANTIATE_TEST_SUITE_P(Rocks, DurableMetaStoreSuite, ::testing::Values(Backend()),
                         MetaStoreBackendName);

}  // namespace
}  // namespace lake::testing
