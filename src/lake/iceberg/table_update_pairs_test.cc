// Any two updates after one another, on several tables: whatever comes of it is a table or an error.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/statistics_file.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_update_apply.h"
#include "lake/iceberg/table_update_examples_internal.h"
#include "lake/iceberg/table_update_json.h"

namespace lake::iceberg {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::Gt;

// Updates of every kind, right and wrong, in the words of clients.
std::vector<TableUpdate> Updates() {
  const std::string id = R"({"id":1,"name":"id","required":true,"type":"long"})";
  const std::string at = R"({"id":2,"name":"at","required":false,"type":"timestamptz"})";
  const std::string text =
      R"([{"action":"assign-uuid","uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1"},)"
      R"({"action":"assign-uuid","uuid":"11111111-2222-4333-8444-555555555555"},)"
      R"({"action":"upgrade-format-version","format-version":2},)"
      R"({"action":"upgrade-format-version","format-version":3},)"
      R"({"action":"upgrade-format-version","format-version":4},)"
      R"({"action":"add-schema","schema":{"type":"struct","fields":[)" +
      id +
      "]}},"
      R"({"action":"add-schema","schema":{"type":"struct","fields":[)" +
      id + "," + at +
      "]}},"
      R"({"action":"add-schema","schema":{"type":"struct","fields":[)" +
      at +
      "]}},"
      R"({"action":"set-current-schema","schema-id":-1},)"
      R"({"action":"set-current-schema","schema-id":1},)"
      R"({"action":"remove-schemas","schema-ids":[0]},)"
      R"({"action":"remove-schemas","schema-ids":[1,2]},)"
      R"({"action":"add-spec","spec":{"fields":[)"
      R"({"source-id":1,"field-id":1000,"name":"b","transform":"bucket[4]"}]}},)"
      R"({"action":"add-spec","spec":{"fields":[)"
      R"({"source-id":2,"name":"d","transform":"day"}]}},)"
      R"({"action":"add-spec","spec":{"fields":[]}},)"
      R"({"action":"set-default-spec","spec-id":-1},)"
      R"({"action":"set-default-spec","spec-id":1},)"
      R"({"action":"remove-partition-specs","spec-ids":[0]},)"
      R"({"action":"remove-partition-specs","spec-ids":[1]},)"
      R"({"action":"add-sort-order","sort-order":{"order-id":1,"fields":[{"source-id":1,)"
      R"("transform":"identity","direction":"asc","null-order":"nulls-first"}]}},)"
      R"({"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},)"
      R"({"action":"set-default-sort-order","sort-order-id":-1},)"
      R"({"action":"set-default-sort-order","sort-order-id":1},)"
      R"({"action":"add-snapshot","snapshot":{"snapshot-id":9,"sequence-number":4,)"
      R"("timestamp-ms":7000,"manifest-list":"m","first-row-id":0,"added-rows":5}},)"
      R"({"action":"add-snapshot","snapshot":{"snapshot-id":8,)"
      R"("timestamp-ms":7000,"manifest-list":"m","schema-id":1}},)"
      R"({"action":"remove-snapshots","snapshot-ids":[1]},)"
      R"({"action":"remove-snapshots","snapshot-ids":[2,3,9]},)"
      R"({"action":"set-snapshot-ref","ref-name":"main","snapshot-id":9,"type":"branch"},)"
      R"({"action":"set-snapshot-ref","ref-name":"main","snapshot-id":1,"type":"branch"},)"
      R"({"action":"set-snapshot-ref","ref-name":"main","snapshot-id":1,"type":"tag"},)"
      R"({"action":"set-snapshot-ref","ref-name":"t","snapshot-id":2,"type":"tag"},)"
      R"({"action":"remove-snapshot-ref","ref-name":"main"},)"
      R"({"action":"remove-snapshot-ref","ref-name":"t"},)"
      R"({"action":"set-location","location":"s3://elsewhere"},)"
      R"({"action":"set-properties","updates":{"write.metadata.previous-versions-max":"1"}},)"
      R"({"action":"set-properties","updates":{"write.metadata.previous-versions-max":"x"}},)"
      R"({"action":"remove-properties","removals":["a"]},)"
      R"({"action":"set-statistics","statistics":{"snapshot-id":1,"statistics-path":"s",)"
      R"("file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[]}},)"
      R"({"action":"remove-statistics","snapshot-id":1},)"
      R"({"action":"set-partition-statistics","partition-statistics":{"snapshot-id":9,)"
      R"("statistics-path":"p","file-size-in-bytes":1}},)"
      R"({"action":"remove-partition-statistics","snapshot-id":9},)"
      R"({"action":"add-encryption-key","encryption-key":{"key-id":"k",)"
      R"("encrypted-key-metadata":"AAAA"}},)"
      R"({"action":"remove-encryption-key","key-id":"k"}])";
  return ParseTableUpdates(text).value();
}

// What must be so of whatever follows `base`, beyond what Validate checks.
void CheckFollows(const TableMetadata& base, const TableMetadata& next) {
  EXPECT_EQ(ParseTableMetadata(WriteTableMetadata(next).value()).value(), next);
  EXPECT_GE(next.format_version, base.format_version);
  EXPECT_EQ(next.table_uuid, base.table_uuid);
  EXPECT_GE(next.last_updated, base.last_updated);
  EXPECT_GE(next.last_column_id, base.last_column_id);
  EXPECT_GE(next.last_partition_id, base.last_partition_id);
  EXPECT_GE(next.last_sequence_number, base.last_sequence_number);
  EXPECT_EQ(next.metadata_log.back().metadata_file, "v.json");
  for (const Snapshot& snapshot : next.snapshots) {
    EXPECT_TRUE(!snapshot.schema_id.has_value() || next.FindSchema(*snapshot.schema_id) != nullptr);
  }
  for (const StatisticsFile& file : next.statistics) {
    EXPECT_NE(next.FindSnapshot(file.snapshot_id), nullptr);
  }
  if (next.current_snapshot_id.has_value()) {
    EXPECT_EQ(next.snapshot_log.back().snapshot_id, *next.current_snapshot_id);
  }
  EXPECT_TRUE(std::ranges::is_sorted(next.snapshot_log, {}, &SnapshotLogEntry::timestamp));
}

TEST(ApplyUpdates, OfAnyTwoMakesATableOrAnError) {
  Snapshot first = Draft(1);
  first.first_row_id = 0;
  first.added_rows = 0;
  const std::vector<TableMetadata> bases = {Grown(Empty(), 3),
                                            AppendSnapshot(Empty(3), first, Next(2000)).value()};
  const std::vector<TableUpdate> updates = Updates();
  std::size_t made = 0;
  for (const TableMetadata& base : bases) {
    for (const TableUpdate& one : updates) {
      for (const TableUpdate& two : updates) {
        SCOPED_TRACE(WriteTableUpdates({one, two}));
        const Result<TableMetadata> next = ApplyUpdates(base, {one, two}, Next(9000));
        if (!next.has_value()) {
          EXPECT_THAT(next.error().code(),
                      AnyOf(Eq(ErrorCode::kInvalidArgument), Eq(ErrorCode::kConflict),
                            Eq(ErrorCode::kAlreadyExists), Eq(ErrorCode::kUnimplemented)));
          continue;
        }
        ++made;
        CheckFollows(base, *next);
      }
    }
  }
  EXPECT_THAT(made, Gt(updates.size() * updates.size() / 2)) << "far from all are wrong";
}

TEST(NewTableFromUpdates, OfAnyTwoMakesATableOrAnError) {
  const FirstVersion first{
      .now = At(1000), .table_uuid = Empty().table_uuid.value(), .location = "s3://bucket/table"};
  std::size_t made = 0;
  for (const TableUpdate& one : Updates()) {
    for (const TableUpdate& two : Updates()) {
      SCOPED_TRACE(WriteTableUpdates({one, two}));
      const Result<TableMetadata> table = NewTableFromUpdates({one, two}, first);
      if (table.has_value()) {
        ++made;
        EXPECT_EQ(ParseTableMetadata(WriteTableMetadata(*table).value()).value(), *table);
      }
    }
  }
  EXPECT_THAT(made, Gt(0U));
}

}  // namespace
}  // namespace lake::iceberg
