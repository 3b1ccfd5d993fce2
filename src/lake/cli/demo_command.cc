#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/uuid.h"
#include "lake/cli/commands.h"
#include "lake/cli/process.h"
#include "lake/cli/text.h"

// The main job on real input, done as a person would do it: with commands, each a process of its own. One of the twelve writers
// is killed between writing a version's files and publishing it. The demo proves that nothing is lost and nothing is there twice,
// by comparing with the source file, and fails if it is not so.
namespace lake::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSlices = 12;
// The slice whose writer is killed.
constexpr std::size_t kKilledSlice = 7;
constexpr std::string_view kKillPoint = "after-engine-commit";
constexpr std::string_view kTable = "demo.flights";
constexpr std::string_view kDataFile =
    "tools/npm/node_modules/vega-datasets/data/flights-3m.parquet";

template <typename T>
using Step = std::expected<T, Failure>;

std::unexpected<Failure> DemoFailed(std::string message, std::string next = "") {
  return Fail(Error(ErrorCode::kInternal, std::move(message)), std::move(next));
}

Result<std::string> OwnProgram() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) {
    return Unavailable("the running program cannot be found: " + failed.message());
  }
  return program.string();
}

Result<std::string> FindData(const std::string& named, const fs::path& program) {
  if (!named.empty()) {
    if (!fs::is_regular_file(named)) {
      return NotFound(fmt::format("{}: there is no such file", named));
    }
    return fs::absolute(named).lexically_normal().string();
  }
  // The program stands in build/<preset>/ of the source tree.
  for (const fs::path& root :
       {program.parent_path().parent_path().parent_path(), fs::current_path()}) {
    const fs::path candidate = root / kDataFile;
    if (fs::is_regular_file(candidate)) {
      return candidate.string();
    }
  }
  return NotFound(
      "the flights are not there: flights-3m.parquet was found neither beside the build folder nor "
      "in this one");
}

std::string SqlText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') {
      quoted += c;
    }
  }
  return quoted + "'";
}

// A directory for one run.
class DemoDir {
 public:
  static Result<DemoDir> Make() {
    std::error_code failed;
    fs::path parent = fs::temp_directory_path(failed);
    std::string path = (failed ? fs::path("/tmp") : parent) / "lake-demo-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return Unavailable(fmt::format("{}: cannot be made: {}", path, Reason(errno)));
    }
    return DemoDir(std::move(path));
  }

  ~DemoDir() {
    if (!path_.empty() && !kept_) {
      std::error_code ignored;  // What is left in the temporary directory hurts nobody.
      fs::remove_all(path_, ignored);
    }
  }

  DemoDir(const DemoDir&) = delete;
  DemoDir& operator=(const DemoDir&) = delete;

  DemoDir(DemoDir&& other) noexcept : path_(std::exchange(other.path_, "")), kept_(other.kept_) {}

  DemoDir& operator=(DemoDir&&) = delete;

  const std::string& path() const { return path_; }

  void Keep() { kept_ = true; }

 private:
  explicit DemoDir(std::string path) : path_(std::move(path)) {}

  std::string path_;
  bool kept_ = false;
};

struct Comparison {
  std::uint64_t rows = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
};

class DemoRun {
 public:
  DemoRun(Context& context, std::string program, std::string data, std::string dir)
      : context_(context),
        program_(std::move(program)),
        data_(std::move(data)),
        dir_(std::move(dir)),
        data_dir_(dir_ + "/lake-data") {}

  Outcome Run() {
    LAKE_TRY_VOID(Introduce());
    LAKE_TRY_VOID(CutSlices());
    LAKE_TRY_VOID(MakeTable());
    for (std::size_t slice = 1; slice <= kSlices; ++slice) {
      if (slice == kKilledSlice) {
        LAKE_TRY_VOID(KillAndRepeat(slice));
      } else {
        LAKE_TRY_VOID(AppendSlice(slice));
      }
    }
    LAKE_TRY_VOID(Query());
    LAKE_TRY(const Comparison comparison, Compare());
    LAKE_TRY(const std::uint64_t epochs, ShowHistory());
    LAKE_TRY_VOID(Check());
    if (comparison.rows != source_rows_ || comparison.lost != 0 || comparison.duplicated != 0) {
      return DemoFailed(
          fmt::format("the table differs from the source: rows={} of {} lost={} duplicated={}",
                      comparison.rows, source_rows_, comparison.lost, comparison.duplicated));
    }
    return Say(fmt::format("demo ok: rows={} lost={} duplicated={} epochs={}", comparison.rows,
                           comparison.lost, comparison.duplicated, epochs));
  }

 private:
  Outcome Say(std::string_view line) {
    LAKE_TRY_VOID(context_.out.Write(fmt::format("{}\n", line)));
    LAKE_TRY_VOID(context_.out.Flush());
    return {};
  }

  Process::Options Invocation(std::vector<std::string> arguments,
                              std::string_view failpoints = "") const {
    arguments.insert(arguments.begin(), program_);
    return {.arguments = std::move(arguments),
            .environment = {{"LAKE_DATA_DIR", data_dir_},
                            {"LAKE_FAILPOINTS", std::string(failpoints)}}};
  }

  // Runs one command to its end and returns what it wrote.
  Step<std::string> Lake(const std::vector<std::string>& arguments) {
    LAKE_TRY(Process process, Process::Start(Invocation(arguments)));
    LAKE_TRY(Ended ended, process.Wait());
    if (!ended.succeeded()) {
      const std::string how = ended.exited ? fmt::format("exit code {}", ended.exit_code)
                                           : fmt::format("signal {}", ended.signal);
      return DemoFailed(fmt::format("lake {} failed with {}: {}", fmt::join(arguments, " "), how,
                                    ended.standard_error));
    }
    return std::move(ended.standard_output);
  }

  Step<boost::json::value> LakeJson(const std::vector<std::string>& arguments) {
    LAKE_TRY(const std::string text, Lake(arguments));
    LAKE_TRY(boost::json::value value, json::Parse(text));
    return value;
  }

  // Runs a query that answers with one row, and returns the row.
  Step<boost::json::object> Row(const std::string& query) {
    LAKE_TRY(const boost::json::value rows, LakeJson({"sql", query, "--output", "json"}));
    if (!rows.is_array() || rows.get_array().size() != 1 || !rows.get_array()[0].is_object()) {
      return DemoFailed(fmt::format("'{}' did not answer with one row", query));
    }
    return rows.get_array()[0].get_object();
  }

  Step<std::uint64_t> Number(const boost::json::object& object, std::string_view name) {
    LAKE_TRY(const std::int64_t number, json::GetInt(object, name));
    return static_cast<std::uint64_t>(number);
  }

  std::string SlicePath(std::size_t slice) const {
    return fmt::format("{}/slice-{:02}.parquet", dir_, slice);
  }

  Outcome Introduce() {
    LAKE_TRY_VOID(
        Say("Lake demo: twelve processes append three million flights; one of them is killed, and "
            "nothing is lost or doubled."));
    LAKE_TRY_VOID(Say(fmt::format("source      {}", data_)));
    LAKE_TRY_VOID(Say(fmt::format("directory   {}", dir_)));
    return {};
  }

  Outcome CutSlices() {
    // Any lake command needs its data directory.
    LAKE_TRY_VOID(Lake({"namespace", "create", "demo"}));
    LAKE_TRY(const boost::json::object row,
             Row(fmt::format("select count(*) as n from read_parquet({})", SqlText(data_))));
    LAKE_TRY(source_rows_, Number(row, "n"));
    const std::uint64_t slice_rows = (source_rows_ + kSlices - 1) / kSlices;
    for (std::size_t slice = 1; slice <= kSlices; ++slice) {
      const std::uint64_t begin = (slice - 1) * slice_rows;
      LAKE_TRY_VOID(Lake(
          {"sql",
           fmt::format(
               "select * exclude (file_row_number) from read_parquet({}, file_row_number = true) "
               "where file_row_number >= {} and file_row_number < {}",
               SqlText(data_), begin, begin + slice_rows),
           "--output", "parquet", SlicePath(slice)}));
    }
    return Say(fmt::format("\nslices      {} cut into {} files of {}", Count(source_rows_, "row"),
                           kSlices, Count(slice_rows, "row")));
  }

  Outcome MakeTable() {
    LAKE_TRY_VOID(Lake({"table", "create", std::string(kTable), "--like", data_}));
    return Say(fmt::format("table       {} created, with the columns of the source", kTable));
  }

  std::vector<std::string> AppendArguments(std::size_t slice, const Uuid& operation) const {
    return {"append",         std::string(kTable),  SlicePath(slice),
            "--operation-id", operation.ToString(), "--json"};
  }

  // Runs the append of a slice and keeps which snapshot it made.
  Step<std::string> RunAppend(std::size_t slice, const Uuid& operation) {
    LAKE_TRY(const boost::json::value answer, LakeJson(AppendArguments(slice, operation)));
    LAKE_TRY(const boost::json::object* object, json::AsObject(answer, "the append's answer"));
    LAKE_TRY(std::string snapshot, json::GetString(*object, "snapshot"));
    LAKE_TRY(const std::uint64_t epoch, Number(*object, "epoch"));
    LAKE_TRY(const bool replayed, json::GetBool(*object, "replayed"));
    snapshots_.push_back(snapshot);
    return fmt::format("{} as snapshot {} under epoch {}", replayed ? "already done," : "appended",
                       snapshot, epoch);
  }

  Outcome AppendSlice(std::size_t slice) {
    const Uuid operation = Uuid::Random7(context_.clock, context_.random);
    LAKE_TRY(const std::string answer, RunAppend(slice, operation));
    return Say(fmt::format("slice {:>2}    {}", slice, answer));
  }

  Outcome KillAndRepeat(std::size_t slice) {
    const Uuid operation = Uuid::Random7(context_.clock, context_.random);
    LAKE_TRY(Process writer, Process::Start(Invocation(AppendArguments(slice, operation),
                                                       fmt::format("{}=pause", kKillPoint))));
    LAKE_TRY(const bool stopped, writer.WaitUntilStopped());
    if (!stopped) {
      LAKE_TRY(const Ended ended, writer.Wait());
      return DemoFailed(fmt::format("slice {} ended before the failpoint {}: {}", slice, kKillPoint,
                                    ended.standard_error));
    }
    writer.Kill();
    LAKE_TRY(const Ended killed, writer.Wait());
    if (killed.signal != SIGKILL) {
      return DemoFailed(fmt::format("slice {} was not killed", slice));
    }
    LAKE_TRY_VOID(
        Say(fmt::format("slice {:>2}    process {} killed with SIGKILL at {}: the version's files "
                        "are written, nothing is published",
                        slice, writer.pid(), kKillPoint)));
    LAKE_TRY_VOID(ShowPending(operation));
    LAKE_TRY(const std::string answer, RunAppend(slice, operation));
    return Say(
        fmt::format("            the same command with the same operation id again: {}", answer));
  }

  Outcome ShowPending(const Uuid& operation) {
    LAKE_TRY(const boost::json::value status, LakeJson({"status", "--json"}));
    LAKE_TRY(const boost::json::object* object, json::AsObject(status, "the status"));
    LAKE_TRY(const boost::json::array* pending, json::GetArray(*object, "pending"));
    for (const boost::json::value& entry : *pending) {
      LAKE_TRY(const boost::json::object* view, json::AsObject(entry, "a pending operation"));
      LAKE_TRY(const std::string id, json::GetString(*view, "operation"));
      LAKE_TRY(const std::string kind, json::GetString(*view, "kind"));
      LAKE_TRY(const std::uint64_t epoch, Number(*view, "epoch"));
      if (id == operation.ToString()) {
        return Say(
            fmt::format("            lake status: pending {} {} of {}, reserved under epoch {}",
                        kind, id, kTable, epoch));
      }
    }
    return DemoFailed(
        fmt::format("the killed operation {} left no pending record", operation.ToString()));
  }

  Outcome ShowQuery(std::string_view title, const std::string& query) {
    LAKE_TRY(const std::string answer, Lake({"sql", query}));
    LAKE_TRY_VOID(Say(fmt::format("\n{}\n  {}", title, query)));
    LAKE_TRY_VOID(context_.out.Write(answer));
    return {};
  }

  Outcome Query() {
    LAKE_TRY_VOID(ShowQuery("A count:", fmt::format("select count(*) as flights from {}", kTable)));
    LAKE_TRY_VOID(ShowQuery("An aggregation:",
                            fmt::format("select origin, count(*) as flights, round(avg(delay), 1) "
                                        "as average_delay from {} group by origin "
                                        "order by flights desc limit 5",
                                        kTable)));
    const std::string& before_last = snapshots_.at(kSlices - 2);
    LAKE_TRY_VOID(ShowQuery(
        "Time travel, to before the last slice:",
        fmt::format("select count(*) as flights from {} at (version => {})", kTable, before_last)));
    LAKE_TRY(
        const boost::json::object before,
        Row(fmt::format("select count(*) as n from {} at (version => {})", kTable, before_last)));
    LAKE_TRY(const boost::json::object last,
             Row(fmt::format("select count(*) as n from read_parquet({})",
                             SqlText(SlicePath(kSlices)))));
    LAKE_TRY(const std::uint64_t before_rows, Number(before, "n"));
    LAKE_TRY(const std::uint64_t last_rows, Number(last, "n"));
    if (before_rows + last_rows != source_rows_) {
      return DemoFailed(
          fmt::format("before the last slice of {} rows the table had {}, and the source has {}",
                      last_rows, before_rows, source_rows_));
    }
    return {};
  }

  // The source has rows that are equal to others, so how often each row comes is compared, not only which rows there are. A row's
  // hash is that of its text: the table's types may be wider than the source's.
  Step<Comparison> Compare() {
    const std::string source = fmt::format("read_parquet({})", SqlText(data_));
    const std::string sums =
        "select count(*) as n, cast(sum(hash(r::varchar)) as varchar) as hashes from {} as r";
    LAKE_TRY(const boost::json::object of_source, Row(fmt::format(fmt::runtime(sums), source)));
    LAKE_TRY(const boost::json::object of_table, Row(fmt::format(fmt::runtime(sums), kTable)));
    LAKE_TRY(const std::uint64_t rows, Number(of_table, "n"));
    LAKE_TRY(const std::string source_hashes, json::GetString(of_source, "hashes"));
    LAKE_TRY(const std::string table_hashes, json::GetString(of_table, "hashes"));
    LAKE_TRY(
        const boost::json::object difference,
        Row(fmt::format(
            "with s as (select hash(r::varchar) as h, count(*) as n from {} as r group by 1), "
            "t as (select hash(r::varchar) as h, count(*) as n from {} as r group by 1) "
            "select cast(sum(greatest(coalesce(s.n, 0) - coalesce(t.n, 0), 0)) as bigint) as lost, "
            "cast(sum(greatest(coalesce(t.n, 0) - coalesce(s.n, 0), 0)) as bigint) as duplicated "
            "from s full join t using (h)",
            source, kTable)));
    LAKE_TRY_VOID(Say(fmt::format("\nsource      {}, sum of row hashes {}",
                                  Count(source_rows_, "row"), source_hashes)));
    LAKE_TRY_VOID(
        Say(fmt::format("table       {}, sum of row hashes {}", Count(rows, "row"), table_hashes)));
    LAKE_TRY(const std::uint64_t lost, Number(difference, "lost"));
    LAKE_TRY(const std::uint64_t duplicated, Number(difference, "duplicated"));
    if (source_hashes != table_hashes) {
      return DemoFailed(
          fmt::format("lost {}, duplicated {}; the sums of row hashes differ: {} in the source, {} "
                      "in the table",
                      lost, duplicated, source_hashes, table_hashes));
    }
    return Comparison{.rows = rows, .lost = lost, .duplicated = duplicated};
  }

  // Returns how many epochs there have been.
  Step<std::uint64_t> ShowHistory() {
    LAKE_TRY(const std::string history, Lake({"table", "history", std::string(kTable)}));
    LAKE_TRY_VOID(Say("\nThe table's history:"));
    LAKE_TRY_VOID(context_.out.Write(history));
    LAKE_TRY(const boost::json::value status, LakeJson({"status", "--json"}));
    LAKE_TRY(const boost::json::object* object, json::AsObject(status, "the status"));
    LAKE_TRY(const boost::json::array* pending, json::GetArray(*object, "pending"));
    if (!pending->empty()) {
      return DemoFailed(fmt::format("{} still pending", Count(pending->size(), "operation")));
    }
    return Number(*object, "epoch");
  }

  Outcome Check() {
    LAKE_TRY(const std::string report, Lake({"check", std::string(kTable)}));
    LAKE_TRY_VOID(context_.out.Write("\nlake check  " + report + "\n"));
    return {};
  }

  Context& context_;
  const std::string program_;
  const std::string data_;
  const std::string dir_;
  const std::string data_dir_;
  std::uint64_t source_rows_ = 0;
  std::vector<std::string> snapshots_;  // One for each slice.
};

}  // namespace

Outcome Run(const Demo& command, Context& context) {
  LAKE_TRY(const std::string program, OwnProgram());
  const Result<std::string> data = FindData(command.data, program);
  if (!data.has_value()) {
    return Fail(data.error(), "tools/setup brings flights-3m.parquet; or name it with --data FILE");
  }
  LAKE_TRY(DemoDir dir, DemoDir::Make());
  Outcome outcome = DemoRun(context, program, *data, dir.path()).Run();
  if (!outcome.has_value()) {
    dir.Keep();
    if (outcome.error().next.empty()) {
      outcome.error().next = fmt::format(
          "what it did is in {}: lake --data-dir {}/lake-data status", dir.path(), dir.path());
    }
  }
  return outcome;
}

}  // namespace lake::cli
