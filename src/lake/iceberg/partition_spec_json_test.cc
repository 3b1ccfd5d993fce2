#include "lake/iceberg/partition_spec_json.h"

#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::IsOkAnd;
using ::testing::HasSubstr;

TEST(PartitionSpecJson, WhatIsReadIsWrittenAgain) {
  constexpr std::string_view kText =
      R"([{"source-id":4,"field-id":1000,"name":"ts_day","transform":"day"},)"
      R"({"source-ids":[1,2],"field-id":1001,"name":"both","transform":"zorder[2]","note":true}])";
  const Result<std::vector<PartitionField>> fields = ParsePartitionFields(kText);
  ASSERT_THAT(fields, IsOk());
  EXPECT_EQ((*fields)[0], (PartitionField{.source_ids = {FieldId{4}},
                                          .field_id = FieldId{1000},
                                          .name = "ts_day",
                                          .transform = "day"}));
  EXPECT_EQ((*fields)[1].source_ids, (std::vector{FieldId{1}, FieldId{2}}));
  EXPECT_EQ((*fields)[1].unknown, (UnknownMembers{{"note", JsonText{"true"}}}));
  EXPECT_EQ(WritePartitionFields(*fields), kText);
  EXPECT_THAT(ParsePartitionFields("[]"), IsOkAnd(std::vector<PartitionField>{}));
}

TEST(PartitionSpecJson, IdsThatNoFieldHasCountUpFromTheFirst) {
  const auto fields = ParsePartitionFields(
      R"([{"source-id":4,"name":"a","transform":"day"},{"source-id":5,"name":"b","transform":"identity"}])");
  ASSERT_THAT(fields, IsOk());
  EXPECT_EQ((*fields)[0].field_id, FieldId{1000});
  EXPECT_EQ((*fields)[1].field_id, FieldId{1001});
  EXPECT_THAT(
      ParsePartitionFields(R"([{"source-id":4,"field-id":1000,"name":"a","transform":"day"},)"
                           R"({"source-id":5,"name":"b","transform":"day"}])"),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("field-id")));
}

TEST(PartitionSpecJson, RefusesWhatIsNoListOfFields) {
  for (const std::string_view text :
       {"", "{}", "[1]", "[{}]", R"([{"field-id":1000,"name":"a","transform":"day"}])",
        R"([{"source-id":4,"field-id":1000,"transform":"day"}])",
        R"([{"source-id":4,"field-id":1000,"name":"a"}])",
        R"([{"source-ids":[],"field-id":1000,"name":"a","transform":"day"}])",
        R"([{"source-id":4,"field-id":-1,"name":"a","transform":"day"}])",
        R"([{"source-id":4,"field-id":1000,"name":"a","transform":7}])"}) {
    EXPECT_THAT(ParsePartitionFields(text), IsError(ErrorCode::kInvalidArgument)) << text;
  }
}

TEST(PartitionSpec, IsUnpartitionedWithoutFieldsOrWithVoidOnesOnly) {
  PartitionSpec spec;
  EXPECT_TRUE(spec.is_unpartitioned());
  spec.fields.push_back(
      {.source_ids = {FieldId{1}}, .field_id = FieldId{1000}, .name = "a", .transform = "void"});
  EXPECT_TRUE(spec.is_unpartitioned());
  spec.fields.push_back({.source_ids = {FieldId{1}},
                         .field_id = FieldId{1001},
                         .name = "b",
                         .transform = "identity"});
  EXPECT_FALSE(spec.is_unpartitioned());
}

TEST(PartitionSpec, IsTheSameWhateverItsIds) {
  const PartitionSpec one{.spec_id = PartitionSpecId{1},
                          .fields = {{.source_ids = {FieldId{1}},
                                      .field_id = FieldId{1000},
                                      .name = "a",
                                      .transform = "day"}}};
  PartitionSpec two = one;
  two.spec_id = PartitionSpecId{2};
  two.fields[0].field_id = FieldId{1007};
  EXPECT_TRUE(one.SameAs(two));
  two.fields[0].transform = "hour";
  EXPECT_FALSE(one.SameAs(two));
}

}  // namespace
}  // namespace lake::iceberg
