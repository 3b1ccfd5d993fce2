#include "lake/cli/arguments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/cli/column.h"
#include "lake/cli/text.h"
#include "lake/cli/version.h"
#include "lake/metasrv/service.h"

namespace lake::cli {
namespace {

template <typename T>
using Parsed = std::expected<T, Failure>;

constexpr std::string_view kDefaultDataDir = "./lake-data";
constexpr std::uint32_t kDefaultWaitSeconds = 10;
constexpr std::uint32_t kWaitSecondsMax = 24 * 60 * 60;
constexpr std::size_t kDefaultOperations = 20;

// What CLI11 fills in; every command uses a few of them.
struct Raw {
  std::string data_dir;
  std::uint32_t wait_seconds = kDefaultWaitSeconds;
  bool json = false;
  std::string name;
  std::string new_name;
  std::vector<std::string> properties;
  std::vector<std::string> unset;
  std::vector<std::string> columns;
  std::vector<std::string> files;
  std::string like;
  std::string format;
  std::string operation;
  std::string metadata_location;
  std::string statement;
  std::string output = "table";
  std::string output_file;
  std::string data;
  bool create = false;
  bool purge = false;
  bool dropped = false;
  std::string incarnation;
  bool has_statement = false;
  bool dry_run = false;
  std::string older_than = "3d";
  bool remove = false;
  std::size_t limit = kDefaultOperations;
};

template <typename T>
Parsed<T> AsUsage(Result<T> result, std::string next) {
  if (result.has_value()) {
    return *std::move(result);
  }
  return UsageError(result.error().message(), std::move(next));
}

Parsed<catalog::Namespace> ReadNamespace(const std::string& text) {
  return AsUsage(catalog::ParseNamespace(text),
                 "levels are separated by dots and may be quoted, as in sales or eu.\"2026.q1\"");
}

Parsed<catalog::TableName> ReadTableName(const std::string& text) {
  return AsUsage(catalog::ParseTableName(text),
                 "a table is written NAMESPACE.TABLE, as in sales.orders or eu.\"2026.q1\".orders");
}

// What is kept in metadata is text. Only a path to somebody else's file may be any bytes.
Parsed<std::string> ReadText(std::string_view what, const std::string& text) {
  if (!IsUtf8(text)) {
    return UsageError(fmt::format("{} '{}' is not UTF-8", what, text), "");
  }
  return text;
}

Parsed<Properties> ReadProperties(const std::vector<std::string>& arguments) {
  Properties properties;
  for (const std::string& argument : arguments) {
    LAKE_TRY_VOID(ReadText("--property", argument));
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError(fmt::format("--property '{}': expected key=value", argument),
                        "for example --property owner=ops");
    }
    if (!properties.emplace(argument.substr(0, equals), argument.substr(equals + 1)).second) {
      return UsageError(fmt::format("--property '{}': the key comes twice", argument), "");
    }
  }
  return properties;
}

Parsed<std::optional<Uuid>> ReadOperation(const std::string& text) {
  constexpr std::string_view kNext =
      "leave --operation-id out to have one made, or make a version 7 UUID for each new intent";
  if (text.empty()) {
    return std::nullopt;
  }
  const Result<Uuid> id = Uuid::Parse(text);
  if (!id.has_value()) {
    return UsageError(fmt::format("--operation-id: {}", id.error().message()), std::string(kNext));
  }
  if (id->version() != 7) {
    return UsageError(
        fmt::format("--operation-id {}: it is a version {} UUID, and an operation id is version 7",
                    text, id->version()),
        std::string(kNext));
  }
  return *id;
}

std::optional<engine::InputFormat> FormatNamed(std::string_view name) {
  if (name == "parquet") {
    return engine::InputFormat::kParquet;
  }
  if (name == "csv") {
    return engine::InputFormat::kCsv;
  }
  if (name == "json") {
    return engine::InputFormat::kJson;
  }
  return std::nullopt;
}

std::optional<engine::InputFormat> FormatByExtension(std::string_view path) {
  struct Extension {
    std::string_view suffix;
    engine::InputFormat format;
  };

  constexpr std::array kExtensions = std::to_array<Extension>({
      {".parquet", engine::InputFormat::kParquet},
      {".csv", engine::InputFormat::kCsv},
      {".csv.gz", engine::InputFormat::kCsv},
      {".tsv", engine::InputFormat::kCsv},
      {".json", engine::InputFormat::kJson},
      {".json.gz", engine::InputFormat::kJson},
      {".jsonl", engine::InputFormat::kJson},
      {".ndjson", engine::InputFormat::kJson},
  });
  std::string lower(path);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* found = std::ranges::find_if(
      kExtensions, [&](const Extension& extension) { return lower.ends_with(extension.suffix); });
  return found == kExtensions.end() ? std::nullopt : std::optional(found->format);
}

Parsed<InputArgument> ReadInput(const std::string& path, const std::string& format_name) {
  const std::optional<engine::InputFormat> format =
      format_name.empty() ? FormatByExtension(path) : FormatNamed(format_name);
  if (path.empty()) {
    return UsageError("a file's name is empty", "");
  }
  if (!format.has_value()) {
    const std::string what = path == kStandardInput ? "standard input" : fmt::format("'{}'", path);
    return UsageError(fmt::format("the format of {} is not known from its name", what),
                      "say --format parquet, csv or json");
  }
  return InputArgument{.path = path, .format = *format};
}

Parsed<Command> BuildNamespaceCreate(const Raw& raw) {
  LAKE_TRY(catalog::Namespace ns, ReadNamespace(raw.name));
  LAKE_TRY(Properties properties, ReadProperties(raw.properties));
  LAKE_TRY(const std::optional<Uuid> operation, ReadOperation(raw.operation));
  return NamespaceCreate{
      .ns = std::move(ns), .properties = std::move(properties), .operation = operation};
}

Parsed<Command> BuildNamespaceList(const Raw& raw) {
  NamespaceList command;
  if (!raw.name.empty()) {
    LAKE_TRY(command.parent, ReadNamespace(raw.name));
  }
  return command;
}

Parsed<Command> BuildNamespaceShow(const Raw& raw) {
  LAKE_TRY(catalog::Namespace ns, ReadNamespace(raw.name));
  return NamespaceShow{.ns = std::move(ns)};
}

// What is to be set and unset: at least one property, and none both ways.
struct PropertyChanges {
  Properties set;
  std::set<std::string> unset;
};

Parsed<PropertyChanges> ReadPropertyChanges(const Raw& raw) {
  PropertyChanges changes;
  LAKE_TRY(changes.set, ReadProperties(raw.properties));
  for (const std::string& key : raw.unset) {
    LAKE_TRY_VOID(ReadText("--unset", key));
    if (changes.set.contains(key)) {
      return UsageError(fmt::format("--unset '{}': the key is also set", key), "");
    }
    changes.unset.insert(key);
  }
  if (changes.set.empty() && changes.unset.empty()) {
    return UsageError("there is nothing to set",
                      "say --property KEY=VALUE or --unset KEY, as often as you like");
  }
  return changes;
}

Parsed<Command> BuildNamespaceSet(const Raw& raw) {
  LAKE_TRY(catalog::Namespace ns, ReadNamespace(raw.name));
  LAKE_TRY(PropertyChanges changes, ReadPropertyChanges(raw));
  LAKE_TRY(const std::optional<Uuid> operation, ReadOperation(raw.operation));
  return NamespaceSet{.ns = std::move(ns),
                      .properties = std::move(changes.set),
                      .unset = std::move(changes.unset),
                      .operation = operation};
}

Parsed<Command> BuildNamespaceDrop(const Raw& raw) {
  LAKE_TRY(catalog::Namespace ns, ReadNamespace(raw.name));
  LAKE_TRY(const std::optional<Uuid> operation, ReadOperation(raw.operation));
  return NamespaceDrop{.ns = std::move(ns), .operation = operation};
}

Parsed<Command> BuildTableCreate(const Raw& raw) {
  constexpr std::string_view kNext =
      "give the columns with --column 'name type [required]', or a file that has them with --like "
      "FILE";
  TableCreate command;
  LAKE_TRY(command.name, ReadTableName(raw.name));
  LAKE_TRY(command.properties, ReadProperties(raw.properties));
  LAKE_TRY(command.operation, ReadOperation(raw.operation));
  if (raw.columns.empty() == raw.like.empty()) {
    return UsageError(
        raw.like.empty() ? "a table needs columns" : "--column and --like exclude each other",
        std::string(kNext));
  }
  if (!raw.like.empty()) {
    LAKE_TRY(command.like, ReadInput(raw.like, raw.format));
    return command;
  }
  for (const std::string& column : raw.columns) {
    LAKE_TRY_VOID(ReadText("--column", column));
  }
  LAKE_TRY(command.schema,
           AsUsage(ParseColumns(raw.columns),
                   "a column is written 'name type [required]', as in 'id long required'"));
  return command;
}

Parsed<Command> BuildTableList(const Raw& raw) {
  TableList command;
  if (!raw.name.empty()) {
    LAKE_TRY(command.ns, ReadNamespace(raw.name));
  }
  command.dropped = raw.dropped;
  return command;
}

Parsed<Command> BuildTableShow(const Raw& raw) {
  LAKE_TRY(catalog::TableName name, ReadTableName(raw.name));
  return TableShow{.name = std::move(name)};
}

Parsed<Command> BuildTableHistory(const Raw& raw) {
  LAKE_TRY(catalog::TableName name, ReadTableName(raw.name));
  return TableHistory{.name = std::move(name)};
}

Parsed<Command> BuildTableRename(const Raw& raw) {
  LAKE_TRY(catalog::TableName from, ReadTableName(raw.name));
  LAKE_TRY(catalog::TableName to, ReadTableName(raw.new_name));
  LAKE_TRY(const std::optional<Uuid> operation, ReadOperation(raw.operation));
  return TableRename{.from = std::move(from), .to = std::move(to), .operation = operation};
}

Parsed<Command> BuildTableSet(const Raw& raw) {
  LAKE_TRY(catalog::TableName name, ReadTableName(raw.name));
  LAKE_TRY(PropertyChanges changes, ReadPropertyChanges(raw));
  LAKE_TRY(const std::optional<Uuid> operation, ReadOperation(raw.operation));
  return TableSet{.name = std::move(name),
                  .properties = std::move(changes.set),
                  .unset = std::move(changes.unset),
                  .operation = operation};
}

Parsed<Command> BuildTableRegister(const Raw& raw) {
  LAKE_TRY(catalog::TableName name, ReadTableName(raw.name));
  LAKE_TRY(const std::optional<Uuid> operation, ReadOperation(raw.operation));
  LAKE_TRY(std::string location, ReadText("the metadata file", raw.metadata_location));
  return TableRegister{
      .name = std::move(name), .metadata_location = std::move(location), .operation = operation};
}

Parsed<Command> BuildTableDrop(const Raw& raw) {
  LAKE_TRY(catalog::TableName name, ReadTableName(raw.name));
  LAKE_TRY(const std::optional<Uuid> operation, ReadOperation(raw.operation));
  return TableDrop{.name = std::move(name), .purge = raw.purge, .operation = operation};
}

Parsed<Command> BuildTableUndrop(const Raw& raw) {
  TableUndrop command;
  LAKE_TRY(command.name, ReadTableName(raw.name));
  LAKE_TRY(command.operation, ReadOperation(raw.operation));
  if (!raw.incarnation.empty()) {
    LAKE_TRY(command.incarnation,
             AsUsage(Uuid::Parse(raw.incarnation),
                     "lake table list --dropped shows the UUIDs of dropped tables"));
  }
  return command;
}

Parsed<Command> BuildAppend(const Raw& raw) {
  Append command;
  LAKE_TRY(command.name, ReadTableName(raw.name));
  LAKE_TRY(command.operation, ReadOperation(raw.operation));
  command.create = raw.create;
  for (const std::string& path : raw.files) {
    LAKE_TRY(InputArgument input, ReadInput(path, raw.format));
    command.inputs.push_back(std::move(input));
  }
  if (std::ranges::count(raw.files, kStandardInput) > 1) {
    return UsageError("standard input can be read only once", "");
  }
  return command;
}

Parsed<Command> BuildSql(const Raw& raw) {
  Sql command;
  if (raw.has_statement) {
    LAKE_TRY(command.text, ReadText("the statement", raw.statement));
  }
  command.file = raw.output_file;
  if (raw.output == "table") {
    command.format = ResultFormat::kTable;
  } else if (raw.output == "csv") {
    command.format = ResultFormat::kCsv;
  } else if (raw.output == "json") {
    command.format = ResultFormat::kJson;
  } else if (raw.output == "parquet") {
    command.format = ResultFormat::kParquet;
  } else {
    return UsageError(fmt::format("--output '{}': there is no such form", raw.output),
                      "there are table, csv, json and parquet FILE");
  }
  if (command.format == ResultFormat::kParquet && command.file.empty()) {
    return UsageError("--output parquet wants a file",
                      "for example --output parquet result.parquet");
  }
  if (!command.file.empty() && !command.text.has_value()) {
    return UsageError("a result goes to a file only with a statement on the command line",
                      "for example lake sql \"select …\" --output parquet result.parquet");
  }
  return command;
}

Parsed<Command> BuildStatus(const Raw&) {
  return StatusCommand{};
}

Parsed<Command> BuildCheck(const Raw& raw) {
  Check command;
  if (!raw.name.empty()) {
    LAKE_TRY(command.name, ReadTableName(raw.name));
  }
  return command;
}

Parsed<MaintenanceArguments> ReadMaintenance(const Raw& raw) {
  MaintenanceArguments what{.dry_run = raw.dry_run};
  if (!raw.name.empty()) {
    LAKE_TRY(what.name, ReadTableName(raw.name));
  }
  return what;
}

Parsed<Command> BuildMaintain(const Raw& raw) {
  LAKE_TRY(MaintenanceArguments what, ReadMaintenance(raw));
  return Maintain{.what = std::move(what)};
}

Parsed<Command> BuildTableExpire(const Raw& raw) {
  LAKE_TRY(MaintenanceArguments what, ReadMaintenance(raw));
  return TableExpire{.what = std::move(what)};
}

// Reads a number of days or hours, such as 3d.
Parsed<Duration> ReadAge(const std::string& text) {
  constexpr std::uint32_t kAgeMax = 100'000;
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number > kAgeMax || unit + 1 != end ||
      (*unit != 'd' && *unit != 'h')) {
    return UsageError(fmt::format("--older-than '{}': not a number of days or hours", text),
                      "for example --older-than 7d, or --older-than 36h");
  }
  const Duration age = std::chrono::hours(*unit == 'd' ? 24 * std::int64_t{number} : number);
  if (age < metasrv::kOrphanAgeMin) {
    return UsageError(fmt::format("--older-than '{}': less than 24h", text),
                      "younger files may be those of an append that is not published yet");
  }
  return age;
}

Parsed<Command> BuildTableOrphans(const Raw& raw) {
  TableOrphans command{.remove = raw.remove};
  LAKE_TRY(command.name, ReadTableName(raw.name));
  LAKE_TRY(command.older_than, ReadAge(raw.older_than));
  return command;
}

Parsed<Command> BuildOperationsList(const Raw& raw) {
  return OperationsList{.limit = raw.limit};
}

Parsed<Command> BuildOperationsShow(const Raw& raw) {
  constexpr const char* kNext = "lake operations list shows the ids there are";
  LAKE_TRY(const Uuid id, AsUsage(Uuid::Parse(raw.operation), kNext));
  if (id.version() != 7) {
    return UsageError(fmt::format("{}: not a version 7 UUID", raw.operation), kNext);
  }
  return OperationsShow{.operation = id};
}

Parsed<Command> BuildVersion(const Raw&) {
  return Version{};
}

Parsed<Command> BuildDemo(const Raw& raw) {
  return Demo{.data = raw.data};
}

// "--output parquet FILE" is the one option whose number of values depends on the first: it becomes
// "--output parquet --file FILE".
std::vector<std::string> ExpandOutput(const std::vector<std::string>& arguments) {
  std::vector<std::string> expanded;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    expanded.push_back(arguments[i]);
    const bool joined = arguments[i] == "--output=parquet";
    const bool apart = arguments[i] == "parquet" && i > 0 && arguments[i - 1] == "--output";
    const bool has_file = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--");
    if ((joined || apart) && has_file) {
      expanded.push_back("--file=" + arguments[++i]);
    }
  }
  return expanded;
}

std::string Uncapitalised(std::string text) {
  if (text.size() > 1 && std::isupper(static_cast<unsigned char>(text[0])) != 0 &&
      std::isupper(static_cast<unsigned char>(text[1])) == 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

// The commands as CLI11 knows them, and how each becomes a Command.
class Parser {
 public:
  explicit Parser(std::string default_data_dir)
      : app_("Lake keeps Iceberg tables: creates them, fills them from files and answers SQL.",
             "lake") {
    raw_.data_dir = std::move(default_data_dir);
    app_.footer(
        "Examples:\n"
        "  lake namespace create sales\n"
        "  lake append sales.orders orders.csv --create\n"
        "  lake sql \"select count(*) from sales.orders\"\n\n"
        "lake COMMAND --help shows more.");
    app_.set_help_flag("-h,--help", "Show this help");
    app_.set_version_flag("--version", fmt::format("lake {}", LakeVersion()), "Show the version");
    app_.require_subcommand(1);
    app_.get_formatter()->label("SUBCOMMAND", "COMMAND");
    app_.get_formatter()->label("Positionals", "Arguments");
    AddGlobals(app_);
    AddNamespaceCommands();
    AddTableCommands();
    AddDataCommands();
    AddMaintenanceCommands();
    AddOtherCommands();
  }

  std::expected<std::variant<Invocation, HelpText>, Failure> Parse(
      const std::vector<std::string>& arguments) {
    std::vector<std::string> reversed = ExpandOutput(arguments);
    std::ranges::reverse(reversed);
    try {
      app_.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
      return HelpText{Help()};
    } catch (const CLI::CallForVersion&) {
      return HelpText{fmt::format("lake {}\n", LakeVersion())};
    } catch (const CLI::ParseError& error) {
      return Refuse(error);
    }
    const auto leaf = std::ranges::find_if(
        leaves_, [](const Leaf& candidate) { return candidate.app->parsed(); });
    LAKE_TRY(Command command, leaf->build(raw_));
    return Invocation{.global = {.data_dir = raw_.data_dir,
                                 .wait = std::chrono::seconds(raw_.wait_seconds),
                                 .json = raw_.json},
                      .command = std::move(command)};
  }

 private:
  using Build = Parsed<Command> (*)(const Raw&);

  struct Leaf {
    CLI::App* app;
    Build build;
  };

  // Every command takes the global options too, so that they may stand anywhere on the line.
  void AddGlobals(CLI::App& app) {
    app.add_option(
           "--data-dir", raw_.data_dir,
           fmt::format("The data directory (default: $LAKE_DATA_DIR, or {})", kDefaultDataDir))
        ->type_name("DIR");
    app.add_option("--wait", raw_.wait_seconds,
                   fmt::format("How long to wait for another process that holds the data directory "
                               "(default {}, at most {})",
                               kDefaultWaitSeconds, kWaitSecondsMax))
        ->check(CLI::Range(std::uint32_t{0}, kWaitSecondsMax))
        ->type_name("SECONDS")
        ->option_text("SECONDS");
  }

  CLI::App& AddLeaf(CLI::App& parent, const std::string& name, const std::string& description,
                    Build build, const std::string& example) {
    CLI::App& leaf = *parent.add_subcommand(name, description)->group("Commands");
    leaf.set_help_flag("-h,--help", "Show this help");
    leaf.footer((example.find('\n') == std::string::npos ? "Example:\n  " : "Examples:\n  ") +
                example);
    AddGlobals(leaf);
    leaves_.push_back({.app = &leaf, .build = build});
    return leaf;
  }

  CLI::App& AddGroup(const std::string& name, const std::string& description,
                     const std::string& example) {
    CLI::App& group = *app_.add_subcommand(name, description)->group("Commands");
    group.set_help_flag("-h,--help", "Show this help");
    group.footer("Example:\n  " + example);
    group.require_subcommand(1);
    AddGlobals(group);
    return group;
  }

  void AddJson(CLI::App& app) { app.add_flag("--json", raw_.json, "Write the result as JSON"); }

  void AddName(CLI::App& app, const std::string& label, const std::string& description,
               bool required) {
    app.add_option(label, raw_.name, description)->required(required)->option_text(" ");
  }

  void AddProperties(CLI::App& app) {
    app.add_option("--property", raw_.properties, "A property to set; may be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("KEY=VALUE");
  }

  void AddUnset(CLI::App& app) {
    app.add_option("--unset", raw_.unset, "A property to remove; may be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("KEY");
  }

  void AddOperation(CLI::App& app) {
    app.add_option("--operation-id", raw_.operation,
                   "The identity of this change: repeating the command with the same id never does "
                   "it twice")
        ->type_name("UUIDv7");
  }

  void AddFormat(CLI::App& app) {
    app.add_option("--format", raw_.format,
                   "parquet, csv or json (default: by the file's extension)")
        ->check(CLI::IsMember({"parquet", "csv", "json"}))
        ->type_name("FORMAT")
        ->option_text("FORMAT");
  }

  void AddNamespaceCommands() {
    CLI::App& group = AddGroup("namespace", "Create, list, show, change and drop namespaces",
                               "lake namespace list");
    CLI::App& create = AddLeaf(
        group, "create", "Create a namespace", BuildNamespaceCreate,
        "lake namespace create sales --property owner=ops\n  lake namespace create sales.eu");
    AddName(create, "NS", "The namespace; dots separate levels", true);
    AddProperties(create);
    AddOperation(create);
    AddJson(create);
    CLI::App& list = AddLeaf(group, "list", "List namespaces, at every depth", BuildNamespaceList,
                             "lake namespace list sales");
    AddName(list, "NS", "Only those below this one", false);
    AddJson(list);
    CLI::App& show = AddLeaf(group, "show", "Show a namespace's properties", BuildNamespaceShow,
                             "lake namespace show sales");
    AddName(show, "NS", "The namespace", true);
    AddJson(show);
    CLI::App& set = AddLeaf(group, "set", "Change a namespace's properties", BuildNamespaceSet,
                            "lake namespace set sales --property owner=ops --unset contact");
    AddName(set, "NS", "The namespace", true);
    AddProperties(set);
    AddUnset(set);
    AddOperation(set);
    AddJson(set);
    CLI::App& drop = AddLeaf(group, "drop", "Drop an empty namespace", BuildNamespaceDrop,
                             "lake namespace drop sales.eu");
    AddName(drop, "NS", "The namespace", true);
    AddOperation(drop);
    AddJson(drop);
  }

  void AddTableCreate(CLI::App& group) {
    CLI::App& create = AddLeaf(
        group, "create", "Create a table", BuildTableCreate,
        "lake table create sales.orders --column 'id long required' --column 'price decimal(9,2)' "
        "--column 'tags list<string>'\n"
        "  lake table create sales.orders --like orders.csv");
    AddName(create, "NS.T", "The table", true);
    create
        .add_option("--column", raw_.columns,
                    "A column, as 'name type [required]'; may be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("COLUMN");
    create.add_option("--like", raw_.like, "Take the columns of this Parquet, CSV or JSON file")
        ->type_name("FILE");
    AddFormat(create);
    AddProperties(create);
    AddOperation(create);
    AddJson(create);
  }

  void AddDryRun(CLI::App& app) {
    app.add_flag("--dry-run", raw_.dry_run, "Say what would be done and change nothing");
  }

  void AddTableMaintenance(CLI::App& group) {
    CLI::App& expire =
        AddLeaf(group, "expire", "Give up a table's old snapshots and remove what only they reach",
                BuildTableExpire,
                "lake table expire sales.orders --dry-run\n  lake table expire sales.orders");
    AddName(expire, "NS.T", "The table", true);
    AddDryRun(expire);
    AddJson(expire);
    CLI::App& orphans = AddLeaf(
        group, "orphans", "Find a table's files that nothing needs, and remove them if asked to",
        BuildTableOrphans,
        "lake table orphans sales.orders\n"
        "  lake table orphans sales.orders --older-than 7d --delete");
    AddName(orphans, "NS.T", "The table", true);
    orphans
        .add_option("--older-than", raw_.older_than,
                    "Only files older than this, as 7d or 36h; at least 24h (default 3d)")
        ->type_name("DURATION")
        ->option_text("DURATION");
    orphans.add_flag("--delete", raw_.remove, "Remove them; without it they are only listed");
    AddJson(orphans);
  }

  void AddMaintenanceCommands() {
    CLI::App& maintain = AddLeaf(
        app_, "maintain", "Settle what is pending, forget old operations and expire old snapshots",
        BuildMaintain, "lake maintain --dry-run\n  lake maintain sales.orders --json");
    AddName(maintain, "NS.T", "Only this table", false);
    AddDryRun(maintain);
    AddJson(maintain);
    CLI::App& group =
        AddGroup("operations", "List operations, and show how one ended", "lake operations list");
    CLI::App& list =
        AddLeaf(group, "list", "List operations, pending and finished, the newest first",
                BuildOperationsList, "lake operations list --limit 100 --json");
    list.add_option("--limit", raw_.limit,
                    fmt::format("How many at most (default {})", kDefaultOperations))
        ->check(CLI::Range(std::size_t{1}, metasrv::kOperationsListMax))
        ->type_name("NUMBER")
        ->option_text("NUMBER");
    AddJson(list);
    CLI::App& show =
        AddLeaf(group, "show", "Show what is known of an operation", BuildOperationsShow,
                "lake operations show 0199a3c4-5d6e-7f80-9123-456789abcdef");
    show.add_option("ID", raw_.operation, "The operation's id")->required()->option_text(" ");
    AddJson(show);
  }

  void AddTableCommands() {
    CLI::App& group =
        AddGroup("table",
                 "Create, list, show, change, rename, register, tidy, drop and undrop "
                 "tables, and show their history",
                 "lake table show sales.orders");
    AddTableCreate(group);
    CLI::App& list = AddLeaf(group, "list", "List tables, or those that were dropped",
                             BuildTableList, "lake table list sales\n  lake table list --dropped");
    AddName(list, "NS", "Only those directly in this namespace", false);
    list.add_flag("--dropped", raw_.dropped, "The dropped tables that are not forgotten yet");
    AddJson(list);
    CLI::App& show = AddLeaf(group, "show", "Show a table's columns, place and size",
                             BuildTableShow, "lake table show sales.orders");
    AddName(show, "NS.T", "The table", true);
    AddJson(show);
    CLI::App& history = AddLeaf(group, "history", "Show a table's snapshots, oldest first",
                                BuildTableHistory, "lake table history sales.orders");
    AddName(history, "NS.T", "The table", true);
    AddJson(history);
    CLI::App& rename =
        AddLeaf(group, "rename", "Give a table another name, maybe in another namespace",
                BuildTableRename, "lake table rename sales.orders archive.orders_2026");
    AddName(rename, "NS.T", "The table", true);
    rename.add_option("NEW_NS.NEW_T", raw_.new_name, "Its new name")->required()->option_text(" ");
    AddOperation(rename);
    AddJson(rename);
    CLI::App& set =
        AddLeaf(group, "set", "Change a table's properties", BuildTableSet,
                "lake table set sales.orders --property write.metadata.previous-versions-max=20\n"
                "  lake table set sales.orders --unset comment");
    AddName(set, "NS.T", "The table", true);
    AddProperties(set);
    AddUnset(set);
    AddOperation(set);
    AddJson(set);
    CLI::App& reg =
        AddLeaf(group, "register", "Register a table that already has files, by its metadata file",
                BuildTableRegister,
                "lake table register sales.orders /data/orders/metadata/00003-ab12.metadata.json");
    AddName(reg, "NS.T", "The table", true);
    reg.add_option("METADATA", raw_.metadata_location, "The metadata file")
        ->required()
        ->option_text(" ");
    AddOperation(reg);
    AddJson(reg);
    AddTableMaintenance(group);
    CLI::App& drop = AddLeaf(group, "drop", "Drop a table; its files stay", BuildTableDrop,
                             "lake table drop sales.orders\n"
                             "  lake table drop sales.orders --purge");
    AddName(drop, "NS.T", "The table", true);
    drop.add_flag("--purge", raw_.purge, "Also delete the table's files, for good");
    AddOperation(drop);
    AddJson(drop);
    CLI::App& undrop = AddLeaf(
        group, "undrop", "Bring back a table that was dropped without --purge", BuildTableUndrop,
        "lake table undrop sales.orders\n"
        "  lake table undrop sales.orders --incarnation 0198c5f0-6a1e-8b2a-9d3c-2f6f1c1c7a11");
    AddName(undrop, "NS.T", "The table, by the name it was dropped under", true);
    undrop
        .add_option("--incarnation", raw_.incarnation,
                    "The UUID of the one meant, of several (default: dropped last)")
        ->type_name("UUID");
    AddOperation(undrop);
    AddJson(undrop);
  }

  void AddDataCommands() {
    CLI::App& append =
        AddLeaf(app_, "append", "Add the rows of files to a table, exactly once", BuildAppend,
                "lake append sales.orders january.csv february.csv --create\n"
                "  gunzip -c orders.json.gz | lake append sales.orders - --format json");
    AddName(append, "NS.T", "The table", true);
    append
        .add_option(
            "FILE", raw_.files,
            "Parquet, CSV or JSON files; - is standard input. CSV and JSON match by column name")
        ->required()
        ->option_text("...");
    append.add_flag("--create", raw_.create,
                    "Create the table from the first file's columns if it does not exist");
    AddFormat(append);
    AddOperation(append);
    AddJson(append);

    CLI::App& sql = AddLeaf(
        app_, "sql", "Run SQL; without a statement, start a prompt", BuildSql,
        "lake sql \"select carrier, count(*) from demo.flights group by 1 order by 2 desc\"\n"
        "  lake sql \"from sales.orders at (version => 1234567890)\" --output csv\n"
        "  lake sql \"from sales.orders\" --output parquet orders.parquet");
    sql.add_option("STATEMENT", raw_.statement, "One or more statements, separated by semicolons")
        ->each([this](const std::string&) { raw_.has_statement = true; })
        ->option_text(" ");
    sql.add_option("--output", raw_.output, "How to write results (default table)")
        ->type_name("table|csv|json|parquet FILE");
    sql.add_option("--file", raw_.output_file, "Write the result to this file")->type_name("FILE");
  }

  void AddOtherCommands() {
    AddJson(AddLeaf(app_, "status",
                    "Show the data directory's state: leader, epoch, pending operations",
                    BuildStatus, "lake status --json"));
    CLI::App& check = AddLeaf(app_, "check",
                              "Verify that every file a table reaches exists and that counts agree",
                              BuildCheck, "lake check\n  lake check sales.orders --json");
    AddName(check, "NS.T", "Only this table", false);
    AddJson(check);
    AddJson(AddLeaf(app_, "version", "Show the version", BuildVersion, "lake version"));
    CLI::App& demo = AddLeaf(
        app_, "demo", "Append three million flights with twelve processes, kill one, lose nothing",
        BuildDemo, "lake demo");
    demo.add_option("--data", raw_.data,
                    "The flights file (default: flights-3m.parquet where tools/setup puts it)")
        ->type_name("FILE");
  }

  // Returns the innermost command that was named, and the words that lead to it.
  std::pair<const CLI::App*, std::string> Innermost() const {
    const CLI::App* app = &app_;
    std::string path;
    for (std::vector<CLI::App*> inner = app_.get_subcommands(); !inner.empty();
         inner = app->get_subcommands()) {
      path += path.empty() ? app->get_name() : " " + app->get_name();
      app = inner.front();
    }
    return {app, path};
  }

  std::string Help() const {
    const auto [app, path] = Innermost();
    std::string text = app->help(path);
    // The library ends every option line that has no description of its value with a blank.
    text.erase(0, text.find_first_not_of('\n'));
    return text;
  }

  std::unexpected<Failure> Refuse(const CLI::ParseError& error) const {
    const auto [app, path] = Innermost();
    const std::string command = path.empty() ? app->get_name() : path + " " + app->get_name();
    std::string next = fmt::format("{} --help", command);
    const std::vector<std::string> extras = app_.remaining(true);
    const bool wants_command = app->get_require_subcommand_min() > 0;
    if (wants_command && !extras.empty() && !extras.front().starts_with("-")) {
      return UsageError(fmt::format("there is no command '{}'", extras.front()),
                        next + " lists the commands");
    }
    if (wants_command && extras.empty() && app->get_subcommands().empty() &&
        error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
      return UsageError(fmt::format("'{}' wants a command", command), next + " lists the commands");
    }
    if (app->get_name() == "sql" && !extras.empty()) {
      return UsageError(fmt::format("'{}' is too much", extras.front()),
                        "put the statement in quotes, as in lake sql \"select 1\"");
    }
    if (!extras.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
      return UsageError(fmt::format("'{}' is not known here", extras.front()),
                        next + " lists what is");
    }
    return UsageError(Uncapitalised(error.what()), next + " shows how it is used");
  }

  Raw raw_;
  CLI::App app_;
  std::vector<Leaf> leaves_;
};

}  // namespace

std::expected<std::variant<Invocation, HelpText>, Failure> ParseArguments(
    const std::vector<std::string>& arguments, std::string_view environment_data_dir) {
  return Parser(std::string(environment_data_dir.empty() ? kDefaultDataDir : environment_data_dir))
      .Parse(arguments);
}

}  // namespace lake::cli
