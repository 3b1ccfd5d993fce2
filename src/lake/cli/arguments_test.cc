#include "lake/cli/arguments.h"

#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "lake/testing/matchers.h"

namespace lake::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Invocation MustParse(const std::vector<std::string>& arguments,
                     std::string_view environment_data_dir = "") {
  auto parsed = ParseArguments(arguments, environment_data_dir);
  if (!parsed.has_value() || !std::holds_alternative<Invocation>(*parsed)) {
    ADD_FAILURE() << (parsed.has_value() ? "help" : parsed.error().error.ToString());
    return {};
  }
  return std::get<Invocation>(*parsed);
}

template <typename T>
T MustParseAs(const std::vector<std::string>& arguments) {
  const Invocation invocation = MustParse(arguments);
  const T* command = std::get_if<T>(&invocation.command);
  EXPECT_NE(command, nullptr);
  return command == nullptr ? T{} : *command;
}

std::string Refusal(const std::vector<std::string>& arguments) {
  const auto parsed = ParseArguments(arguments, "");
  if (parsed.has_value()) {
    ADD_FAILURE() << "accepted";
    return "";
  }
  EXPECT_EQ(parsed.error().exit_code, ExitCode::kUsage);
  return parsed.error().error.message() + "\nnext: " + parsed.error().next;
}

std::string Help(const std::vector<std::string>& arguments) {
  const auto parsed = ParseArguments(arguments, "");
  if (!parsed.has_value() || !std::holds_alternative<HelpText>(*parsed)) {
    ADD_FAILURE() << "no help";
    return "";
  }
  return std::get<HelpText>(*parsed).text;
}

const std::vector<std::vector<std::string>> kCommands = {
    {"namespace", "create"},
    {"namespace", "list"},
    {"namespace", "show"},
    {"namespace", "drop"},
    {"table", "create"},
    {"table", "list"},
    {"table", "show"},
    {"table", "history"},
    {"table", "register"},
    {"table", "expire"},
    {"table", "orphans"},
    {"table", "drop"},
    {"table", "undrop"},
    {"append"},
    {"sql"},
    {"status"},
    {"check"},
    {"maintain"},
    {"operations", "list"},
    {"operations", "show"},
    {"version"},
    {"demo"},
};

TEST(Arguments, EveryCommandsHelpShowsAnExample) {
  EXPECT_THAT(Help({"--help"}), HasSubstr("Examples:\n  lake "));
  EXPECT_THAT(Help({"table", "--help"}), HasSubstr("Example:\n  lake table "));
  EXPECT_THAT(Help({"namespace", "--help"}), HasSubstr("Example:\n  lake namespace "));
  for (std::vector<std::string> command : kCommands) {
    std::string words = "lake";
    for (const std::string& word : command) {
      words += " " + word;
    }
    command.emplace_back("--help");
    const std::string help = Help(command);
    EXPECT_THAT(help, HasSubstr("Usage: " + words)) << words;
    EXPECT_TRUE(help.find("Example:\n  ") != std::string::npos ||
                help.find("Examples:\n  ") != std::string::npos)
        << help;
    EXPECT_THAT(help.substr(help.find("Example")), HasSubstr(words)) << help;
    EXPECT_THAT(help, HasSubstr("--data-dir")) << words;
  }
}

TEST(Arguments, GlobalOptionsMayStandAnywhere) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--data-dir", "/d", "--wait", "3", "table", "list", "--json"},
           {"table", "--data-dir=/d", "--wait=3", "list", "--json"},
           {"table", "list", "--json", "--wait", "3", "--data-dir", "/d"},
       }) {
    const Invocation invocation = MustParse(arguments);
    EXPECT_EQ(invocation.global.data_dir, "/d");
    EXPECT_EQ(invocation.global.wait, std::chrono::seconds(3));
    EXPECT_TRUE(invocation.global.json);
    EXPECT_TRUE(std::holds_alternative<TableList>(invocation.command));
  }
}

TEST(Arguments, TheDataDirectoryComesFromTheLineThenTheEnvironmentThenTheDefault) {
  EXPECT_EQ(MustParse({"status"}).global.data_dir, "./lake-data");
  EXPECT_EQ(MustParse({"status"}, "/from/env").global.data_dir, "/from/env");
  EXPECT_EQ(MustParse({"--data-dir", "/from/line", "status"}, "/from/env").global.data_dir,
            "/from/line");
  EXPECT_EQ(MustParse({"status", "--data-dir", "/from/line"}, "/from/env").global.data_dir,
            "/from/line");
}

TEST(Arguments, NamesThatAreCommandsAreStillNames) {
  EXPECT_THAT(MustParseAs<NamespaceCreate>({"namespace", "create", "table"}).ns.levels,
              ElementsAre("table"));
  EXPECT_THAT(MustParseAs<NamespaceShow>({"namespace", "show", "list"}).ns.levels,
              ElementsAre("list"));
  EXPECT_EQ(MustParseAs<Append>({"append", "a.b", "status", "--format", "csv"}).inputs.at(0).path,
            "status");
}

TEST(Arguments, NamespaceCreateReadsProperties) {
  const auto command = MustParseAs<NamespaceCreate>(
      {"namespace", "create", "a.\"b.c\"", "--property", "k=v=w", "--property", "e="});
  EXPECT_THAT(command.ns.levels, ElementsAre("a", "b.c"));
  EXPECT_THAT(command.properties, ElementsAre(Pair("e", ""), Pair("k", "v=w")));
  EXPECT_FALSE(command.operation.has_value());
}

TEST(Arguments, BrokenPropertiesAreUsageErrors) {
  EXPECT_THAT(Refusal({"namespace", "create", "a", "--property", "novalue"}),
              HasSubstr("'novalue'"));
  EXPECT_THAT(Refusal({"namespace", "create", "a", "--property", "=v"}), HasSubstr("key=value"));
  EXPECT_THAT(Refusal({"namespace", "create", "a", "--property", "k=1", "--property", "k=2"}),
              HasSubstr("twice"));
}

TEST(Arguments, BadNamesAreUsageErrors) {
  for (const char* name : {"", ".", "..", "a..b", "a.", ".a", "a.\"b", "a\n", "\"\""}) {
    EXPECT_EQ(ParseArguments({"namespace", "show", name}, "").error().exit_code, ExitCode::kUsage)
        << name;
  }
  EXPECT_THAT(Refusal({"table", "show", "nodot"}), HasSubstr("NAMESPACE.TABLE"));
}

TEST(Arguments, TableCreateTakesColumnsOrAFile) {
  const auto by_columns = MustParseAs<TableCreate>(
      {"table", "create", "a.b", "--column", "id long required", "--column", "n string"});
  ASSERT_TRUE(by_columns.schema.has_value());
  EXPECT_EQ(by_columns.schema->fields().size(), 2);
  const auto by_file = MustParseAs<TableCreate>({"table", "create", "a.b", "--like", "x.CSV"});
  ASSERT_TRUE(by_file.like.has_value());
  EXPECT_EQ(by_file.like->format, engine::InputFormat::kCsv);
  EXPECT_THAT(Refusal({"table", "create", "a.b"}), HasSubstr("--column"));
  EXPECT_THAT(Refusal({"table", "create", "a.b", "--column", "a int", "--like", "x.csv"}),
              HasSubstr("exclude"));
  EXPECT_THAT(Refusal({"table", "create", "a.b", "--column", "a jsonb"}),
              AllOf(HasSubstr("'jsonb'"), HasSubstr("timestamptz")));
}

TEST(Arguments, AppendFindsTheFormatByExtensionOrIsTold) {
  const auto command =
      MustParseAs<Append>({"append", "a.b", "x.parquet", "y.csv.gz", "z.jsonl", "--create"});
  ASSERT_EQ(command.inputs.size(), 3);
  EXPECT_EQ(command.inputs[0].format, engine::InputFormat::kParquet);
  EXPECT_EQ(command.inputs[1].format, engine::InputFormat::kCsv);
  EXPECT_EQ(command.inputs[2].format, engine::InputFormat::kJson);
  EXPECT_TRUE(command.create);
  const auto from_stdin = MustParseAs<Append>({"append", "a.b", "-", "--format", "json"});
  EXPECT_EQ(from_stdin.inputs.at(0).path, kStandardInput);
  EXPECT_EQ(from_stdin.inputs.at(0).format, engine::InputFormat::kJson);
  EXPECT_THAT(Refusal({"append", "a.b", "-"}),
              AllOf(HasSubstr("standard input"), HasSubstr("--format")));
  EXPECT_THAT(Refusal({"append", "a.b", "x.txt"}), HasSubstr("'x.txt'"));
  EXPECT_THAT(Refusal({"append", "a.b", "-", "-", "--format", "csv"}), HasSubstr("only once"));
  EXPECT_THAT(Refusal({"append", "a.b", "x", "--format", "xml"}), HasSubstr("xml"));
  EXPECT_THAT(Refusal({"append", "a.b"}), HasSubstr("FILE"));
}

TEST(Arguments, AnOperationIdIsAVersion7Uuid) {
  const auto command = MustParseAs<Append>(
      {"append", "a.b", "x.csv", "--operation-id", "0190C7B0-0000-7000-8000-000000000001"});
  ASSERT_TRUE(command.operation.has_value());
  EXPECT_EQ(command.operation->ToString(), "0190c7b0-0000-7000-8000-000000000001");
  EXPECT_THAT(
      Refusal({"append", "a.b", "x.csv", "--operation-id", "0190c7b0-0000-4000-8000-000000000001"}),
      AllOf(HasSubstr("version 4"), HasSubstr("version 7")));
  EXPECT_THAT(Refusal({"append", "a.b", "x.csv", "--operation-id", "17"}),
              HasSubstr("not a UUID: '17'"));
}

TEST(Arguments, SqlOutputTakesAFileWithParquet) {
  const auto table = MustParseAs<Sql>({"sql", "select 1"});
  EXPECT_EQ(table.text, "select 1");
  EXPECT_EQ(table.format, ResultFormat::kTable);
  const auto csv = MustParseAs<Sql>({"sql", "--output", "csv", "select 1"});
  EXPECT_EQ(csv.text, "select 1");
  EXPECT_EQ(csv.format, ResultFormat::kCsv);
  EXPECT_EQ(csv.file, "");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"sql", "--output", "parquet", "f.parquet", "select 1"},
           {"sql", "select 1", "--output", "parquet", "f.parquet"},
           {"sql", "select 1", "--output=parquet", "f.parquet"},
           {"sql", "select 1", "--output=parquet", "--file", "f.parquet"},
       }) {
    const auto parquet = MustParseAs<Sql>(arguments);
    EXPECT_EQ(parquet.text, "select 1");
    EXPECT_EQ(parquet.format, ResultFormat::kParquet);
    EXPECT_EQ(parquet.file, "f.parquet");
  }
  EXPECT_THAT(Refusal({"sql", "select 1", "--output", "parquet"}), HasSubstr("wants a file"));
  EXPECT_THAT(Refusal({"sql", "--output", "parquet", "select 1"}), HasSubstr("with a statement"));
  EXPECT_THAT(Refusal({"sql", "select 1", "--output", "xml"}), HasSubstr("'xml'"));
  EXPECT_FALSE(MustParseAs<Sql>({"sql"}).text.has_value());
  EXPECT_EQ(MustParseAs<Sql>({"sql", ""}).text, "");
}

TEST(Arguments, AnUnquotedStatementIsExplained) {
  EXPECT_THAT(Refusal({"sql", "select", "1"}), AllOf(HasSubstr("'1'"), HasSubstr("quotes")));
}

TEST(Arguments, WhatIsNotKnownIsNamed) {
  EXPECT_THAT(Refusal({}), HasSubstr("wants a command"));
  EXPECT_THAT(Refusal({"tabel"}), HasSubstr("no command 'tabel'"));
  EXPECT_THAT(Refusal({"table"}), HasSubstr("'lake table' wants a command"));
  EXPECT_THAT(Refusal({"table", "lst"}),
              AllOf(HasSubstr("no command 'lst'"), HasSubstr("lake table --help")));
  EXPECT_THAT(Refusal({"status", "--verbose"}),
              AllOf(HasSubstr("--verbose"), HasSubstr("lake status --help")));
  EXPECT_THAT(Refusal({"status", "--wait", "soon"}), HasSubstr("--wait"));
  EXPECT_THAT(Refusal({"status", "--wait", "-1"}), HasSubstr("--wait"));
}

TEST(Arguments, PropertiesToSetAndUnsetAreRead) {
  const NamespaceSet ns = MustParseAs<NamespaceSet>(
      {"namespace", "set", "a", "--property", "k=v=w", "--unset", "x", "--unset", "y"});
  EXPECT_EQ(ns.properties.at("k"), "v=w");
  EXPECT_THAT(ns.unset, ElementsAre("x", "y"));
  const TableSet table = MustParseAs<TableSet>({"table", "set", "a.t", "--unset", "x"});
  EXPECT_EQ(table.name.ToString(), "a.t");
  EXPECT_TRUE(table.properties.empty());
  EXPECT_THAT(Refusal({"table", "set", "a.t"}), HasSubstr("--unset KEY"));
  EXPECT_THAT(Refusal({"table", "set", "a.t", "--property", "k=v", "--unset", "k"}),
              HasSubstr("also set"));
}

TEST(Arguments, TheRestOfTheCommandsAreRead) {
  EXPECT_THAT(MustParseAs<NamespaceList>({"namespace", "list"}).parent.levels, ElementsAre());
  EXPECT_THAT(MustParseAs<NamespaceList>({"namespace", "list", "a.b"}).parent.levels,
              ElementsAre("a", "b"));
  EXPECT_EQ(MustParseAs<NamespaceDrop>({"namespace", "drop", "a"}).ns.ToString(), "a");
  EXPECT_FALSE(MustParseAs<TableList>({"table", "list"}).ns.has_value());
  EXPECT_EQ(MustParseAs<TableHistory>({"table", "history", "a.b"}).name.ToString(), "a.b");
  EXPECT_EQ(MustParseAs<TableRegister>({"table", "register", "a.b", "/m.json"}).metadata_location,
            "/m.json");
  EXPECT_EQ(MustParseAs<TableRename>({"table", "rename", "a.b", "c.d"}).to.ToString(), "c.d");
  EXPECT_THAT(Refusal({"table", "rename", "a.b", "c"}), HasSubstr("NAMESPACE.TABLE"));
  EXPECT_TRUE(MustParseAs<TableDrop>({"table", "drop", "a.b", "--purge"}).purge);
  EXPECT_FALSE(MustParseAs<TableDrop>({"table", "drop", "a.b"}).purge);
  EXPECT_TRUE(MustParseAs<TableList>({"table", "list", "--dropped"}).dropped);
  EXPECT_FALSE(MustParseAs<TableUndrop>({"table", "undrop", "a.b"}).incarnation.has_value());
  const std::string uuid = "0198c5f0-6a1e-8b2a-9d3c-2f6f1c1c7a11";
  EXPECT_EQ(MustParseAs<TableUndrop>({"table", "undrop", "a.b", "--incarnation", uuid})
                .incarnation->ToString(),
            uuid);
  EXPECT_EQ(MustParseAs<Check>({"check", "a.b"}).name->ToString(), "a.b");
  EXPECT_FALSE(MustParseAs<Maintain>({"maintain"}).what.name.has_value());
  EXPECT_TRUE(MustParseAs<Maintain>({"maintain", "a.b", "--dry-run"}).what.dry_run);
  EXPECT_EQ(MustParseAs<TableExpire>({"table", "expire", "a.b"}).what.name->ToString(), "a.b");
  const TableOrphans orphans = MustParseAs<TableOrphans>({"table", "orphans", "a.b"});
  EXPECT_FALSE(orphans.remove);
  EXPECT_EQ(orphans.older_than, std::chrono::hours(72));
  EXPECT_EQ(
      MustParseAs<TableOrphans>({"table", "orphans", "a.b", "--older-than", "36h", "--delete"})
          .older_than,
      std::chrono::hours(36));
  for (const char* age : {"", "3", "d", "23h", "0d", "1.5d", "3dd", "3m", " 3d", "999999d"}) {
    EXPECT_THAT(Refusal({"table", "orphans", "a.b", "--older-than", age}), HasSubstr("older-than"));
  }
  EXPECT_EQ(MustParseAs<OperationsList>({"operations", "list"}).limit, 20U);
  EXPECT_EQ(MustParseAs<OperationsList>({"operations", "list", "--limit", "5"}).limit, 5U);
  EXPECT_EQ(
      MustParseAs<OperationsShow>({"operations", "show", "01890a5d-ac96-774b-bcce-b302099a8057"})
          .operation.ToString(),
      "01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(MustParseAs<Demo>({"demo", "--data", "f"}).data, "f");
  MustParseAs<Version>({"version"});
  EXPECT_THAT(Help({"--version"}), HasSubstr("lake "));
}

}  // namespace
}  // namespace lake::cli
