#include "lake/metastore/memory/memory_metastore.h"

#include <memory>

#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/metastore_suite.h"

namespace lake::testing {
namespace {

using metastore::MemoryMetaStore;

class MemoryHarness final : public MetaStoreHarness {
 public:
  explicit MemoryHarness(MemoryMetaStore::Options options) : store_(clock_, options) {}

  MetaStore& store() override { return store_; }

  ManualClock& clock() override { return clock_; }

  void Reopen() override { LAKE_CHECK(false, "the memory store is not durable"); }

 private:
  ManualClock clock_;
  MemoryMetaStore store_;
};

MetaStoreBackend Backend(std::string name, MemoryMetaStore::Options options) {
  return {.name = std::move(name),
          .make = [options] { return std::make_unique<MemoryHarness>(options); },
          .traits = {.exclusive = options.exclusive, .shared_checks = options.shared_checks}};
}

INSTANTIATE_TEST_SUITE_P(Memory, MetaStoreSuite,
                         ::testing::Values(Backend("Default", {}),
                                           Backend("LikeDynamoDb", {.shared_checks = false}),
                                           Backend("LikeRocksDb", {.exclusive = true})),
                         MetaStoreBackendName);

}  // namespace
}  // namespace lake::testing
