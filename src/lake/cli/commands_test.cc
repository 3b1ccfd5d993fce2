#include "lake/cli/commands.h"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "lake/base/hash.h"
#include "lake/base/json_internal.h"
#include "lake/cli/column.h"
#include "lake/cli/fake_lake_test_internal.h"
#include "lake/cli/main.h"
#include "lake/testing/matchers.h"
#include "lake/testing/temp_dir.h"

namespace lake::cli {
namespace {

using catalog::TableName;
using engine::InputFormat;
using lake::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const TableName kTable{.ns = {{"a"}}, .name = "t"};

class CommandsTest : public ::testing::Test {
 protected:
  // Runs a command and returns its failure, which it must have.
  Failure MustFail(const Command& command, bool json = false) {
    Context context = lake_.MakeContext(json);
    const Outcome outcome = RunCommand(command, context);
    if (outcome.has_value()) {
      ADD_FAILURE() << "it succeeded";
      return Failure(Error(ErrorCode::kInternal, "it succeeded"));
    }
    return outcome.error();
  }

  // Runs a command, which must succeed, and returns what it wrote.
  std::string MustRun(const Command& command, bool json = false) {
    const std::size_t before = lake_.out.text().size();
    Context context = lake_.MakeContext(json);
    const Outcome outcome = RunCommand(command, context);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().error.ToString();
    return lake_.out.text().substr(before);
  }

  boost::json::value MustRunJson(const Command& command) {
    const Result<boost::json::value> value = json::Parse(MustRun(command, true));
    EXPECT_TRUE(value.has_value());
    return value.value_or(nullptr);
  }

  void MakeTable() {
    MustRun(NamespaceCreate{.ns = kTable.ns});
    MustRun(TableCreate{.name = kTable,
                        .schema = *ParseColumns({"a long required", "b list<string>"})});
  }

  std::string WriteInput(const std::string& name, std::string_view bytes) {
    std::ofstream(dir_.Join(name), std::ios::binary) << bytes;
    return dir_.Join(name);
  }

  Append AppendOf(const std::string& path) {
    return {.name = kTable, .inputs = {{.path = path, .format = InputFormat::kCsv}}};
  }

  Uuid FreshId() { return Uuid::Random7(lake_.clock, lake_.random); }

  FakeLake lake_;
  TempDir dir_;
};

TEST_F(CommandsTest, NamespacesAreCreatedListedShownAndDropped) {
  const Uuid id = FreshId();
  const NamespaceCreate create{.ns = {{"a"}}, .properties = {{"owner", "ops"}}, .operation = id};
  EXPECT_EQ(MustRun(create), "created namespace=a epoch=7 operation=" + id.ToString() + "\n");
  EXPECT_EQ(MustRun(create),
            "already done: created namespace=a epoch=7 operation=" + id.ToString() + "\n");
  EXPECT_EQ(MustRunJson(create).at("replayed"), true);
  EXPECT_THAT(MustRun(NamespaceCreate{.ns = {{"a", "b.c"}}}),
              StartsWith("created namespace=a.\"b.c\" epoch=7 operation="));
  EXPECT_EQ(MustRun(NamespaceList{}), "a\na.\"b.c\"\n");
  EXPECT_EQ(MustRun(NamespaceList{.parent = {{"a"}}}), "a.\"b.c\"\n");
  EXPECT_EQ(MustRun(NamespaceShow{.ns = {{"a"}}}), "namespace       a\nproperty owner  ops\n");
  EXPECT_EQ(MustRunJson(NamespaceShow{.ns = {{"a"}}}),
            (boost::json::value{{"namespace", "a"}, {"properties", {{"owner", "ops"}}}}));
  EXPECT_THAT(MustRun(NamespaceDrop{.ns = {{"a", "b.c"}}}),
              StartsWith("dropped namespace=a.\"b.c\" epoch=7 operation="));
  EXPECT_EQ(MustRunJson(NamespaceList{}), boost::json::array{boost::json::value("a")});
}

TEST_F(CommandsTest, PropertiesAreSetAndRemoved) {
  MakeTable();
  EXPECT_THAT(MustRun(NamespaceSet{.ns = kTable.ns, .properties = {{"owner", "ops"}}}),
              StartsWith("changed namespace=a epoch=7 operation="));
  MustRun(NamespaceSet{.ns = kTable.ns, .properties = {{"k", "v"}}, .unset = {"owner", "none"}});
  EXPECT_EQ(MustRun(NamespaceShow{.ns = kTable.ns}), "namespace   a\nproperty k  v\n");
  EXPECT_THAT(MustRun(TableSet{.name = kTable, .properties = {{"comment", "x"}, {"k", "v"}}}),
              StartsWith("changed table=a.t epoch=7 operation="));
  MustRun(TableSet{.name = kTable, .unset = {"k"}});
  const std::string shown = MustRun(TableShow{.name = kTable});
  EXPECT_THAT(shown, HasSubstr("property comment"));
  EXPECT_THAT(shown, Not(HasSubstr("property k")));
  EXPECT_THAT(MustFail(NamespaceSet{.ns = {{"none"}}, .unset = {"k"}}).next,
              HasSubstr("lake namespace list"));
  EXPECT_THAT(MustFail(TableSet{.name = {.ns = {{"a"}}, .name = "x"}, .unset = {"k"}}).next,
              HasSubstr("lake table list"));
}

TEST_F(CommandsTest, ARenamedTableIsShownUnderItsNewName) {
  MakeTable();
  const catalog::TableName renamed{.ns = kTable.ns, .name = "u"};
  EXPECT_THAT(MustRun(TableRename{.from = kTable, .to = renamed}),
              StartsWith("renamed table=a.u epoch=7 operation="));
  EXPECT_THAT(MustRun(TableShow{.name = renamed}), HasSubstr("a.u"));
  EXPECT_THAT(MustFail(TableRename{.from = kTable, .to = renamed}).next,
              HasSubstr("lake table list"));
  EXPECT_EQ(MustFail(TableRename{.from = renamed, .to = renamed}).exit_code, ExitCode::kConflict);
}

TEST_F(CommandsTest, WhatIsMissingOrTakenIsSaidWithAdvice) {
  EXPECT_EQ(MustFail(NamespaceShow{.ns = {{"a"}}}).exit_code, ExitCode::kFailed);
  EXPECT_THAT(MustFail(NamespaceCreate{.ns = {{"a", "b"}}}).next,
              HasSubstr("lake namespace create a "));
  EXPECT_THAT(MustFail(TableCreate{.name = kTable, .schema = *ParseColumns({"a int"})}).next,
              HasSubstr("lake namespace create a"));
  MakeTable();
  EXPECT_EQ(MustFail(NamespaceCreate{.ns = kTable.ns}).exit_code, ExitCode::kConflict);
  EXPECT_EQ(MustFail(TableCreate{.name = kTable, .schema = *ParseColumns({"a int"})}).exit_code,
            ExitCode::kConflict);
  const Failure not_empty = MustFail(NamespaceDrop{.ns = kTable.ns});
  EXPECT_EQ(not_empty.exit_code, ExitCode::kConflict);
  EXPECT_THAT(not_empty.next, HasSubstr("lake table list a"));
  EXPECT_THAT(MustFail(TableShow{.name = {.ns = {{"a"}}, .name = "x"}}).next,
              HasSubstr("lake table list"));
}

TEST_F(CommandsTest, CommandsThatReadOpenForReading) {
  MakeTable();
  lake_.connects.clear();
  MustRun(TableShow{.name = kTable});
  MustRun(TableHistory{.name = kTable});
  MustRun(TableList{});
  MustRun(NamespaceList{});
  MustRun(NamespaceShow{.ns = kTable.ns});
  MustRun(StatusCommand{});
  for (const ConnectRequest& connect : lake_.connects) {
    EXPECT_EQ(connect.access, Access::kRead) << connect.purpose;
    EXPECT_THAT(connect.purpose, StartsWith("lake "));
  }
  EXPECT_EQ(lake_.writers_started, 0);
}

TEST_F(CommandsTest, TableShowDescribesTheTable) {
  MakeTable();
  const std::string shown = MustRun(TableShow{.name = kTable});
  EXPECT_THAT(shown, HasSubstr("snapshot  none\n"));
  EXPECT_THAT(shown, HasSubstr("a       long required\n"));
  EXPECT_THAT(shown, HasSubstr("list<string>"));
  const boost::json::value value = MustRunJson(TableShow{.name = kTable});
  EXPECT_EQ(value.at("rows"), 0);
  EXPECT_TRUE(value.at("snapshot").is_null());
  EXPECT_EQ(value.at("columns").as_array().size(), 2);
}

TEST_F(CommandsTest, AppendStagesAndAppends) {
  MakeTable();
  const Uuid id = FreshId();
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.operation = id;
  EXPECT_EQ(MustRun(command), "appended rows=10 files=1 table=a.t snapshot=1 epoch=7 operation=" +
                                  id.ToString() + "\n");
  ASSERT_THAT(lake_.service.appended, SizeIs(1));
  EXPECT_THAT(lake_.service.appended[0].content, ElementsAre(Sha256Hex("a\n1\n")));
  EXPECT_EQ(lake_.service.last_change.operation, id);
  EXPECT_TRUE(lake_.service.last_change.retryable);
  ASSERT_THAT(lake_.writer.staged, SizeIs(1));
  EXPECT_THAT(lake_.writer.staged[0].data_location, MatchesRegex("/warehouse/.*/data"));
  EXPECT_THAT(lake_.ObjectPaths(), SizeIs(1));
}

TEST_F(CommandsTest, AFinishedOperationIsAnsweredBeforeAnythingIsStaged) {
  MakeTable();
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.operation = FreshId();
  MustRun(command);
  EXPECT_EQ(MustRun(command), "already done: table=a.t snapshot=1 epoch=7 operation=" +
                                  command.operation->ToString() + "\n");
  const boost::json::value value = MustRunJson(command);
  EXPECT_EQ(value.at("replayed"), true);
  EXPECT_EQ(value.at("snapshot"), "1");
  EXPECT_TRUE(value.at("rows").is_null());
  EXPECT_THAT(lake_.writer.staged, SizeIs(1));
  EXPECT_EQ(lake_.writers_started, 1);
}

TEST_F(CommandsTest, WithoutAnIdEachAppendIsAnIntentOfItsOwn) {
  MakeTable();
  const Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  MustRun(command);
  MustRun(command);
  EXPECT_THAT(lake_.service.appended, SizeIs(2));
  EXPECT_FALSE(lake_.service.last_change.retryable);
}

TEST_F(CommandsTest, AMissingFileIsFoundBeforeTheLakeIsOpened) {
  MakeTable();
  lake_.connects.clear();
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.inputs.push_back({.path = dir_.Join("gone.csv"), .format = InputFormat::kCsv});
  const Failure failure = MustFail(command);
  EXPECT_EQ(failure.exit_code, ExitCode::kFailed);
  EXPECT_THAT(failure.error.message(), HasSubstr("gone.csv"));
  EXPECT_THAT(lake_.connects, IsEmpty());
}

TEST_F(CommandsTest, AFailureThatIsCertainRemovesTheStagedFiles) {
  for (const ErrorCode code :
       {ErrorCode::kUnavailable, ErrorCode::kConflict, ErrorCode::kInvalidArgument,
        ErrorCode::kDeadlineExceeded, ErrorCode::kFenced, ErrorCode::kNotLeader}) {
    FakeLake lake;
    Context context = lake.MakeContext();
    ASSERT_TRUE(RunCommand(NamespaceCreate{.ns = kTable.ns}, context).has_value());
    ASSERT_TRUE(RunCommand(TableCreate{.name = kTable, .schema = *ParseColumns({"a int"})}, context)
                    .has_value());
    lake.service.FailNextChange(Error(code, "told to fail"));
    const Outcome outcome = RunCommand(AppendOf(WriteInput("x.csv", "a\n1\n")), context);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().error.code(), code);
    EXPECT_THAT(lake.writer.staged, SizeIs(1));
    EXPECT_THAT(lake.ObjectPaths(), IsEmpty()) << ErrorCodeName(code);
  }
}

TEST_F(CommandsTest, AnUnknownOutcomeKeepsTheStagedFilesAndNamesTheOperation) {
  MakeTable();
  lake_.service.FailNextChange(Error(ErrorCode::kOutcomeUnknown, "the reply was lost"));
  const Failure failure = MustFail(AppendOf(WriteInput("x.csv", "a\n1\n")));
  EXPECT_EQ(failure.exit_code, ExitCode::kOutcomeUnknown);
  EXPECT_THAT(failure.next,
              HasSubstr("--operation-id " + lake_.service.last_change.operation.ToString()));
  EXPECT_THAT(lake_.ObjectPaths(), SizeIs(1));
}

TEST_F(CommandsTest, AppendToATableThatIsNotThereAdvisesToCreateIt) {
  MustRun(NamespaceCreate{.ns = kTable.ns});
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  EXPECT_THAT(MustFail(command).next, HasSubstr("--create"));
  EXPECT_THAT(lake_.writer.staged, IsEmpty());
  command.create = true;
  EXPECT_THAT(MustRun(command), StartsWith("appended rows=10"));
  EXPECT_EQ(MustRun(TableList{}), "a.t\n");
  EXPECT_THAT(MustRun(command), StartsWith("appended rows=10"));
}

TEST_F(CommandsTest, AnAppendWhoseRowsAreBadMakesNoTable) {
  MustRun(NamespaceCreate{.ns = kTable.ns});
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.create = true;
  lake_.writer.stage_error = Error(ErrorCode::kInvalidArgument, "x.csv: column b is missing");
  EXPECT_EQ(MustFail(command).exit_code, ExitCode::kFailed);
  EXPECT_EQ(MustRun(TableList{}), "");
}

TEST_F(CommandsTest, AnAppendGoesToTheTableThatAnotherMadeBeforeIt) {
  MustRun(NamespaceCreate{.ns = kTable.ns});
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.create = true;
  // Before it is planned.
  lake_.service.BeforeNextPlan([&] {
    const Result<metasrv::TableResult> made = lake_.service.CreateTable(
        {.name = kTable, .schema = *ParseColumns({"a long"})}, {.operation = FreshId()});
    EXPECT_TRUE(made.has_value());
  });
  EXPECT_THAT(MustRun(command), StartsWith("appended rows=10"));
  EXPECT_THAT(lake_.writer.staged, SizeIs(1));
  MustRun(TableDrop{.name = kTable});
  // After its rows were read: they were read for another table.
  const std::size_t objects = lake_.ObjectPaths().size();
  lake_.service.FailNextChange(Error(ErrorCode::kAlreadyExists, "table a.t already exists"));
  const Failure taken = MustFail(command);
  EXPECT_EQ(taken.exit_code, ExitCode::kConflict);
  EXPECT_THAT(taken.next, HasSubstr("repeat the command"));
  EXPECT_THAT(lake_.ObjectPaths(), SizeIs(objects));
}

TEST_F(CommandsTest, AnAppendThatFailsAfterItsTableWasMadeSaysSo) {
  MustRun(NamespaceCreate{.ns = kTable.ns});
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.create = true;
  command.operation = FreshId();
  // It is not known whether the table was made: the append's id is what finds out.
  lake_.service.FailNextChange(
      Error(ErrorCode::kOutcomeUnknown, "operation X: the reply was lost"));
  const Failure unknown = MustFail(command);
  EXPECT_EQ(unknown.exit_code, ExitCode::kOutcomeUnknown);
  EXPECT_THAT(unknown.next, HasSubstr("--operation-id " + command.operation->ToString()));
  EXPECT_THAT(unknown.error.message(), Not(HasSubstr("operation X")));
  EXPECT_THAT(lake_.ObjectPaths(), IsEmpty());
  // It was made, and the append after it failed for certain.
  lake_.service.FailAppends(Error(ErrorCode::kUnavailable, "no room"));
  const Failure failed = MustFail(command);
  EXPECT_EQ(failed.exit_code, ExitCode::kFailed);
  EXPECT_EQ(failed.error.message(), "no room; table a.t was made, and is empty");
  EXPECT_THAT(failed.next, HasSubstr("--operation-id " + command.operation->ToString()));
  EXPECT_THAT(lake_.ObjectPaths(), IsEmpty());
  EXPECT_EQ(MustRun(TableList{}), "a.t\n");
}

TEST_F(CommandsTest, CreateWithoutItsNamespaceAdvisesToMakeThat) {
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.create = true;
  EXPECT_EQ(MustFail(command).next, "lake namespace create a");
}

TEST_F(CommandsTest, AnAppendWithoutRowsIsRecordedAndMakesNoVersion) {
  MakeTable();
  lake_.writer.rows_per_file = 0;
  const Append command = AppendOf(WriteInput("x.csv", "a\n"));
  EXPECT_THAT(MustRun(command),
              StartsWith("appended rows=0 files=0 table=a.t snapshot=none epoch=7 operation="));
  ASSERT_THAT(lake_.service.appended, SizeIs(1));
  EXPECT_THAT(lake_.service.appended[0].files, IsEmpty());
  EXPECT_TRUE(MustRunJson(command).at("snapshot").is_null());
}

TEST_F(CommandsTest, ABadInputLeavesNothingAndIsNamed) {
  MakeTable();
  lake_.writer.next_error = Error(ErrorCode::kInvalidArgument, "x.csv: column b is missing");
  const Failure failure = MustFail(AppendOf(WriteInput("x.csv", "a\n1\n")));
  EXPECT_EQ(failure.exit_code, ExitCode::kFailed);
  EXPECT_THAT(failure.error.message(), HasSubstr("column b"));
  EXPECT_THAT(lake_.service.appended, IsEmpty());
  EXPECT_THAT(lake_.ObjectPaths(), IsEmpty());
}

TEST_F(CommandsTest, HistoryTellsEpochsAndOperations) {
  MakeTable();
  Append command = AppendOf(WriteInput("x.csv", "a\n1\n"));
  command.operation = FreshId();
  MustRun(command);
  command.operation = FreshId();
  MustRun(command);
  const boost::json::value history = MustRunJson(TableHistory{.name = kTable});
  ASSERT_EQ(history.as_array().size(), 2);
  const boost::json::value& last = history.as_array()[1];
  EXPECT_EQ(last.at("sequence_number"), 2);
  EXPECT_EQ(last.at("snapshot"), "2");
  EXPECT_EQ(last.at("operation"), "append");
  EXPECT_EQ(last.at("rows_added"), 10);
  EXPECT_EQ(last.at("rows_total"), 20);
  EXPECT_EQ(last.at("epoch"), 7);
  EXPECT_EQ(last.at("operations").as_array(), (boost::json::array{command.operation->ToString()}));
  EXPECT_THAT(MustRun(TableHistory{.name = kTable}), HasSubstr(command.operation->ToString()));
}

TEST_F(CommandsTest, APurgeIsAwaitedAndOnlyAskedForByItsFlag) {
  MakeTable();
  lake_.service.purges = {metasrv::PurgeProgress{.removed = 1},
                          metasrv::PurgeProgress{.removed = 2}};
  EXPECT_THAT(MustRun(TableDrop{.name = kTable, .purge = true}),
              AllOf(StartsWith("dropped table=a.t epoch=7"), HasSubstr("its files are removed: 3"),
                    Not(HasSubstr("undrop"))));
  EXPECT_TRUE(lake_.service.drops.back().purge);
  MustRun(TableCreate{.name = kTable, .schema = *ParseColumns({"a long"})});
  const boost::json::value answer = MustRunJson(TableDrop{.name = kTable});
  EXPECT_FALSE(lake_.service.drops.back().purge);
  EXPECT_EQ(answer.at("purged"), false);
}

TEST_F(CommandsTest, APurgeThatStoppedNamesTheCommandThatGoesOn) {
  MakeTable();
  lake_.service.purges = {std::unexpected(Error(ErrorCode::kCorruption, "manifest /m is damaged"))};
  const Failure failure = MustFail(TableDrop{
      .name = kTable, .purge = true, .operation = Uuid::Random7(lake_.clock, lake_.random)});
  EXPECT_EQ(failure.exit_code, ExitCode::kOutcomeUnknown);
  EXPECT_THAT(failure.error.message(),
              AllOf(HasSubstr("a.t is dropped"), HasSubstr("manifest /m is damaged")));
  EXPECT_THAT(failure.next, HasSubstr(lake_.service.last_change.operation.ToString()));
}

TEST_F(CommandsTest, APurgeThatFailsToBeginIsAFailedDrop) {
  MakeTable();
  lake_.service.FailNextChange(Error(ErrorCode::kUnavailable, "the store failed"));
  EXPECT_EQ(MustFail(TableDrop{.name = kTable, .purge = true}).exit_code, ExitCode::kFailed);
  EXPECT_THAT(lake_.service.drops, IsEmpty());
  EXPECT_EQ(MustRun(TableList{}), "a.t\n");
}

TEST_F(CommandsTest, ADroppedTableIsListedAndComesBack) {
  MakeTable();
  EXPECT_EQ(MustRunJson(TableList{.dropped = true}).as_array().size(), 0U);
  MustRun(TableDrop{.name = kTable});
  const boost::json::value listed = MustRunJson(TableList{.ns = kTable.ns, .dropped = true});
  ASSERT_EQ(listed.as_array().size(), 1U);
  const boost::json::value& table = listed.as_array()[0];
  EXPECT_EQ(table.at("table"), "a.t");
  EXPECT_EQ(table.at("state"), "dropped");
  EXPECT_EQ(table.at("dropped"), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(table.at("kept_until"), "1970-01-01T00:00:00.001Z");
  EXPECT_THAT(MustRun(TableList{.dropped = true}), HasSubstr("a.t"));
  EXPECT_EQ(MustRun(TableList{}), "");
  const Failure other =
      MustFail(TableUndrop{.name = kTable, .incarnation = Uuid::Random4(lake_.random)});
  EXPECT_EQ(other.exit_code, ExitCode::kFailed);
  EXPECT_THAT(other.next, HasSubstr("lake table list --dropped"));
  EXPECT_THAT(MustRun(TableUndrop{.name = kTable}), StartsWith("undropped table=a.t epoch=7"));
  EXPECT_EQ(MustRun(TableList{}), "a.t\n");
  EXPECT_EQ(MustFail(TableUndrop{.name = kTable}).exit_code, ExitCode::kConflict);
}

TEST_F(CommandsTest, ADroppedTableIsGone) {
  MakeTable();
  const boost::json::value shown = MustRunJson(TableShow{.name = kTable});
  const std::string metadata(shown.at("metadata_location").as_string());
  EXPECT_THAT(MustRun(TableDrop{.name = kTable}),
              AllOf(StartsWith("dropped table=a.t epoch=7"), HasSubstr("lake table undrop a.t"),
                    HasSubstr("lake table register a.t " + metadata)));
  EXPECT_EQ(MustRun(TableList{}), "");
  EXPECT_EQ(MustFail(TableDrop{.name = kTable}).error.code(), ErrorCode::kNotFound);
}

TEST_F(CommandsTest, RegisterNamesTheMetadataAbsolutely) {
  MustRun(NamespaceCreate{.ns = kTable.ns});
  const boost::json::value relative =
      MustRunJson(TableRegister{.name = kTable, .metadata_location = "x/../m.json"});
  EXPECT_THAT(std::string(relative.at("metadata_location").as_string()),
              MatchesRegex("/.*/m\\.json"));
  const boost::json::value uri =
      MustRunJson(TableRegister{.name = kTable, .metadata_location = "file:///m.json"});
  EXPECT_EQ(uri.at("metadata_location"), "file:///m.json");
}

TEST_F(CommandsTest, StatusTellsWhoLedAndWhatIsPending) {
  EXPECT_THAT(MustRun(StatusCommand{}), HasSubstr("nobody has led yet"));
  EXPECT_TRUE(MustRunJson(StatusCommand{}).at("leader").is_null());
  MakeTable();
  const Uuid id = FreshId();
  lake_.service.status = {.has_term = true, .epoch = 3, .leader_node = "n", .leader_session = id};
  lake_.service.status.pending.push_back(
      {.id = id,
       .pending =
           catalog::PendingRecord{
               .kind = catalog::OperationKind::kAppend, .tables = {{.name = kTable}}, .epoch = 3},
       .finished = {}});
  const boost::json::value status = MustRunJson(StatusCommand{});
  EXPECT_EQ(status.at("epoch"), 3);
  EXPECT_EQ(status.at("data_dir"), "/data");
  EXPECT_EQ(status.at("namespaces"), 1);
  EXPECT_EQ(status.at("tables"), 1);
  EXPECT_EQ(status.at("leader").at("node"), "n");
  EXPECT_EQ(status.at("released"), false);
  EXPECT_EQ(status.at("pending").as_array().at(0).at("operation"),
            boost::json::value(id.ToString()));
  EXPECT_EQ(status.at("pending").as_array().at(0).at("tables").as_array().at(0), "a.t");
  EXPECT_THAT(MustRun(StatusCommand{}),
              HasSubstr(id.ToString() + "  append a.t, reserved under epoch 3"));
  EXPECT_EQ(lake_.writers_started, 0);
}

TEST_F(CommandsTest, CheckReportsADamagedTableAndGoesOn) {
  MakeTable();
  const TableName other{.ns = kTable.ns, .name = "u"};
  MustRun(TableCreate{.name = other, .schema = *ParseColumns({"a int"})});
  EXPECT_THAT(MustRun(Check{}), HasSubstr("ok       a.t: 0 snapshots"));
  lake_.service.Damage(kTable);
  const Failure failure = MustFail(Check{});
  EXPECT_EQ(failure.exit_code, ExitCode::kFailed);
  EXPECT_EQ(failure.error.message(), "1 of 2 tables damaged");
  EXPECT_THAT(lake_.out.text(),
              HasSubstr("damaged  a.t: table a.t: its metadata file is damaged\n"));
  EXPECT_THAT(lake_.out.text(), HasSubstr("ok       a.u"));
  EXPECT_EQ(MustFail(Check{.name = TableName{.ns = {{"a"}}, .name = "x"}}).error.code(),
            ErrorCode::kNotFound);
}

TEST_F(CommandsTest, MaintainGoesOnUntilEverythingIsDone) {
  metasrv::MaintenanceReport first{
      .operations_settled = 1, .tables_seen = 1000, .complete = false, .next = "tbl/a/m"};
  first.tables.push_back({.name = kTable,
                          .manifests_merged = 1100,
                          .manifests_written = 2,
                          .snapshots_expired = 4,
                          .files_removed = 1});
  lake_.service.reports = {first, metasrv::MaintenanceReport{.tables_seen = 7}};
  const std::string text = MustRun(Maintain{});
  EXPECT_THAT(
      text, HasSubstr("a.t: 1,100 manifests merged into 2, 4 snapshots expired, 1 file removed\n"));
  EXPECT_THAT(text, HasSubstr("1,007 tables seen, 1 operation settled"));
  ASSERT_THAT(lake_.service.maintained, SizeIs(2));
  EXPECT_TRUE(
      lake_.service.maintained[0].steps.contains(metasrv::MaintenanceStep::kMergeManifests));
  EXPECT_EQ(lake_.service.maintained[1].after, "tbl/a/m");
  EXPECT_EQ(lake_.connects.back().access, Access::kWrite);
}

TEST_F(CommandsTest, MaintainSaysWhichManifestsADryRunWouldMerge) {
  metasrv::MaintenanceReport report{.dry_run = true, .tables_seen = 1};
  report.tables.push_back({.name = kTable, .manifests_merged = 100, .manifests_written = 1});
  lake_.service.reports = {report, report};
  const Maintain command{.what = {.dry_run = true}};
  EXPECT_THAT(MustRun(command), HasSubstr("a.t: 100 manifests would be merged into 1\n"));
  const boost::json::value json = MustRunJson(command);
  EXPECT_EQ(json.at("tables").at(0).at("manifests_merged").to_number<std::uint64_t>(), 100U);
  EXPECT_EQ(json.at("tables").at(0).at("manifests_written").to_number<std::uint64_t>(), 1U);
}

TEST_F(CommandsTest, MaintainSaysWhatFailedAndWritesWhatWasDone) {
  metasrv::MaintenanceReport report{.tables_seen = 2};
  report.tables.push_back({.name = kTable, .problems = {"a manifest is missing"}});
  report.problems = {"tbl/a/x is passed over"};
  lake_.service.reports = {report, report};
  const Failure failure = MustFail(Maintain{});
  EXPECT_THAT(failure.error.message(), HasSubstr("1 of 2 tables"));
  EXPECT_THAT(lake_.out.text(), HasSubstr("failed  a.t: a manifest is missing\n"));
  EXPECT_THAT(lake_.out.text(), HasSubstr("failed  tbl/a/x is passed over\n"));
  MustFail(Maintain{}, /*json=*/true);
  EXPECT_THAT(lake_.out.text(), HasSubstr("\"problems\""));
}

TEST_F(CommandsTest, MaintainSaysWhatBecameOfDroppedTables) {
  lake_.service.reports = {
      metasrv::MaintenanceReport{.purges_running = 3, .complete = false, .next = "tbl/a/m"},
      metasrv::MaintenanceReport{
          .purges_ended = 2, .purges_running = 1, .files_purged = 30, .tables_forgotten = 4}};
  const std::string text = MustRun(Maintain{});
  EXPECT_THAT(text, HasSubstr("2 dropped tables purged, 30 files removed\n"));
  EXPECT_THAT(text,
              HasSubstr("1 dropped table not purged to the end yet: run lake maintain again\n"));
  EXPECT_THAT(text, HasSubstr("4 dropped tables forgotten\n"));
  lake_.service.reports = {metasrv::MaintenanceReport{.purges_running = 1, .files_purged = 7}};
  const boost::json::value json = MustRunJson(Maintain{});
  EXPECT_EQ(json.at("purges_running").to_number<int>(), 1);
  EXPECT_EQ(json.at("files_purged").to_number<int>(), 7);
}

TEST_F(CommandsTest, ExpireIsOneStepOfOneTableAndADryRunIsPassedOn) {
  const boost::json::value json =
      MustRunJson(TableExpire{.what = {.name = kTable, .dry_run = true}});
  EXPECT_TRUE(json.at("dry_run").as_bool());
  ASSERT_THAT(lake_.service.maintained, SizeIs(1));
  EXPECT_EQ(lake_.service.maintained[0].table, kTable);
  EXPECT_TRUE(lake_.service.maintained[0].dry_run);
  EXPECT_THAT(lake_.service.maintained[0].steps,
              ElementsAre(metasrv::MaintenanceStep::kExpireSnapshots));
}

TEST_F(CommandsTest, OrphansAreListedUnlessTheyAreToBeRemoved) {
  metasrv::MaintenanceReport report{.dry_run = true, .tables_seen = 1};
  report.tables.push_back({.name = kTable,
                           .orphans_removed = 3,
                           .orphan_bytes = 2048,
                           .orphan_paths = {"/w/t/a", "/w/t/b"}});
  lake_.service.reports = {report, report};
  const std::string text =
      MustRun(TableOrphans{.name = kTable, .older_than = std::chrono::hours(48)});
  EXPECT_THAT(text, HasSubstr("a.t: 3 orphans would be removed\n  /w/t/a\n  /w/t/b\n"
                              "  and 1 file more\n"));
  const boost::json::value json = MustRunJson(
      TableOrphans{.name = kTable, .older_than = std::chrono::hours(48), .remove = true});
  EXPECT_EQ(json.at("tables").at(0).at("orphan_paths").as_array().size(), 2U);
  ASSERT_THAT(lake_.service.maintained, SizeIs(2));
  EXPECT_TRUE(lake_.service.maintained[0].dry_run);
  EXPECT_FALSE(lake_.service.maintained[1].dry_run);
  EXPECT_EQ(lake_.service.maintained[0].table, kTable);
  EXPECT_EQ(lake_.service.maintained[0].orphan_age, std::chrono::hours(48));
  EXPECT_THAT(lake_.service.maintained[0].steps,
              ElementsAre(metasrv::MaintenanceStep::kRemoveOrphans));
}

TEST_F(CommandsTest, OperationsAreListedAndCut) {
  const Uuid failed = FreshId();
  const Uuid pending = FreshId();
  catalog::OperationRecord record{.kind = catalog::OperationKind::kAppend, .names = {"a.t"}};
  record.result.error_code = "conflict";
  record.result.error_message = "no";
  lake_.service.operations.operations = {{.id = failed, .finished = record},
                                         {.id = pending, .pending = catalog::PendingRecord{}}};
  const std::string text = MustRun(OperationsList{.limit = 10});
  EXPECT_THAT(text, HasSubstr(failed.ToString()));
  EXPECT_THAT(text, HasSubstr("failed"));
  EXPECT_THAT(text, HasSubstr("pending"));
  const boost::json::value json = MustRunJson(OperationsList{.limit = 1});
  EXPECT_EQ(json.at("operations").as_array().size(), 1U);
  EXPECT_TRUE(json.at("more").as_bool());
  const boost::json::value first = json.at("operations").at(0);
  EXPECT_EQ(first.at("state").as_string(), "failed");
  EXPECT_EQ(first.at("error").at("code").as_string(), "conflict");
  EXPECT_THAT(MustRun(OperationsList{.limit = 1}), HasSubstr("--limit"));
}

TEST_F(CommandsTest, AnOperationOfWhichThereIsNoRecordIsExplained) {
  EXPECT_THAT(MustFail(OperationsShow{.operation = FreshId()}).next, HasSubstr("eight days"));
}

TEST_F(CommandsTest, TableLikeAFileTakesItsColumns) {
  MustRun(NamespaceCreate{.ns = kTable.ns});
  const TableCreate command{
      .name = kTable,
      .like = InputArgument{.path = WriteInput("x.csv", "a\n1\n"), .format = InputFormat::kCsv}};
  EXPECT_THAT(MustRun(command), StartsWith("created table=a.t"));
  lake_.connects.clear();
  TableCreate missing = command;
  missing.like->path = dir_.Join("gone.csv");
  EXPECT_EQ(MustFail(missing).error.code(), ErrorCode::kNotFound);
  EXPECT_THAT(lake_.connects, IsEmpty());
}

TEST_F(CommandsTest, ALakeThatCannotBeOpenedIsExplained) {
  lake_.connect_error = Error(ErrorCode::kNotFound, "data directory /data does not exist");
  EXPECT_THAT(MustFail(StatusCommand{}).next, HasSubstr("lake --data-dir /data namespace create"));
  lake_.connect_error = Error(ErrorCode::kUnimplemented, "it has a newer format");
  EXPECT_THAT(MustFail(TableList{}).next, HasSubstr("newer"));
  lake_.connect_error = Error(ErrorCode::kInvalidArgument, "it is not Lake's");
  EXPECT_THAT(MustFail(Check{}).next, HasSubstr("--data-dir"));
}

TEST_F(CommandsTest, AResultThatCannotBeWrittenIsAFailure) {
  lake_.out.FailFromNowOn();
  EXPECT_EQ(MustFail(Version{}).exit_code, ExitCode::kFailed);
  EXPECT_EQ(MustFail(NamespaceList{}).exit_code, ExitCode::kFailed);
}

TEST_F(CommandsTest, AChangeWhoseAnswerCannotBeWrittenIsNotReportedAsFailed) {
  MakeTable();
  const Append append = AppendOf(WriteInput("x.csv", "a\n1\n"));
  lake_.out.FailFromNowOn();
  for (const Command& command :
       {Command(append), Command(NamespaceCreate{.ns = {{"n"}}}),
        Command(NamespaceDrop{.ns = {{"n"}}}), Command(TableDrop{.name = kTable})}) {
    const Failure failure = MustFail(command);
    EXPECT_EQ(failure.exit_code, ExitCode::kOutcomeUnknown);
    EXPECT_THAT(failure.error.message(), StartsWith("the change was made"));
    EXPECT_THAT(failure.next, HasSubstr(lake_.service.last_change.operation.ToString()));
  }
}

TEST(PrintFailure, SaysWhatAndWhatNext) {
  StringOutput err;
  PrintFailure(Failure(Error(ErrorCode::kNotFound, "line one\nline\x1Btwo"), "do this"), err);
  EXPECT_EQ(err.text(), "lake: line one\nline\\x1Btwo\nnext: do this\n");
  StringOutput plain;
  PrintFailure(Failure(Error(ErrorCode::kNotFound, "gone")), plain);
  EXPECT_EQ(plain.text(), "lake: gone\n");
}

}  // namespace
}  // namespace lake::cli
