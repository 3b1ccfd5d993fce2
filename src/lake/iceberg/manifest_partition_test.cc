#include "lake/iceberg/manifest_partition.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest_examples_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::IsOkAnd;
using ::testing::HasSubstr;

TEST(TransformResultType, IsTheOneOfTheSpecification) {
  struct Case {
    std::string_view transform;
    Type source;
    Type result;
  };

  const std::vector<Case> cases = {
      {"identity", Type::Decimal(9, 2), Type::Decimal(9, 2)},
      {"identity", Type::Uuid(), Type::Uuid()},
      {"bucket[16]", Type::String(), Type::Int()},
      {"bucket[1]", Type::TimestamptzNs(), Type::Int()},
      {"truncate[10]", Type::Long(), Type::Long()},
      {"truncate[3]", Type::Decimal(9, 2), Type::Decimal(9, 2)},
      {"truncate[3]", Type::Binary(), Type::Binary()},
      {"year", Type::Date(), Type::Int()},
      {"month", Type::Timestamp(), Type::Int()},
      {"day", Type::Timestamptz(), Type::Date()},
      {"day", Type::Date(), Type::Date()},
      {"hour", Type::TimestampNs(), Type::Int()},
      {"void", Type::String(), Type::String()},
      {"void", Type::Struct({}), Type::Int()},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(TransformResultType(test.transform, test.source), IsOkAnd(test.result))
        << test.transform << " of " << test.source.ToString();
  }
}

TEST(TransformResultType, RefusesColumnsThatTheTransformDoesNotTake) {
  const std::vector<std::pair<std::string_view, Type>> cases = {
      {"identity", Type::Struct({})}, {"identity", Type::Geometry("")},
      {"bucket[4]", Type::Boolean()}, {"bucket[4]", Type::Double()},
      {"truncate[4]", Type::Date()},  {"truncate[4]", Type::Uuid()},
      {"year", Type::Long()},         {"day", Type::Time()},
      {"hour", Type::Date()},         {"month", Type::String()}};
  for (const auto& [transform, type] : cases) {
    EXPECT_THAT(TransformResultType(transform, type), IsError(ErrorCode::kInvalidArgument))
        << transform << " of " << type.ToString();
  }
}

TEST(TransformResultType, RefusesWrongParameters) {
  for (const std::string_view transform : {"bucket[0]", "bucket[-1]", "bucket[]", "bucket[x]",
                                           "truncate[1 ]", "bucket[99999999999]"}) {
    EXPECT_THAT(TransformResultType(transform, Type::Int()),
                IsError(ErrorCode::kInvalidArgument, HasSubstr("positive")))
        << transform;
  }
}

TEST(TransformResultType, SaysWhichTransformItDoesNotKnow) {
  for (const std::string_view transform : {"zorder", "bucket", "Identity", "truncate[1"}) {
    EXPECT_THAT(TransformResultType(transform, Type::Int()),
                IsError(ErrorCode::kUnimplemented, HasSubstr(std::string(transform))));
  }
}

TEST(PartitionType, HasAnOptionalFieldForEachFieldOfTheSpec) {
  const auto type = PartitionType(ExampleSpec(), ExampleSchema());
  ASSERT_THAT(type, IsOk());
  const std::vector<NestedField>& fields = type->fields();
  ASSERT_EQ(fields.size(), ExampleSpec().fields.size());
  EXPECT_EQ(fields[0].name, "flag");
  EXPECT_EQ(fields[0].id, FieldId{1000});
  EXPECT_FALSE(fields[0].required);
  EXPECT_EQ(fields[0].type, Type::Boolean());
  EXPECT_EQ(fields[20].name, "at_day");
  EXPECT_EQ(fields[20].type, Type::Date());
}

TEST(PartitionType, LeavesUnknownWhatItCannotTell) {
  PartitionSpec spec;
  spec.fields = {ExamplePartitionField(2, 1000, "a", "zorder"),
                 ExamplePartitionField(99, 1001, "b", "identity"),
                 ExamplePartitionField(99, 1002, "c", "void"),
                 {.source_ids = {FieldId{1}, FieldId{2}},
                  .field_id = FieldId{1003},
                  .name = "d",
                  .transform = "bucket[4]"}};
  const auto type = PartitionType(spec, ExampleSchema());
  ASSERT_THAT(type, IsOk());
  EXPECT_EQ(type->fields()[0].type.kind(), TypeKind::kUnknown);
  EXPECT_EQ(type->fields()[1].type.kind(), TypeKind::kUnknown);
  EXPECT_EQ(type->fields()[2].type, Type::Int());
  EXPECT_EQ(type->fields()[3].type.kind(), TypeKind::kUnknown);
}

TEST(PartitionType, NamesTheFieldThatDoesNotFitItsColumn) {
  PartitionSpec spec;
  spec.fields = {ExamplePartitionField(1, 1000, "flag_day", "day")};
  EXPECT_THAT(PartitionType(spec, ExampleSchema()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("flag_day")));
}

}  // namespace
}  // namespace lake::iceberg
