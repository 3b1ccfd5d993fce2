#include "lake/metastore/dynamodb/dynamo_metastore.h"

#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/testing/dynamo_fake.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/metastore_suite.h"
#include "lake/testing/seeded_random.h"
#include "lake/testing/time_lapse.h"

namespace lake::testing {
namespace {

using metastore::DynamoMetaStore;

class DynamoHarness final : public MetaStoreHarness {
 public:
  MetaStore& store() override { return store_; }

  ManualClock& clock() override { return clock_; }

  void Reopen() override { LAKE_CHECK(false, "the fake is not durable"); }

 private:
  ManualClock clock_;
  SeededRandom random_{1};
  DynamoFake fake_{clock_};
  // Time passes while requests are under way: none of them may be lost to that.
  DynamoMetaStore store_{fake_,
                         clock_,
                         random_,
                         {.attempt = std::chrono::hours(1),
                          .backoff = std::chrono::milliseconds(1),
                          .backoff_max = std::chrono::milliseconds(8)}};
  const TimeLapse lapse_{clock_};
};

INSTANTIATE_TEST_SUITE_P(Dynamo, MetaStoreSuite,
                         ::testing::Values(MetaStoreBackend{
                             .name = "Default",
                             .make = [] { return std::make_unique<DynamoHarness>(); },
                             .traits = {.exclusive = false, .shared_checks = false}}),
                         MetaStoreBackendName);

}  // namespace
}  // namespace lake::testing
