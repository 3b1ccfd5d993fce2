#include "lake/server/embedded.h"

#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"
#include "lake/testing/temp_dir.h"

namespace lake::server {
namespace {

using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;

class EmbeddedTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Embedded>> Open(Access access) {
    return Embedded::Open({.data_dir = dir_.path() + "/lake",
                           .access = access,
                           .lock_wait = std::chrono::milliseconds(0),
                           .purpose = "a test"},
                          clock_, random_);
  }

  metasrv::CallOptions Call() {
    return {.operation = Uuid::Random7(clock_, random_), .retryable = true, .deadline = Soon()};
  }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  static inline const catalog::TableName kT{.ns = {{"n"}}, .name = "t"};
  testing::TempDir dir_;
  RealClock clock_;
  SystemRandom random_;
};

TEST_F(EmbeddedTest, WhatIsMadeIsFoundAgainByTheNextProcess) {
  {
    auto lake = Open(Access::kWrite);
    ASSERT_THAT(lake, IsOk());
    ASSERT_THAT((*lake)->service().CreateNamespace({.ns = kT.ns}, Call()), IsOk());
    const auto schema = iceberg::Schema::Make(
        {.fields = {{.id = iceberg::FieldId{1}, .name = "id", .type = iceberg::Type::Long()}}});
    ASSERT_THAT((*lake)->service().CreateTable({.name = kT, .schema = *schema}, Call()), IsOk());
  }
  auto lake = Open(Access::kRead);
  ASSERT_THAT(lake, IsOk());
  EXPECT_THAT((*lake)->service().LoadTable(kT, Soon()), IsOk());
  const auto status = (*lake)->service().GetStatus(Soon());
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->epoch, 1U);
  EXPECT_TRUE(status->released) << "the lease was given back";
  EXPECT_FALSE(status->leading) << "a process that only reads never campaigns";
}

TEST_F(EmbeddedTest, EveryWritingProcessHasAnEpochOfItsOwn) {
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    auto lake = Open(Access::kWrite);
    ASSERT_THAT(lake, IsOk());
    EXPECT_EQ((*lake)->service().GetStatus(Soon())->epoch, epoch);
  }
}

TEST_F(EmbeddedTest, AReaderChangesNothingAndMakesNoDirectory) {
  EXPECT_THAT(Open(Access::kRead), IsError(ErrorCode::kNotFound));
  ASSERT_THAT(Open(Access::kWrite), IsOk());
  auto lake = Open(Access::kRead);
  ASSERT_THAT(lake, IsOk());
  EXPECT_THAT((*lake)->service().CreateNamespace({.ns = kT.ns}, Call()),
              IsError(ErrorCode::kNotLeader));
}

TEST_F(EmbeddedTest, ASecondOpenSaysWhoHoldsTheDirectory) {
  auto first = Open(Access::kWrite);
  ASSERT_THAT(first, IsOk());
  const auto second = Open(Access::kRead);
  ASSERT_THAT(second, IsError(ErrorCode::kDeadlineExceeded));
  EXPECT_THAT(second.error().message(), HasSubstr("a test"));
}

}  // namespace
}  // namespace lake::server
