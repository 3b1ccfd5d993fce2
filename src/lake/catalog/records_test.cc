#include "lake/catalog/records.h"

#include <chrono>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/matchers.h"

namespace lake::catalog {
namespace {

using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;

const Uuid kId = Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057").value();
const Uuid kOther = Uuid::Parse("c0ffee00-0000-4000-8000-00000000000a").value();

Registration SampleRegistration() {
  return {.incarnation = kOther,
          .location = "/w/c0ffee00-0000-4000-8000-00000000000a",
          .metadata_location = "/w/c0ffee00/metadata/00001-1-x.metadata.json",
          .version = 18446744073709551615U,
          .last_operation = kId};
}

PendingRecord SamplePending() {
  return {.kind = OperationKind::kAppend,
          .tables = {{.name = {.ns = {{"a", "b/c"}}, .name = "t"},
                      .incarnation = kOther,
                      .base = Encode(SampleRegistration()),
                      .location = "/w/x",
                      .planned_location = "/w/x/metadata/00002-1-y.metadata.json",
                      .snapshot_id = 9223372036854775807},
                     {.name = {.ns = {{"n"}}, .name = "new"},
                      .incarnation = kId,
                      .location = "/w/y",
                      .planned_location = "p"}},
          .digest = "abc",
          .group = {kId, kOther},
          .epoch = 7,
          .session = kId};
}

OperationRecord SampleOperation(bool succeeded) {
  OperationRecord record{.kind = OperationKind::kCreateTable,
                         .names = {"a.\"b.c\".t"},
                         .incarnations = {kOther},
                         .digest = "def",
                         .epoch = 18446744073709551615U,
                         .finished = WallTime(std::chrono::milliseconds(1690000000123))};
  record.result.succeeded = succeeded;
  if (succeeded) {
    record.result.metadata_location = "/w/m";
    record.result.snapshot_id = 5;
  } else {
    record.result.error_code = "conflict";
    record.result.error_message = "no \"luck\"\n";
  }
  return record;
}

TEST(Records, EveryRecordReadsBackEqual) {
  const NamespaceRecord ns{.properties = {{"k", "v"}, {"owner", "ü\""}}};
  EXPECT_THAT(DecodeNamespaceRecord(Encode(ns)), IsOkAnd(ns));
  EXPECT_THAT(DecodeRegistration(Encode(SampleRegistration())), IsOkAnd(SampleRegistration()));
  const ViewRecord view{.uuid = kOther,
                        .location = "/w/v",
                        .metadata_location = "/w/v/metadata/1.json",
                        .version = 2,
                        .last_operation = kId};
  EXPECT_THAT(DecodeViewRecord(Encode(view)), IsOkAnd(view));
  EXPECT_THAT(DecodePendingRecord(Encode(SamplePending())), IsOkAnd(SamplePending()));
  EXPECT_THAT(DecodeOperationRecord(Encode(SampleOperation(true))), IsOkAnd(SampleOperation(true)));
  EXPECT_THAT(DecodeOperationRecord(Encode(SampleOperation(false))),
              IsOkAnd(SampleOperation(false)));
  const Tombstone tombstone{.name = {.ns = {{"a"}}, .name = "t"},
                            .registration = Encode(SampleRegistration()),
                            .purge = true,
                            .state = "purging",
                            .dropped = WallTime(std::chrono::milliseconds(1))};
  EXPECT_THAT(DecodeTombstone(Encode(tombstone)), IsOkAnd(tombstone));
  const LocationRecord location{.incarnation = SampleRegistration().incarnation};
  EXPECT_THAT(DecodeLocationRecord(Encode(location)), IsOkAnd(location));
  const ForgottenRecord forgotten{.before = std::chrono::hours(497'222)};
  EXPECT_THAT(DecodeForgottenRecord(Encode(forgotten)), IsOkAnd(forgotten));
}

TEST(Records, AnHourThatNoPartitionHasIsDamage) {
  for (const std::string hour : {"-1", "10000000000", "1.5", "\"497222\"", "null"}) {
    EXPECT_THAT(DecodeForgottenRecord(R"({"format":1,"before-hour":)" + hour + "}"),
                IsError(ErrorCode::kCorruption))
        << hour;
  }
}

TEST(Records, EveryKindOfOperationKeepsItsName) {
  for (int kind = 0; kind <= static_cast<int>(OperationKind::kRenameView); ++kind) {
    OperationRecord record = SampleOperation(true);
    record.kind = static_cast<OperationKind>(kind);
    EXPECT_THAT(DecodeOperationRecord(Encode(record)), IsOkAnd(record)) << kind;
  }
}

TEST(Records, MembersWeDoNotKnowSurviveARewrite) {
  const std::string bytes =
      R"({"format":1,"incarnation":"c0ffee00-0000-4000-8000-00000000000a","location":"/w","metadata-location":"/m",)"
      R"("version":3,"engine":"iceberg","last-operation":"01890a5d-ac96-774b-bcce-b302099a8057","later":{"x":[1,2]}})";
  Result<Registration> record = DecodeRegistration(bytes);
  ASSERT_THAT(record, IsOk());
  record->version = 4;
  EXPECT_THAT(Encode(*record), HasSubstr(R"("later":{"x":[1,2]})"));
  EXPECT_THAT(DecodeRegistration(Encode(*record)), IsOkAnd(*record));
}

TEST(Records, ANewerFormatIsRefusedAndNotCalledDamage) {
  EXPECT_THAT(DecodeNamespaceRecord(R"({"format":2,"properties":{}})"),
              IsError(ErrorCode::kUnimplemented));
}

TEST(Records, ATombstoneOfAStateThatIsNotKnownIsLeftAlone) {
  Tombstone tombstone{.name = {.ns = {{"a"}}, .name = "t"}, .registration = "r"};
  EXPECT_THAT(DecodeTombstone(Encode(tombstone)), IsOk());
  tombstone.state = "resting";
  EXPECT_THAT(DecodeTombstone(Encode(tombstone)), IsError(ErrorCode::kUnimplemented));
}

TEST(Records, DamageIsReportedAsDamage) {
  for (const std::string bytes :
       {"", "{", "[]", "{}", R"({"format":"1"})", R"({"format":1})",
        R"({"format":1,"properties":[]})", R"({"format":1,"properties":{"a":1}})"}) {
    EXPECT_THAT(DecodeNamespaceRecord(bytes), IsError(ErrorCode::kCorruption)) << bytes;
  }
  EXPECT_THAT(DecodeRegistration(R"({"format":1,"incarnation":"x"})"),
              IsError(ErrorCode::kCorruption));
}

TEST(Records, EveryTruncationOfARecordIsDamage) {
  const std::string bytes = Encode(SamplePending());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(DecodePendingRecord(bytes.substr(0, length)), IsError(ErrorCode::kCorruption))
        << length;
  }
}

TEST(Records, APendingRecordWithoutTablesOrWithABadNameIsDamage) {
  PendingRecord record = SamplePending();
  record.tables.clear();
  EXPECT_THAT(DecodePendingRecord(Encode(record)), IsError(ErrorCode::kCorruption));
  record = SamplePending();
  record.tables[0].name.name = "..";
  EXPECT_THAT(DecodePendingRecord(Encode(record)), IsError(ErrorCode::kCorruption));
}

}  // namespace
}  // namespace lake::catalog
