#include "lake/sql/session.h"

#include <filesystem>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/thread.h"
#include "lake/sql/sql_fixture_test_internal.h"
#include "lake/testing/matchers.h"

namespace lake::sql {
namespace {

using iceberg::Type;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using ::testing::Not;

class Session : public SqlFixture {
 protected:
  void SetUp() override {
    tables_.Create("ns.t", schema_);
    tables_.Append("ns.t", Stage(schema_, R"({"id": 1, "name": "a"} {"id": 2, "name": "b"})"));
  }

  const iceberg::Schema schema_ =
      MakeSchema({Required(1, "id", Type::Long()), Field(2, "name", Type::String())});
};

// --- names --------------------------------------------------------------------------------------------------------------

TEST_F(Session, FindsATableUnderEachOfItsNames) {
  tables_.Create("a.b.deep", schema_);
  tables_.Create("odd.\"T x.y\"", schema_);
  for (const char* name : {"ns.t", "lake.ns.t", "\"ns\".\"t\"", "NS.T", "lake.\"a.b\".deep",
                           "\"a.b\".deep", "odd.\"T x.y\"", "odd.\"t X.y\""}) {
    EXPECT_THAT(Query(fmt::format("SELECT count(*) FROM {}", name)), IsOk()) << name;
  }
  EXPECT_THAT(Query("USE ns; SELECT count(*) FROM t"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SET search_path = 'lake.ns'; SELECT count(*) FROM t"), IsOkAnd("2\n"));
}

TEST_F(Session, TellsApartNamesThatDifferInCase) {
  tables_.Create("ns.T", schema_);
  EXPECT_THAT(Query("SELECT count(*) FROM ns.\"T\""), IsOkAnd("0\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("2\n"));
  tables_.Drop("ns.t");
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("0\n"));
}

TEST_F(Session, SuggestsWhatMayHaveBeenMeant) {
  tables_.Create("ns.flights", schema_);
  EXPECT_THAT(
      Query("SELECT * FROM ns.flihgts"),
      IsError(ErrorCode::kNotFound, AllOf(HasSubstr("Did you mean"), HasSubstr("flights"))));
  EXPECT_THAT(Query("SELECT nmae FROM ns.t"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("name")));
  EXPECT_THAT(Query("SELECT * FROM nowhere.t"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(Query("SELECT * FROM flihgts"), IsError(ErrorCode::kNotFound));
}

TEST_F(Session, ATypoIsATypoEvenWhenTheCatalogIsAway) {
  tables_.BreakAll(Error(ErrorCode::kUnavailable, "the store is away"));
  EXPECT_THAT(Query("SELECT 1 + 1"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.t"),
              IsError(ErrorCode::kUnavailable, HasSubstr("the store is away")));
  EXPECT_THAT(Query("SELECT no_such_function(1)"), Not(IsOk()));
  tables_.BreakAll(std::nullopt);
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("2\n"));
}

TEST_F(Session, ListsTables) {
  tables_.Create("a.b.deep", schema_);
  EXPECT_THAT(Query("SHOW TABLES"), IsOkAnd("a.b|deep\nns|t\n"));
  EXPECT_THAT(Query("SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"),
              IsOkAnd("a.b|deep\nns|t\n"));
  EXPECT_THAT(Query("SELECT column_name, data_type, is_nullable FROM information_schema.columns "
                    "WHERE table_name = 't' "
                    "AND table_schema = 'ns' ORDER BY ordinal_position"),
              IsOkAnd("id|BIGINT|NO\nname|VARCHAR|YES\n"));
  EXPECT_THAT(Query("DESCRIBE ns.t"),
              IsOkAnd("id|BIGINT|NO|NULL|NULL|NULL\nname|VARCHAR|YES|NULL|NULL|NULL\n"));
  EXPECT_THAT(
      Query("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'lake' ORDER BY 1"),
      IsOkAnd("a.b\nns\n"));
  EXPECT_THAT(Query("SHOW ALL TABLES"), IsOk());
}

TEST_F(Session, ABrokenTableDoesNotHideTheOthers) {
  tables_.Create("ns.broken", schema_);
  tables_.Break("ns.broken", Error(ErrorCode::kCorruption, "metadata.json is damaged"));
  tables_.Create("ns.odd", MakeSchema({Field(1, "x", Type::Of(iceberg::TypeKind::kVariant))}));
  EXPECT_THAT(Query("SHOW TABLES"), IsOkAnd("ns|t\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT * FROM ns.broken"),
              IsError(ErrorCode::kCorruption, HasSubstr("ns.broken")));
  EXPECT_THAT(
      Query("SELECT * FROM ns.odd"),
      IsError(ErrorCode::kUnimplemented, AllOf(HasSubstr("ns.odd"), HasSubstr("column x"))));
}

TEST_F(Session, AsksNothingOfTheCatalogForDuckDbsOwnTables) {
  const std::size_t before = tables_.load_count();
  EXPECT_THAT(Query("SELECT count(*) > 0 FROM duckdb_functions()"), IsOkAnd("true\n"));
  EXPECT_THAT(Query("SELECT count(*) > 0 FROM pg_catalog.pg_type"), IsOk());
  EXPECT_EQ(tables_.load_count(), before);
}

TEST_F(Session, JoinsWithTheUsersOwnFiles) {
  const std::string path = WriteFile("own.csv", "id,colour\n1,red\n");
  EXPECT_THAT(Query(fmt::format("SELECT name, colour FROM ns.t JOIN '{}' USING (id)", path)),
              IsOkAnd("a|red\n"));
}

// --- metadata functions -------------------------------------------------------------------------------------------------

TEST_F(Session, ShowsWhatATableConsistsOf) {
  tables_.Append("ns.t", Stage(schema_, R"({"id": 3})"));
  EXPECT_THAT(
      Query(
          "SELECT snapshot_id, parent_id, operation, is_current, refs FROM lake_snapshots('ns.t')"),
      IsOkAnd("1|NULL|append|false|[]\n2|1|append|true|[main]\n"));
  EXPECT_THAT(Query("SELECT content, record_count, lower_bounds, upper_bounds, null_value_counts "
                    "FROM lake_files('ns.t')"),
              IsOkAnd("data|2|{1=1, 2=a}|{1=2, 2=b}|{1=0, 2=0}\ndata|1|{1=3}|{1=3}|{1=0, 2=1}\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM lake_files('ns.t', version := 1)"), IsOkAnd("1\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM lake_files('ns.t', version := 'main')"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT content, added_snapshot_id FROM lake_manifests('ns.t', version := 1)"),
              IsOkAnd("data|1\ndeletes|1\n"));
  EXPECT_THAT(Query("SELECT * FROM lake_files('ns.none')"),
              IsError(ErrorCode::kNotFound, HasSubstr("ns.none")));
  EXPECT_THAT(Query("SELECT * FROM lake_files('t')"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Query("SELECT * FROM lake_files(NULL)"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Query("SELECT * FROM lake_files('ns.t', version := 'nobody')"),
              IsError(ErrorCode::kInvalidArgument));
}

// --- reading only -------------------------------------------------------------------------------------------------------

TEST_F(Session, RefusesEveryStatementThatWrites) {
  const std::string file = directory_.Join("out");
  const std::string statements[] = {
      "INSERT INTO ns.t VALUES (3, 'c')",
      "INSERT INTO ns.t SELECT * FROM ns.t",
      "UPDATE ns.t SET name = 'x'",
      "DELETE FROM ns.t",
      "TRUNCATE ns.t",
      "MERGE INTO ns.t USING ns.t u ON ns.t.id = u.id WHEN MATCHED THEN DELETE",
      "CREATE TABLE ns.n (a INT)",
      "CREATE TABLE ns.n AS SELECT 1",
      "CREATE TABLE memory.main.n (a INT)",
      "CREATE TABLE memory.n AS SELECT 1",
      "CREATE TEMP TABLE n (a INT)",
      "CREATE VIEW ns.v AS SELECT 1",
      "CREATE TEMP VIEW v AS SELECT 1",
      "CREATE SCHEMA n",
      "CREATE INDEX i ON ns.t (id)",
      "CREATE SEQUENCE s",
      "CREATE MACRO m(a) AS a",
      "CREATE TYPE e AS ENUM ('a')",
      "CREATE SECRET (TYPE s3)",
      "DROP TABLE ns.t",
      "DROP SCHEMA ns",
      "ALTER TABLE ns.t ADD COLUMN c INT",
      "ALTER TABLE ns.t RENAME TO u",
      "COMMENT ON TABLE ns.t IS 'x'",
      "COPY ns.t TO '" + file + "'",
      "COPY (SELECT 1) TO '" + file + "' (FORMAT parquet)",
      "COPY ns.t FROM '" + file + "'",
      "COPY FROM DATABASE lake TO memory",
      "EXPORT DATABASE '" + file + "'",
      "IMPORT DATABASE '" + file + "'",
      "ATTACH '" + file + "'",
      "ATTACH '" + file + "' AS x (READ_ONLY false)",
      "ATTACH ':memory:' AS x",
      "ATTACH '" + file + "' AS x (READ_ONLY, READ_WRITE)",
      "DETACH lake",
      "INSTALL httpfs",
      "LOAD httpfs",
      "UPDATE EXTENSIONS",
      "VACUUM",
      "ANALYZE",
      "CHECKPOINT",
      "FORCE CHECKPOINT",
      "PRAGMA enable_profiling",
      "PRAGMA profiling_output='" + file + "'",
      "PRAGMA enable_external_access=true",
      "SET enable_external_access = true",
      "SET lock_configuration = false",
      "SET temp_directory = '" + file + "'",
      "SET log_query_path = '" + file + "'",
      "SET profiling_output = '" + file + "'",
      "SET GLOBAL allow_community_extensions = true",
      "SET autoinstall_known_extensions = true",
      "SET extension_directory = '" + file + "'",
      "SET secret_directory = '" + file + "'",
      "RESET temp_directory",
      "PREPARE p AS INSERT INTO ns.t VALUES (1, 'x')",
      "EXPLAIN ANALYZE INSERT INTO ns.t VALUES (1, 'x')",
      "EXPLAIN ANALYZE COPY (SELECT 1) TO '" + file + "'",
      "WITH x AS (SELECT 3) INSERT INTO ns.t SELECT *, 'x' FROM x",
      "SELECT 1; INSERT INTO ns.t VALUES (1, 'x')",
      "BEGIN; DROP TABLE ns.t; COMMIT",
  };
  for (const std::string& statement : statements) {
    EXPECT_THAT(Query(statement), IsError(ErrorCode::kPermissionDenied)) << statement;
    EXPECT_FALSE(std::filesystem::exists(file)) << statement;
  }
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM duckdb_tables() WHERE database_name <> 'lake'"),
              IsOkAnd("0\n"));
}

TEST_F(Session, RunsNothingOfATextOfWhichAPartIsRefused) {
  EXPECT_THAT(Query("SET threads = 1; DROP TABLE ns.t"), IsError(ErrorCode::kPermissionDenied));
  EXPECT_THAT(Query("SELECT current_setting('threads')"), IsOkAnd("2\n"));
  EXPECT_THAT(session_->Split("SELECT 1; DROP TABLE ns.t"), IsError(ErrorCode::kPermissionDenied));
}

TEST_F(Session, RunsStatementsThatOnlyRead) {
  for (const char* statement : {"SELECT 1",
                                "VALUES (1)",
                                "FROM ns.t",
                                "EXPLAIN SELECT * FROM ns.t",
                                "EXPLAIN ANALYZE SELECT * FROM ns.t",
                                "SUMMARIZE ns.t",
                                "DESCRIBE ns.t",
                                "SHOW TABLES",
                                "PRAGMA version",
                                "PRAGMA table_info('ns.t')",
                                "SET threads = 1",
                                "SET VARIABLE x = 1",
                                "RESET threads",
                                "BEGIN",
                                "COMMIT",
                                "PREPARE p AS SELECT ?",
                                "EXECUTE p(1)",
                                "DEALLOCATE p",
                                "CALL lake_files('ns.t')",
                                "PIVOT ns.t ON name USING sum(id)",
                                "SELECT * FROM range(3)"}) {
    EXPECT_THAT(Query(statement), IsOk()) << statement;
  }
}

TEST_F(Session, ReadsAnAttachedDatabaseButDoesNotMakeOne) {
  const std::string file = directory_.Join("none.db");
  EXPECT_THAT(Query("ATTACH '" + file + "' AS x (READ_ONLY)"), Not(IsOk()));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Session, ASelectLeavesNoFileBehind) {
  EXPECT_THAT(Query("SELECT * FROM query('SELECT 1')"), IsOk());
  EXPECT_THAT(Query("SELECT write_log('x')"), IsOk());
  const std::string logging =
      "enable_logging(storage = 'file', storage_path = '" + directory_.Join("log") + "')";
  EXPECT_THAT(Query("CALL " + logging), IsError(ErrorCode::kPermissionDenied));
  EXPECT_THAT(Query("SELECT * FROM " + logging), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(Query("SELECT * FROM checkpoint()"), IsError(ErrorCode::kNotFound));
  EXPECT_FALSE(std::filesystem::exists(directory_.Join("log")));
}

// --- statements and results ---------------------------------------------------------------------------------------------

TEST_F(Session, SplitsATextIntoStatements) {
  const auto parts = session_->Split("SELECT ';' ; -- c\n SELECT 2;");
  ASSERT_THAT(parts, IsOk());
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_THAT((*parts)[0], HasSubstr("';'"));
  EXPECT_THAT((*parts)[1], HasSubstr("SELECT 2"));
  EXPECT_THAT(session_->Split("SELEC 1"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(session_->Execute(""), IsError(ErrorCode::kInvalidArgument));
}

TEST_F(Session, PointsAtASyntaxError) {
  EXPECT_THAT(Query("SELECT 1 +* FROM x y z"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("LINE 1")));
}

TEST_F(Session, AnswersWithTheLastOfSeveralStatements) {
  EXPECT_THAT(Query("SELECT 1; SELECT 2"), IsOkAnd("2\n"));
  EXPECT_THAT(Query("SELECT error('x'); SELECT 2"), IsError(ErrorCode::kInvalidArgument));
}

TEST_F(Session, ReadsALargeResultPieceByPiece) {
  auto result = session_->Execute("SELECT range AS i, repeat('x', 100) AS t FROM range(200000)");
  ASSERT_THAT(result, IsOk());
  std::size_t rows = 0;
  std::size_t batches = 0;
  while (true) {
    auto batch = result->Next();
    ASSERT_THAT(batch, IsOk());
    if (!batch->has_value()) {
      break;
    }
    rows += (*batch)->row_count();
    ++batches;
  }
  EXPECT_EQ(rows, 200000U);
  EXPECT_GT(batches, 10U);
  EXPECT_THAT(result->Next(), IsOk());  // There is nothing more.
}

TEST_F(Session, AnErrorInTheMiddleOfAResultComesOut) {
  EXPECT_THAT(
      Query("SELECT CASE WHEN range = 150000 THEN error('boom') ELSE '' END FROM range(200000)"),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("boom")));
  EXPECT_THAT(Query("SELECT 1"), IsOkAnd("1\n"));
}

std::string Json(SqlSession& session, const std::string& sql) {
  auto result = session.Execute(sql);
  if (!result.has_value()) {
    return result.error().ToString();
  }
  std::string text;
  for (auto batch = result->Next(); batch.has_value() && batch->has_value();
       batch = result->Next()) {
    for (std::size_t row = 0; row < (*batch)->row_count(); ++row) {
      for (std::size_t column = 0; column < result->columns().size(); ++column) {
        (*batch)->AppendJson(row, column, text);
        text += ' ';
      }
    }
  }
  return text;
}

TEST_F(Session, WritesValuesAsJson) {
  EXPECT_EQ(Json(*session_,
                 "SELECT 1, 1.50::DECIMAL(9,2), true, NULL, 'a\"b\\c\n\x01', DATE '2024-01-01', "
                 "1e300, 0.1::FLOAT"),
            R"(1 1.50 true null "a\"b\\c\n\u0001" "2024-01-01" 1e+300 0.1 )");
  EXPECT_EQ(Json(*session_, "SELECT 'inf'::DOUBLE, '-inf'::FLOAT, 'nan'::DOUBLE"),
            R"("inf" "-inf" "nan" )");
  EXPECT_EQ(Json(*session_,
                 "SELECT [1, NULL], {'a': 1, 'b c': 'x'}, MAP {'k': [true]}, MAP {1: 'x'}, []"),
            R"([1,null] {"a":1,"b c":"x"} {"k":[true]} [{"key":1,"value":"x"}] [] )");
  EXPECT_EQ(Json(*session_,
                 "SELECT {'t': TIMESTAMP '2024-01-01 10:00:00', 'd': 1.5::DECIMAL(4,1), 'n': "
                 "'nan'::DOUBLE, 'l': [{'x': NULL}]}"),
            R"({"t":"2024-01-01 10:00:00","d":1.5,"n":"nan","l":[{"x":null}]} )");
}

TEST_F(Session, WritesALargeNestedResultAsJson) {
  const std::string json =
      Json(*session_, "SELECT list({'i': range, 't': range::VARCHAR}) FROM range(50000)");
  EXPECT_TRUE(json.starts_with(R"([{"i":0,"t":"0"},{"i":1,"t":"1"},)")) << json.substr(0, 100);
  EXPECT_TRUE(json.ends_with(R"({"i":49999,"t":"49999"}] )")) << json.substr(json.size() - 100);
}

TEST_F(Session, TellsTheTypesOfColumns) {
  const auto result = session_->Execute(
      "SELECT 1::INT a, 'x' b, true c, [1] d, DATE '2024-01-01' e, 1.5::DECIMAL(9,2) f");
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->has_rows());
  EXPECT_THAT(result->columns(),
              ::testing::ElementsAre(ResultColumn{"a", "INTEGER", ValueKind::kNumber},
                                     ResultColumn{"b", "VARCHAR", ValueKind::kText},
                                     ResultColumn{"c", "BOOLEAN", ValueKind::kBoolean},
                                     ResultColumn{"d", "INTEGER[]", ValueKind::kNested},
                                     ResultColumn{"e", "DATE", ValueKind::kText},
                                     ResultColumn{"f", "DECIMAL(9,2)", ValueKind::kNumber}));
  const auto set = session_->Execute("SET threads = 2");
  ASSERT_THAT(set, IsOk());
  EXPECT_FALSE(set->has_rows());
}

TEST_F(Session, CopiesAQueryIntoAParquetFile) {
  const std::string path = directory_.Join("out.parquet");
  EXPECT_THAT(session_->CopyQueryTo("SELECT * FROM ns.t", path), IsOkAnd(2U));
  EXPECT_THAT(Query("SELECT * FROM '" + path + "' ORDER BY id"), IsOkAnd("1|a\n2|b\n"));
  EXPECT_THAT(session_->CopyQueryTo("SELECT 7 AS x", path), IsOkAnd(1U));
  EXPECT_THAT(Query("SELECT * FROM '" + path + "'"), IsOkAnd("7\n"));
  EXPECT_THAT(session_->CopyQueryTo("SELECT error('boom') FROM range(5)", directory_.Join("bad")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("boom")));
  std::filesystem::remove(directory_.Join("bad"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}),
            2);  // And what SetUp has staged from.
  EXPECT_THAT(session_->CopyQueryTo("SELECT 1; SELECT 2", path),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(session_->CopyQueryTo("SET threads = 1", path), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(session_->CopyQueryTo("SELECT 1", directory_.Join("no/such/dir/x.parquet")),
              Not(IsOk()));
  // The permission ends with the call.
  EXPECT_THAT(Query("COPY (SELECT 1) TO '" + path + "'"), IsError(ErrorCode::kPermissionDenied));
}

TEST_F(Session, CopiesNoIntegersOf128BitsIntoAParquetFile) {
  const std::string path = directory_.Join("out.parquet");
  for (const char* query :
       {"SELECT 1 AS a, sum(id) AS wide FROM ns.t", "SELECT [1::UHUGEINT] AS wide"}) {
    EXPECT_THAT(session_->CopyQueryTo(query, path),
                IsError(ErrorCode::kUnimplemented,
                        AllOf(HasSubstr("column wide"), HasSubstr("wide::decimal(38,0)"))));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(
      session_->CopyQueryTo("SELECT sum(9007199254740993)::decimal(38,0) AS s FROM range(3)", path),
      IsOkAnd(1U));
  EXPECT_THAT(Query("SELECT s FROM '" + path + "'"), IsOkAnd("27021597764222979\n"));
}

TEST_F(Session, AnInterruptEndsAResultThatIsBeingRead) {
  auto result = session_->Execute("SELECT range FROM range(1000000000000)");
  ASSERT_THAT(result, IsOk());
  ASSERT_TRUE(result->Next().has_value());
  session_->Interrupt();
  std::optional<Error> error;
  while (!error.has_value()) {
    const auto batch = result->Next();
    if (!batch.has_value()) {
      error = batch.error();
    } else {
      ASSERT_TRUE(batch->has_value()) << "the result has an end";
    }
  }
  EXPECT_EQ(error->code(), ErrorCode::kCancelled) << error->ToString();
  // Also what comes later, until the session goes on.
  EXPECT_THAT(Query("SELECT 1"), IsError(ErrorCode::kCancelled));
  EXPECT_THAT(Query("SELECT 1; SELECT 2"), IsError(ErrorCode::kCancelled));
  session_->Resume();
  EXPECT_THAT(Query("SELECT 1"), IsOkAnd("1\n"));
}

// The interrupt comes before the statement begins, or while it is planned, or while it runs.
TEST_F(Session, AnInterruptEndsAStatementThatRuns) {
  Thread interrupter("interrupter", [&] { session_->Interrupt(); });
  const auto answer =
      Query("SELECT count(*) FROM range(1000000000000) t(i) WHERE (i * 7) % 13 = 4");
  interrupter.Join();
  EXPECT_THAT(answer, IsError(ErrorCode::kCancelled));
  session_->Resume();
  EXPECT_THAT(Query("SELECT 1"), IsOkAnd("1\n"));
}

}  // namespace
}  // namespace lake::sql
