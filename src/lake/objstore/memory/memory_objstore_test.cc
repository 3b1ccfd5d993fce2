#include "lake/objstore/memory/memory_objstore.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/objstore_suite.h"

namespace lake::testing {
namespace {

using objstore::MemoryObjectStore;

class MemoryHarness final : public ObjectStoreHarness {
 public:
  explicit MemoryHarness(std::string root) : root_(std::move(root)), store_(clock_) {}

  ObjectStore& store() override { return store_; }

  ManualClock& clock() override { return clock_; }

  std::string root() const override { return root_; }

 private:
  const std::string root_;
  ManualClock clock_;
  MemoryObjectStore store_;
};

ObjectStoreBackend Backend(std::string name, std::string root) {
  return {.name = std::move(name),
          .make = [root = std::move(root)] { return std::make_unique<MemoryHarness>(root); },
          .has_directories = true};
}

INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreSuite,
                         ::testing::Values(Backend("Paths", "/root/"),
                                           Backend("Uris", "memory:///root/")),
                         ObjectStoreBackendName);

TEST(MemoryObjectStore, DatesObjectsByItsClock) {
  ManualClock clock;
  MemoryObjectStore store(clock);
  const Deadline later = clock.Now() + std::chrono::hours(2);
  const WallTime put_at = clock.WallNow();
  ASSERT_THAT(store.PutIfAbsent("/a", "x", later), IsOk());
  clock.Advance(std::chrono::hours(1));
  EXPECT_THAT(store.Stat("/a", later),
              IsOkAnd(objstore::ObjectInfo{.path = "/a", .size = 1, .modified = put_at}));
}

TEST(MemoryObjectStore, KnowsOneObjectByEveryForm) {
  ManualClock clock;
  MemoryObjectStore store(clock);
  const Deadline later = clock.Now() + std::chrono::hours(1);
  ASSERT_THAT(store.PutIfAbsent("memory:///a", "x", later), IsOk());
  EXPECT_THAT(store.Get("/a", 1, later), IsOkAnd("x"));
  EXPECT_THAT(store.PutIfAbsent("/a", "y", later), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(store.Get("file:///a", 1, later), IsError(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace lake::testing
