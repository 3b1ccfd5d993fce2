#include "lake/iceberg/snapshot_summary.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/iceberg/json_text.h"
#include "lake/iceberg/snapshot.h"

namespace lake::iceberg {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(SnapshotSummary, OfAFirstAppendCountsFromZero) {
  EXPECT_EQ(MakeSummary(SnapshotOperation::kAppend,
                        {.added_data_files = 2,
                         .added_records = 30,
                         .added_files_size = 4096,
                         .changed_partition_count = 1},
                        nullptr, {}),
            (Properties{{"operation", "append"},
                        {"added-data-files", "2"},
                        {"added-records", "30"},
                        {"added-files-size", "4096"},
                        {"changed-partition-count", "1"},
                        {"total-data-files", "2"},
                        {"total-delete-files", "0"},
                        {"total-records", "30"},
                        {"total-files-size", "4096"},
                        {"total-position-deletes", "0"},
                        {"total-equality-deletes", "0"}}));
}

TEST(SnapshotSummary, TotalsGoOnFromTheParents) {
  const Snapshot parent{.summary = {{"total-data-files", "5"}, {"total-records", "100"}}};
  const Properties summary = MakeSummary(
      SnapshotOperation::kOverwrite,
      {.added_data_files = 1, .deleted_data_files = 2, .added_records = 7, .deleted_records = 40},
      &parent, {});
  EXPECT_THAT(summary, Contains(Pair("operation", "overwrite")));
  EXPECT_THAT(summary, Contains(Pair("total-data-files", "4")));
  EXPECT_THAT(summary, Contains(Pair("deleted-data-files", "2")));
  EXPECT_THAT(summary, Contains(Pair("total-records", "67")));
  EXPECT_THAT(summary, Contains(Pair("deleted-records", "40")));
  EXPECT_THAT(summary, Not(Contains(Key("total-files-size")))) << "the parent does not say";
}

TEST(SnapshotSummary, LeavesOutATotalThatCannotBeTrusted) {
  for (const std::string_view before : {"", "x", "12x", "-1", "99999999999999999999", "1"}) {
    const Snapshot parent{.summary = {{"total-records", std::string(before)}}};
    EXPECT_THAT(MakeSummary(SnapshotOperation::kDelete, {.deleted_records = 2}, &parent, {}),
                Not(Contains(Key("total-records"))))
        << before;
  }
  const Snapshot parent{.summary = {{"total-records", "10"}}};
  EXPECT_THAT(MakeSummary(SnapshotOperation::kAppend,
                          {.added_records = std::numeric_limits<std::int64_t>::max()}, &parent, {}),
              Not(Contains(Key("total-records"))));
}

TEST(SnapshotSummary, ExtraEntriesNeverReplaceWhatWasCounted) {
  const Properties summary =
      MakeSummary(SnapshotOperation::kAppend, {.added_records = 1}, nullptr,
                  {{"operation", "delete"}, {"added-records", "9"}, {"lake.epoch", "3"}});
  EXPECT_THAT(summary, Contains(Pair("operation", "append")));
  EXPECT_THAT(summary, Contains(Pair("added-records", "1")));
  EXPECT_THAT(summary, Contains(Pair("lake.epoch", "3")));
}

TEST(SnapshotSummary, NumbersAreReadWholeOrNotAtAll) {
  const Snapshot snapshot{.summary = {{"a", "12"}, {"b", "12 "}, {"c", ""}}};
  EXPECT_EQ(SummaryNumber(snapshot, "a"), 12);
  EXPECT_EQ(SummaryNumber(snapshot, "b"), std::nullopt);
  EXPECT_EQ(SummaryNumber(snapshot, "c"), std::nullopt);
  EXPECT_EQ(SummaryNumber(snapshot, "d"), std::nullopt);
}

}  // namespace
}  // namespace lake::iceberg
