#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/sql/sql_fixture_test_internal.h"
#include "lake/testing/matchers.h"

namespace lake::sql {
namespace {

using iceberg::FieldId;
using iceberg::Type;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using ::testing::Not;

class Scan : public SqlFixture {
 protected:
  // Puts a local Parquet file into the store as a data file without statistics.
  iceberg::DataFile Adopt(const std::string& local, std::int64_t rows) {
    std::ifstream in(local, std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    iceberg::DataFile file;
    file.file_path = fmt::format("/warehouse/adopted-{}.parquet", ++files_made_);
    file.record_count = rows;
    file.file_size_in_bytes = static_cast<std::int64_t>(bytes.str().size());
    EXPECT_THAT(
        objects_.PutIfAbsent(file.file_path, bytes.str(), clock_.Now() + std::chrono::seconds(1)),
        IsOk());
    return file;
  }

  // Makes a file of position deletes: (data file, position) pairs.
  iceberg::DataFile Deletes(const std::vector<std::pair<std::string, std::int64_t>>& rows) {
    std::string values;
    for (const auto& [path, position] : rows) {
      values += fmt::format("{}('{}', {})", values.empty() ? "" : ", ", path, position);
    }
    auto file = Adopt(WriteParquet(fmt::format("deletes-{}.parquet", ++files_made_),
                                   "SELECT * FROM (VALUES " + values + ") d(file_path, pos)"),
                      static_cast<std::int64_t>(rows.size()));
    file.content = iceberg::FileContent::kPositionDeletes;
    return file;
  }

  // How many files a query reads, and of how many: "1 of 3".
  std::string FilesRead(const std::string& query) {
    const auto plan = Query("EXPLAIN ANALYZE " + query);
    if (!plan.has_value()) {
      return plan.error().ToString();
    }
    const auto at = plan->find("Files:");
    if (at == std::string::npos) {
      return "none";
    }
    std::string text = plan->substr(at + 6, plan->find_first_of("\n\xE2", at + 6) - at - 6);
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  const iceberg::Schema schema_ =
      MakeSchema({Field(1, "id", Type::Long()), Field(2, "name", Type::String())});
};

TEST_F(Scan, ReadsTheRowsOfATable) {
  tables_.Create("ns.t", schema_);
  EXPECT_THAT(Query("SELECT * FROM ns.t"), IsOkAnd(""));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("0\n"));
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1, "name": "a"} {"id": 2, "name": "b"})"));
  tables_.Append("ns.t", Stage(schema_, R"({"id": 3, "name": null})"));
  EXPECT_THAT(Query("SELECT * FROM ns.t ORDER BY id"), IsOkAnd("1|a\n2|b\n3|NULL\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("3\n"));
  EXPECT_THAT(Query("SELECT count(name), max(id) FROM ns.t WHERE id > 1"), IsOkAnd("1|3\n"));
}

// --- schema evolution ---------------------------------------------------------------------------------------------------

TEST_F(Scan, FollowsColumnsByIdWhateverTheyAreCalled) {
  tables_.Create("ns.t", schema_);
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1, "name": "old"})"));
  // Renamed, reordered, and the old name given to a new column.
  const auto changed = MakeSchema({Field(2, "label", Type::String()), Field(3, "name", Type::Int()),
                                   Field(1, "key", Type::Long())});
  tables_.SetSchema("ns.t", changed);
  tables_.Append("ns.t", Stage(changed, R"({"label": "new", "name": 7, "key": 2})"));
  EXPECT_THAT(Query("SELECT label, name, key FROM ns.t ORDER BY key"),
              IsOkAnd("old|NULL|1\nnew|7|2\n"));
  EXPECT_THAT(Query("SELECT key FROM ns.t WHERE name IS NULL"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT key FROM ns.t WHERE name = 7"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT key FROM ns.t WHERE label = 'old'"), IsOkAnd("1\n"));
}

TEST_F(Scan, ReadsPromotedColumnsInTheirNewType) {
  const auto narrow = MakeSchema({Field(1, "i", Type::Int()), Field(2, "f", Type::Float()),
                                  Field(3, "d", Type::Decimal(9, 2))});
  const auto wide = MakeSchema({Field(1, "i", Type::Long()), Field(2, "f", Type::Double()),
                                Field(3, "d", Type::Decimal(18, 2))});
  tables_.Create("ns.t", narrow);
  tables_.Append("ns.t", Stage(narrow, R"({"i": 1, "f": 0.1, "d": 1.5})"));
  tables_.SetSchema("ns.t", wide);
  tables_.Append("ns.t", Stage(wide, R"({"i": 5000000000, "f": 0.1, "d": 1234567890.25})"));
  EXPECT_THAT(Query("SELECT i, d, typeof(i), typeof(f), typeof(d) FROM ns.t ORDER BY i"),
              IsOkAnd("1|1.50|BIGINT|DOUBLE|DECIMAL(18,2)\n5000000000|1234567890.25|BIGINT|DOUBLE|"
                      "DECIMAL(18,2)\n"));
  EXPECT_THAT(Query("SELECT i FROM ns.t WHERE i > 4000000000"), IsOkAnd("5000000000\n"));
  EXPECT_THAT(Query("SELECT i FROM ns.t WHERE i < 4000000000"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT d FROM ns.t WHERE d > 100000000"), IsOkAnd("1234567890.25\n"));
  // The float 0.1 is not the double 0.1, and a filter must not make it so.
  EXPECT_THAT(Query("SELECT i FROM ns.t WHERE f = 0.1::DOUBLE"), IsOkAnd("5000000000\n"));
  EXPECT_THAT(Query("SELECT i FROM ns.t WHERE f > 0.1::DOUBLE"), IsOkAnd("1\n"));
}

TEST_F(Scan, FollowsNestedFieldsById) {
  const auto before = MakeSchema(
      {Field(1, "s", Type::Struct({Field(2, "a", Type::Int()), Field(3, "b", Type::String())})),
       Field(4, "l", Type::List(FieldId{5}, Type::Struct({Field(6, "x", Type::Int())}), false)),
       Field(7, "m", Type::Map(FieldId{8}, Type::String(), FieldId{9}, Type::Int(), false))});
  const auto after = MakeSchema(
      {Field(1, "s",
             Type::Struct({Field(3, "bee", Type::String()), Field(10, "c", Type::Int()),
                           Field(2, "a", Type::Long())})),
       Field(4, "l",
             Type::List(FieldId{5},
                        Type::Struct({Field(11, "y", Type::Int()), Field(6, "ex", Type::Long())}),
                        false)),
       Field(7, "m", Type::Map(FieldId{8}, Type::String(), FieldId{9}, Type::Long(), false))});
  tables_.Create("ns.t", before);
  tables_.Append(
      "ns.t",
      Stage(before, R"({"s": {"a": 1, "b": "q"}, "l": [{"x": 1}, {"x": 2}], "m": {"k": 1}})"));
  tables_.SetSchema("ns.t", after);
  tables_.Append(
      "ns.t",
      Stage(after,
            R"({"s": {"bee": "r", "c": 5, "a": 2}, "l": [{"y": 3, "ex": 4}], "m": {"k": 2}})"));
  EXPECT_THAT(
      Query("SELECT s, l, m FROM ns.t ORDER BY s.a"),
      IsOkAnd("{'bee': q, 'c': NULL, 'a': 1}|[{'y': NULL, 'ex': 1}, {'y': NULL, 'ex': 2}]|{k=1}\n"
              "{'bee': r, 'c': 5, 'a': 2}|[{'y': 3, 'ex': 4}]|{k=2}\n"));
  EXPECT_THAT(Query("SELECT s.a FROM ns.t WHERE s.bee = 'q'"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT s.a FROM ns.t WHERE s.c IS NULL"), IsOkAnd("1\n"));
}

TEST_F(Scan, FillsAnAddedColumnWithItsInitialDefault) {
  tables_.Create("ns.t", schema_);
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1})"));
  auto with_default = Field(3, "kind", Type::String());
  with_default.initial_default = iceberg::JsonText{R"("plain")"};
  auto number = Field(4, "n", Type::Int());
  number.initial_default = iceberg::JsonText{"42"};
  const auto schema = MakeSchema(
      {Field(1, "id", Type::Long()), Field(2, "name", Type::String()), with_default, number});
  tables_.SetSchema("ns.t", schema);
  tables_.Append("ns.t", Stage(schema, R"({"id": 2, "kind": "fancy"})"));
  EXPECT_THAT(Query("SELECT id, kind, n FROM ns.t ORDER BY id"),
              IsOkAnd("1|plain|42\n2|fancy|NULL\n"));
  EXPECT_THAT(Query("SELECT id FROM ns.t WHERE kind = 'plain'"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT id FROM ns.t WHERE n = 42"), IsOkAnd("1\n"));
}

TEST_F(Scan, MatchesFilesWithoutFieldIdsByName) {
  tables_.Create("ns.t", schema_);
  tables_.Append(
      "ns.t",
      {Adopt(WriteParquet("plain.parquet", "SELECT 'a' AS name, 1::BIGINT AS id, 'x' AS other"),
             1)});
  EXPECT_THAT(Query("SELECT id, name FROM ns.t"), IsOkAnd("1|a\n"));
  EXPECT_THAT(Query("SELECT id FROM ns.t WHERE name = 'a'"), IsOkAnd("1\n"));
}

TEST_F(Scan, MatchesFilesWithoutFieldIdsByTheNameMapping) {
  const auto schema = MakeSchema({Field(1, "key", Type::Long()),
                                  Field(2, "s", Type::Struct({Field(3, "inner", Type::Int())}))});
  tables_.Create(
      "ns.t", schema,
      {{"schema.name-mapping.default",
        R"([{"field-id": 1, "names": ["id", "key"]}, {"field-id": 2, "names": ["st"], "fields": [{"field-id": 3, "names": ["i"]}]}])"}});
  tables_.Append(
      "ns.t", {Adopt(WriteParquet("plain.parquet", "SELECT 1::BIGINT AS id, {'i': 2} AS st"), 1)});
  EXPECT_THAT(Query("SELECT key, s FROM ns.t"), IsOkAnd("1|{'inner': 2}\n"));
}

// --- filters ------------------------------------------------------------------------------------------------------------

TEST_F(Scan, LeavesOutFilesThatCannotMatch) {
  tables_.Create("ns.t", schema_);
  for (int i = 0; i < 3; ++i) {
    tables_.Append("ns.t", Stage(schema_, fmt::format(R"({{"id": {}, "name": "n{}"}} {{"id": {}}})",
                                                      10 * i, i, 10 * i + 5)));
  }
  EXPECT_EQ(FilesRead("SELECT * FROM ns.t"), "3 of 3");
  EXPECT_EQ(FilesRead("SELECT * FROM ns.t WHERE id = 10"), "1 of 3");
  EXPECT_EQ(FilesRead("SELECT * FROM ns.t WHERE id >= 15"), "2 of 3");
  EXPECT_EQ(FilesRead("SELECT * FROM ns.t WHERE id IN (0, 25)"), "2 of 3");
  EXPECT_EQ(FilesRead("SELECT * FROM ns.t WHERE name = 'n2'"), "1 of 3");
  EXPECT_EQ(FilesRead("SELECT * FROM ns.t WHERE id BETWEEN 6 AND 9"), "0 of 3");
  EXPECT_THAT(Query("SELECT id FROM ns.t WHERE id BETWEEN 6 AND 9"), IsOkAnd(""));
  EXPECT_THAT(Query("SELECT id FROM ns.t WHERE id IN (0, 25) ORDER BY id"), IsOkAnd("0\n25\n"));
  EXPECT_THAT(Query("SELECT id FROM ns.t WHERE name = 'n2'"), IsOkAnd("20\n"));
  EXPECT_THAT(Query("PREPARE p AS SELECT id FROM ns.t WHERE id = ?; EXECUTE p(15)"),
              IsOkAnd("15\n"));
  // A join's filter comes while the query runs.
  EXPECT_THAT(
      Query(
          "SELECT t.id FROM ns.t JOIN (SELECT unnest([5, 20]) AS id) u ON t.id = u.id ORDER BY 1"),
      IsOkAnd("5\n20\n"));
}

TEST_F(Scan, IsRightAboutNullsAndNansAndMissingBounds) {
  const auto schema = MakeSchema({Field(1, "id", Type::Long()), Field(2, "d", Type::Double()),
                                  Field(3, "b", Type::Boolean()), Field(4, "t", Type::String())});
  tables_.Create("ns.t", schema);
  tables_.Append("ns.t", Stage(schema, R"({"id": 1, "d": "NaN", "b": true, "t": "a"})"));
  tables_.Append("ns.t", Stage(schema, R"({"id": 2, "d": 5, "b": false, "t": null})"));
  tables_.Append(
      "ns.t",
      Stage(schema, R"({"id": 3, "d": null, "b": null, "t": "ab"} {"id": 4, "d": "Infinity"})"));
  auto bare = Stage(schema, R"({"id": 5, "d": 100, "b": true, "t": "zz"})");
  bare[0].lower_bounds.Clear();
  bare[0].upper_bounds.Clear();
  bare[0].null_value_counts.Clear();
  bare[0].value_counts.Clear();
  bare[0].nan_value_counts.Clear();
  tables_.Append("ns.t", bare);
  const auto ids = [&](const std::string& where) {
    return Query("SELECT id FROM ns.t WHERE " + where + " ORDER BY id");
  };
  EXPECT_THAT(ids("d > 10"), IsOkAnd("1\n4\n5\n"));  // NaN is the greatest.
  EXPECT_THAT(ids("d = 'nan'"), IsOkAnd("1\n"));
  EXPECT_THAT(ids("isnan(d)"), IsOkAnd("1\n"));
  EXPECT_THAT(ids("d < 10"), IsOkAnd("2\n"));
  EXPECT_THAT(ids("d IS NULL"), IsOkAnd("3\n"));
  EXPECT_THAT(ids("d IS NOT NULL"), IsOkAnd("1\n2\n4\n5\n"));
  EXPECT_THAT(ids("d <> 5"), IsOkAnd("1\n4\n5\n"));
  EXPECT_THAT(ids("b"), IsOkAnd("1\n5\n"));
  EXPECT_THAT(ids("NOT b"), IsOkAnd("2\n"));
  EXPECT_THAT(ids("t IS NULL"), IsOkAnd("2\n4\n"));
  EXPECT_THAT(ids("t LIKE 'a%'"), IsOkAnd("1\n3\n"));
  EXPECT_THAT(ids("t >= 'ab'"), IsOkAnd("3\n5\n"));
  EXPECT_THAT(ids("id = 5 OR t = 'a'"), IsOkAnd("1\n5\n"));
  EXPECT_THAT(Query("SELECT max(d), min(d) FROM ns.t"), IsOkAnd("nan|5.0\n"));
}

TEST_F(Scan, TrustsNoTruncatedBound) {
  const auto schema = MakeSchema({Field(1, "t", Type::String())});
  const std::string longer(40, 'x');
  tables_.Create("ns.t", schema);
  tables_.Append("ns.t",
                 Stage(schema, fmt::format(R"({{"t": "{}"}} {{"t": "{}z"}})", longer, longer)));
  EXPECT_THAT(Query(fmt::format("SELECT count(*) FROM ns.t WHERE t = '{}z'", longer)),
              IsOkAnd("1\n"));
  EXPECT_THAT(Query(fmt::format("SELECT max(t) = '{}z' FROM ns.t", longer)), IsOkAnd("true\n"));
  EXPECT_THAT(Query(fmt::format("SELECT count(*) FROM ns.t WHERE t > '{}'", longer)),
              IsOkAnd("1\n"));
}

// --- position deletes ---------------------------------------------------------------------------------------------------

class ScanWithDeletes : public Scan {
 protected:
  void SetUp() override {
    tables_.Create("ns.t", schema_);
    std::string rows;
    for (int i = 0; i < 10000; ++i) {
      rows += fmt::format("{{\"id\": {}, \"name\": \"n{}\"}}\n", i, i);
    }
    const auto first = Stage(schema_, rows);
    const auto second = Stage(schema_, R"({"id": 20000, "name": "x"} {"id": 20001, "name": "y"})");
    tables_.Append("ns.t", {first[0], second[0]});
    tables_.Append(
        "ns.t",
        {Deletes({{first[0].file_path, 0}, {first[0].file_path, 9999}, {second[0].file_path, 1}})});
    // Written before this file was: they say nothing about it.
    tables_.Append("ns.t", Stage(schema_, R"({"id": 30000, "name": "z"})"));
  }
};

TEST_F(ScanWithDeletes, LeavesOutDeletedRows) {
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("10000\n"));
  EXPECT_THAT(Query("SELECT count(id), min(id), max(id), sum(id) FROM ns.t"),
              IsOkAnd("10000|1|30000|50035001\n"));
  EXPECT_THAT(Query("SELECT id FROM ns.t WHERE id IN (0, 1, 9998, 9999, 20000, 20001) ORDER BY 1"),
              IsOkAnd("1\n9998\n20000\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (VERSION => 1)"), IsOkAnd("10002\n"));
}

TEST_F(ScanWithDeletes, LeavesThemOutOfATopN) {
  EXPECT_THAT(Query("SELECT id, name FROM ns.t ORDER BY id LIMIT 2"), IsOkAnd("1|n1\n2|n2\n"));
  EXPECT_THAT(Query("SELECT id, name FROM ns.t ORDER BY id DESC LIMIT 3"),
              IsOkAnd("30000|z\n20000|x\n9998|n9998\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.t ORDER BY name DESC LIMIT 2"),
              IsOkAnd("30000|z\n20000|x\n"));
}

TEST_F(ScanWithDeletes, LeavesThemOutHoweverATableIsReferenced) {
  EXPECT_THAT(Query("WITH c AS NOT MATERIALIZED (SELECT * FROM ns.t) SELECT count(a.id), "
                    "count(b.id) FROM c a JOIN c b USING (id)"),
              IsOkAnd("10000|10000\n"));
  EXPECT_THAT(Query("WITH c AS MATERIALIZED (SELECT * FROM ns.t) SELECT count(*) FROM c a JOIN c b "
                    "USING (id)"),
              IsOkAnd("10000\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t WHERE id IN (SELECT id FROM ns.t)"),
              IsOkAnd("10000\n"));
  EXPECT_THAT(Query("PREPARE q AS SELECT count(*) FROM ns.t WHERE id >= ?; EXECUTE q(9998)"),
              IsOkAnd("3\n"));
}

TEST_F(Scan, RefusesFilesThatItCannotReadRight) {
  tables_.Create("ns.t", schema_);
  auto files = Stage(schema_, R"({"id": 1})");
  auto equality = files[0];
  equality.content = iceberg::FileContent::kEqualityDeletes;
  tables_.Append("ns.t", {files[0], equality});
  EXPECT_THAT(Query("SELECT * FROM ns.t"),
              IsError(ErrorCode::kUnimplemented, HasSubstr("equality deletes")));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsError(ErrorCode::kUnimplemented));
}

TEST_F(Scan, SaysWhichFileIsDamagedOrGone) {
  tables_.Create("ns.gone", schema_);
  auto files = Stage(schema_, R"({"id": 1})");
  tables_.Append("ns.gone", files);
  ASSERT_THAT(objects_.Delete({files[0].file_path}, clock_.Now() + std::chrono::seconds(1)),
              IsOk());
  EXPECT_THAT(Query("SELECT * FROM ns.gone"),
              IsError(ErrorCode::kCorruption, HasSubstr(files[0].file_path)));

  tables_.Create("ns.cut", schema_);
  auto cut = Stage(schema_, R"({"id": 2})");
  cut[0].file_size_in_bytes += 10;  // Longer than it is.
  tables_.Append("ns.cut", cut);
  EXPECT_THAT(Query("SELECT * FROM ns.cut"),
              IsError(ErrorCode::kCorruption, HasSubstr(cut[0].file_path)));

  iceberg::DataFile junk;
  junk.file_path = "/warehouse/junk.parquet";
  junk.record_count = 1;
  junk.file_size_in_bytes = 100;
  ASSERT_THAT(objects_.PutIfAbsent(junk.file_path, std::string(100, 'j'),
                                   clock_.Now() + std::chrono::seconds(1)),
              IsOk());
  tables_.Create("ns.junk", schema_);
  tables_.Append("ns.junk", {junk});
  EXPECT_THAT(Query("SELECT * FROM ns.junk"),
              IsError(ErrorCode::kCorruption, HasSubstr(junk.file_path)));
}

// --- versions -----------------------------------------------------------------------------------------------------------

class TimeTravel : public Scan {
 protected:
  void SetUp() override {
    using namespace std::chrono_literals;
    tables_.Create("ns.t", schema_);
    tables_.Append("ns.t", Stage(schema_, R"({"id": 1, "name": "a"})"), kNoon);
    tables_.Append("ns.t", Stage(schema_, R"({"id": 2, "name": "b"})"), kNoon + 60s);
    tables_.SetSchema("ns.t", MakeSchema({Field(1, "key", Type::Long())}));
    tables_.Append("ns.t", Stage(MakeSchema({Field(1, "key", Type::Long())}), R"({"key": 3})"),
                   kNoon + 120s);
    tables_.Edit("ns.t", [](iceberg::TableMetadata& metadata) {
      metadata.refs["audit"] = {.snapshot_id = iceberg::SnapshotId{2}};
      metadata.refs["v1"] = {.snapshot_id = iceberg::SnapshotId{1},
                             .kind = iceberg::SnapshotRef::Kind::kTag};
    });
    ASSERT_THAT(Query("SET TimeZone = 'UTC'"), IsOk());
  }

  static constexpr WallTime kNoon =
      WallTime(std::chrono::sys_days(std::chrono::year(2026) / 3 / 1)) + std::chrono::hours(12);
};

TEST_F(TimeTravel, ShowsASnapshotWithTheColumnsOfThen) {
  EXPECT_THAT(Query("SELECT * FROM ns.t ORDER BY 1"), IsOkAnd("1\n2\n3\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (VERSION => 1)"), IsOkAnd("1|a\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (VERSION => 2)"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT name FROM ns.t AT (VERSION => 1 + 1) ORDER BY id"), IsOkAnd("a\nb\n"));
  EXPECT_THAT(Query("SELECT old.id, new.key FROM ns.t old AT (VERSION => 1), ns.t new ORDER BY 2"),
              IsOkAnd("1|1\n1|2\n1|3\n"));
}

TEST_F(TimeTravel, FindsBranchesAndTags) {
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (VERSION => 'main')"), IsOkAnd("3\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (VERSION => 'audit')"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (VERSION => 'v1')"), IsOkAnd("1|a\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (VERSION => '2')"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (VERSION => 'nobody')"),
              IsError(ErrorCode::kInvalidArgument,
                      AllOf(HasSubstr("ns.t"), HasSubstr("nobody"), HasSubstr("audit, main, v1"))));
}

TEST_F(TimeTravel, FindsWhatWasCurrentAtAMoment) {
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (TIMESTAMP => TIMESTAMPTZ '2026-03-01 12:00:00+00')"),
              IsOkAnd("1|a\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (TIMESTAMP => '2026-03-01 12:01:30')"),
              IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (TIMESTAMP => TIMESTAMP '2030-01-01')"),
              IsOkAnd("3\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t AT (TIMESTAMP => TIMESTAMPTZ '2026-03-01 "
                    "12:01:30+00' - INTERVAL 1 MINUTE)"),
              IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (TIMESTAMP => '2020-01-01')"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("2026-03-01 12:00:00")));
}

TEST_F(TimeTravel, SaysWhatIsWrongWithAnAtClause) {
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (VERSION => 99)"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("99")));
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (VERSION => NULL)"),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (VERSION => 1.5)"),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Query("SELECT * FROM ns.t AT (TIMESTAMP => 'soon')"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("timestamp")));
}

// --- transactions -------------------------------------------------------------------------------------------------------

TEST_F(Scan, ATransactionSeesOneVersionOfATable) {
  tables_.Create("ns.t", schema_);
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1})"));
  ASSERT_THAT(Query("BEGIN"), IsOk());
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("1\n"));
  tables_.Append("ns.t", Stage(schema_, R"({"id": 2})"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t a, ns.t b"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM lake_snapshots('ns.t')"), IsOkAnd("1\n"));
  ASSERT_THAT(Query("COMMIT"), IsOk());
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("2\n"));
}

TEST_F(Scan, ASelfJoinLoadsATableOnce) {
  tables_.Create("ns.t", schema_);
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1} {"id": 2})"));
  const std::size_t before = tables_.load_count();
  EXPECT_THAT(
      Query("SELECT count(*) FROM ns.t a JOIN ns.t b USING (id) JOIN lake.ns.t c USING (id)"),
      IsOkAnd("2\n"));
  EXPECT_EQ(tables_.load_count(), before + 1);
}

TEST_F(Scan, APreparedStatementSeesTheTableOfItsExecution) {
  tables_.Create("ns.t", schema_);
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1})"));
  ASSERT_THAT(Query("PREPARE p AS SELECT count(*), max(id) FROM ns.t"), IsOk());
  EXPECT_THAT(Query("EXECUTE p"), IsOkAnd("1|1\n"));
  tables_.Append("ns.t", Stage(schema_, R"({"id": 2})"));
  EXPECT_THAT(Query("EXECUTE p"), IsOkAnd("2|2\n"));
  tables_.SetSchema("ns.t", MakeSchema({Field(1, "id", Type::Int())}));
  EXPECT_THAT(Query("EXECUTE p"), IsOkAnd("2|2\n"));
  tables_.Drop("ns.t");
  EXPECT_THAT(Query("EXECUTE p"), IsError(ErrorCode::kNotFound));
}

TEST_F(Scan, AnErrorInABlockLeavesItOpen) {
  tables_.Create("ns.t", schema_);
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1})"));
  tables_.Create("ns.broken", schema_);
  tables_.Break("ns.broken", Error(ErrorCode::kUnavailable, "the store is away"));
  ASSERT_THAT(Query("BEGIN"), IsOk());
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.broken"),
              IsError(ErrorCode::kUnavailable, HasSubstr("the store is away")));
  EXPECT_THAT(Query("SELECT * FROM ns.none"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(Query("SELECT none FROM ns.t"), Not(IsOk()));
  EXPECT_THAT(Query("INSERT INTO ns.t VALUES (1, 'x')"), IsError(ErrorCode::kPermissionDenied));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("COMMIT"), IsOk());
}

TEST_F(Scan, SeveralThreadsReadOneFile) {
  const auto schema = MakeSchema({Field(1, "id", Type::Long())});
  const std::string path = WriteParquet("big.parquet", "SELECT range AS id FROM range(1000000)");
  const auto staged = StageInputs(schema, {{path}});
  ASSERT_THAT(staged, IsOk());
  ASSERT_EQ(staged->files.size(), 1U);
  tables_.Create("ns.big", schema);
  tables_.Append("ns.big", staged->files);
  EXPECT_THAT(Query("SELECT count(*), sum(id), min(id), max(id), count(DISTINCT id) FROM ns.big"),
              IsOkAnd("1000000|499999500000|0|999999|1000000\n"));
  // Rows keep the order of the file.
  EXPECT_THAT(Query("SELECT count(*) FROM (SELECT id, row_number() OVER () AS n FROM ns.big) WHERE "
                    "id <> n - 1"),
              IsOkAnd("0\n"));
}

TEST_F(Scan, OffersWhereARowIs) {
  tables_.Create("ns.t", schema_);
  const auto files = Stage(schema_, R"({"id": 1} {"id": 2})");
  tables_.Append("ns.t", files);
  EXPECT_THAT(Query("SELECT id, filename, file_row_number FROM ns.t ORDER BY id"),
              IsOkAnd(fmt::format("1|{0}|0\n2|{0}|1\n", files[0].file_path)));
  EXPECT_THAT(Query("SELECT * FROM ns.t WHERE id = 2"), IsOkAnd("2|NULL\n"));
}

}  // namespace
}  // namespace lake::sql
