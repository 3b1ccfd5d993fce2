#include "lake/iceberg/table_requirement_json.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/table_requirement.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOkAnd;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Every requirement, and how clients send it.
std::vector<std::pair<TableRequirement, std::string>> Examples() {
  return {
      {AssertCreate{}, R"({"type":"assert-create"})"},
      {AssertTableUuid{Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value()},
       R"({"type":"assert-table-uuid","uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1"})"},
      {AssertRefSnapshotId{"main", SnapshotId{3051729675574597004}},
       R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":3051729675574597004})"},
      {AssertRefSnapshotId{"main", std::nullopt},
       R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null})"},
      {AssertRefSnapshotId{"main", kNoSnapshot},
       R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":-1})"},
      {AssertLastAssignedFieldId{FieldId{9}},
       R"({"type":"assert-last-assigned-field-id","last-assigned-field-id":9})"},
      {AssertCurrentSchemaId{SchemaId{2}},
       R"({"type":"assert-current-schema-id","current-schema-id":2})"},
      {AssertLastAssignedPartitionId{FieldId{1003}},
       R"({"type":"assert-last-assigned-partition-id","last-assigned-partition-id":1003})"},
      {AssertDefaultSpecId{PartitionSpecId{1}},
       R"({"type":"assert-default-spec-id","default-spec-id":1})"},
      {AssertDefaultSortOrderId{SortOrderId{4}},
       R"({"type":"assert-default-sort-order-id","default-sort-order-id":4})"},
  };
}

TEST(TableRequirementJson, OfEveryKindIsReadAndWritten) {
  std::vector<bool> seen(std::variant_size_v<TableRequirement>);
  std::vector<TableRequirement> all;
  for (const auto& [requirement, text] : Examples()) {
    EXPECT_THAT(ParseTableRequirements("[" + text + "]"), IsOkAnd(std::vector{requirement}));
    EXPECT_EQ(WriteTableRequirements({requirement}), "[" + text + "]");
    seen[requirement.index()] = true;
    all.push_back(requirement);
  }
  EXPECT_EQ(seen, std::vector<bool>(seen.size(), true));
  EXPECT_THAT(ParseTableRequirements(WriteTableRequirements(all)), IsOkAnd(all));
  EXPECT_THAT(ParseTableRequirements("[]"), IsOkAnd(SizeIs(0)));
}

TEST(TableRequirementJson, OfAnUnknownTypeIsRefusedAndNotIgnored) {
  EXPECT_THAT(ParseTableRequirements(R"([{"type":"assert-create"},{"type":"assert-view-uuid"}])"),
              IsError(ErrorCode::kInvalidArgument,
                      "requirements[1]: unknown table requirement 'assert-view-uuid'"));
  EXPECT_THAT(ParseTableRequirements(R"([{}])"),
              IsError(ErrorCode::kInvalidArgument, "requirements[0]: member 'type' is missing"));
}

TEST(TableRequirementJson, NamesTheMemberThatIsMissingOrWrong) {
  const auto fails_with = [](std::string_view object, const std::string& what) {
    EXPECT_THAT(ParseTableRequirements("[" + std::string(object) + "]"),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(what)))
        << object;
  };
  fails_with(R"({"type":"assert-table-uuid"})", "assert-table-uuid: member 'uuid' is missing");
  fails_with(R"({"type":"assert-table-uuid","uuid":"x"})", "member 'uuid'");
  fails_with(R"({"type":"assert-table-uuid","uuid":1})", "member 'uuid' is not");
  fails_with(R"({"type":"assert-ref-snapshot-id","snapshot-id":1})", "member 'ref' is missing");
  fails_with(R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":"1"})",
             "member 'snapshot-id' is not");
  fails_with(R"({"type":"assert-last-assigned-field-id"})", "'last-assigned-field-id' is missing");
  fails_with(R"({"type":"assert-current-schema-id","current-schema-id":4294967296})",
             "'current-schema-id' is 4294967296, which does not fit 32 bits");
  fails_with(R"({"type":"assert-last-assigned-partition-id"})",
             "'last-assigned-partition-id' is missing");
  fails_with(R"({"type":"assert-default-spec-id","default-spec-id":null})",
             "'default-spec-id' is missing");
  fails_with(R"({"type":"assert-default-sort-order-id","default-sort-order-id":1.5})",
             "'default-sort-order-id' is not");
}

TEST(TableRequirementJson, TakesAMissingSnapshotForNull) {
  EXPECT_THAT(ParseTableRequirements(R"([{"type":"assert-ref-snapshot-id","ref":"main"}])"),
              IsOkAnd(std::vector<TableRequirement>{AssertRefSnapshotId{"main", std::nullopt}}));
}

TEST(TableRequirementJson, ThatIsNoListOfObjectsIsRefused) {
  EXPECT_THAT(ParseTableRequirements("{}"),
              IsError(ErrorCode::kInvalidArgument, "requirements: not a JSON array"));
  EXPECT_THAT(ParseTableRequirements("[1]"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("requirements[0]")));
  EXPECT_THAT(ParseTableRequirements("["),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("requirements")));
}

}  // namespace
}  // namespace lake::iceberg
