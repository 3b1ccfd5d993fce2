#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/failpoint.h"
#include "lake/base/log.h"
#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/inputs.h"
#include "lake/cli/interrupt.h"
#include "lake/cli/print_internal.h"
#include "lake/cli/progress.h"

// An append, seen from the one who holds the rows:
//
//   read      every input is opened, pipes are copied, and the bytes are digested; nothing is held yet
//   find      an operation that has ended is answered from its record: nothing is written twice
//   stage     the rows become data files, without lease and without reservation
//   create    if it was asked for and there is no such table yet, it is made
//   append    Metasrv makes them a version of the table, at most once for one operation id
//
// Data files that were staged and certainly do not belong to a version are removed. After an unknown outcome they stay: they may
// be part of the table.
namespace lake::cli {
namespace {

struct AppendSummary {
  std::uint64_t rows = 0;
  std::size_t files = 0;
  metasrv::TableResult result;
};

Outcome PrintAppend(Context& context, const Append& command, const Uuid& operation,
                    const AppendSummary& summary) {
  context.changed = operation;
  const metasrv::TableResult& result = summary.result;
  if (context.options.json) {
    boost::json::value rows = summary.rows;
    boost::json::value files = summary.files;
    LAKE_TRY_VOID(
        PrintJson(context.out, {{"table", command.name.ToString()},
                                {"rows", result.replayed ? boost::json::value(nullptr) : rows},
                                {"files", result.replayed ? boost::json::value(nullptr) : files},
                                {"snapshot", SnapshotJson(result.snapshot_id)},
                                {"epoch", result.epoch},
                                {"operation", operation.ToString()},
                                {"replayed", result.replayed}}));
    return {};
  }
  const std::string what =
      result.replayed ? std::string("already done:")
                      : fmt::format("appended rows={} files={}", summary.rows, summary.files);
  const std::string snapshot = result.snapshot_id < 0 ? "none" : std::to_string(result.snapshot_id);
  LAKE_TRY_VOID(context.out.Write(fmt::format("{} table={} snapshot={} epoch={} operation={}\n",
                                              what, command.name.ToString(), snapshot, result.epoch,
                                              operation.ToString())));
  return {};
}

// The table that an append goes to.
struct Target {
  metasrv::LoadedTable table;
  // How it is made, if it does not exist yet: after the rows have been read, so that bad ones leave nothing behind.
  std::optional<metasrv::CreateTableRequest> create;
  metasrv::CallOptions create_options;
};

// Returns a table that is there.
std::expected<Target, Failure> LoadTarget(const Append& command, Connection& lake,
                                          Context& context) {
  Result<metasrv::LoadedTable> table =
      lake.service().LoadTable(command.name, context.ReadDeadline());
  if (table.has_value()) {
    return Target{.table = *std::move(table)};
  }
  if (table.error().code() == ErrorCode::kNotFound && !command.create) {
    return Fail(table.error(),
                "add --create to make the table from the file's columns, or see lake table list");
  }
  return FailedToLoad(table.error(), command.name);
}

// Finds the table, or plans it if that was asked for.
std::expected<Target, Failure> FindTarget(const Append& command, const Inputs& inputs,
                                          const Uuid& operation, Connection& lake,
                                          Context& context) {
  std::expected<Target, Failure> target = LoadTarget(command, lake, context);
  if (target.has_value() || target.error().error.code() != ErrorCode::kNotFound ||
      !command.create) {
    return target;
  }
  LAKE_TRY(iceberg::Schema schema, InferSchema(inputs, lake));
  metasrv::CreateTableRequest create{.name = command.name, .schema = std::move(schema)};
  // An operation of its own: repeating the append finds the table and does not make it again.
  const metasrv::CallOptions create_options = context.Change(std::nullopt);
  Result<metasrv::LoadedTable> planned = lake.service().PlanTable(create, create_options);
  if (!planned.has_value()) {
    if (planned.error().code() == ErrorCode::kAlreadyExists) {
      return LoadTarget(command, lake, context);  // It was made while the schema was looked for.
    }
    return FailedToCreate(planned.error(), command.name, operation);
  }
  return Target{
      .table = *std::move(planned), .create = std::move(create), .create_options = create_options};
}

// Makes the table if it was only planned.
Outcome MakeTarget(const Append& command, Target& target, const Uuid& operation, Connection& lake,
                   Context& context) {
  if (!target.create.has_value()) {
    return {};
  }
  target.create_options.deadline = context.ChangeDeadline();  // Staging may have taken any time.
  const Result<metasrv::TableResult> created =
      lake.service().CreateTable(*target.create, target.create_options);
  if (created.has_value()) {
    return {};
  }
  const Error& error = created.error();
  if (error.code() == ErrorCode::kAlreadyExists) {
    return Fail(error, "it was made meanwhile; repeat the command to append to it");
  }
  if (error.code() == ErrorCode::kOutcomeUnknown) {
    // The error names the creation's id. The append's is the one to repeat: it finds the table, or makes it.
    return FailedToChange(Error(error.code(), fmt::format("table {}: it may or may not be made, "
                                                          "and nothing is appended to it yet",
                                                          command.name.ToString())),
                          operation);
  }
  return FailedToCreate(error, command.name, operation);
}

// The append failed after its table was, or was not, made for it.
std::unexpected<Failure> FailedToAppend(const Error& error, const Append& command,
                                        const Target& target, const Uuid& operation) {
  if (!target.create.has_value() || error.code() == ErrorCode::kOutcomeUnknown) {
    return FailedToChange(error, operation);
  }
  return Fail(Error(error.code(), fmt::format("{}; table {} was made, and is empty",
                                              error.message(), command.name.ToString())),
              "no row was added; " + AdviceToRepeat(operation));
}

// Data files that belong to nobody until a version names them.
class StagedData {
 public:
  StagedData(engine::StagedFiles staged, Connection& lake, const Context& context)
      : staged_(std::move(staged)), lake_(lake), context_(context) {}

  ~StagedData() {
    if (!owned_ || staged_.files.empty()) {
      return;
    }
    std::vector<std::string> paths;
    paths.reserve(staged_.files.size());
    for (const iceberg::DataFile& file : staged_.files) {
      paths.push_back(file.file_path);
    }
    const Status removed = lake_.objects().Delete(paths, context_.ChangeDeadline());
    if (!removed.has_value()) {
      Log(LogLevel::kWarning,
          fmt::format(
              "{} staged files that no table uses could not be removed, the first is {}: {}",
              paths.size(), paths.front(), removed.error().message()));
    }
  }

  StagedData(const StagedData&) = delete;
  StagedData& operator=(const StagedData&) = delete;

  const engine::StagedFiles& staged() const { return staged_; }

  // From now on a version may name the files.
  void Release() { owned_ = false; }

 private:
  engine::StagedFiles staged_;
  Connection& lake_;
  const Context& context_;
  bool owned_ = true;
};

Result<engine::StagedFiles> Stage(const metasrv::LoadedTable& table, const Inputs& inputs,
                                  Connection& lake, Progress& progress) {
  LAKE_TRY(engine::DataFileWriter * writer, lake.writer());
  Result<engine::StagedFiles> staged = writer->Stage({
      .schema = std::make_shared<const iceberg::Schema>(table.metadata->current_schema()),
      .inputs = inputs.ToStage(),
      .data_location = table.registration.location + "/data",
      .on_progress =
          [&](const engine::StageProgress& at) { progress.Show("writing", at.fraction); },
  });
  if (!staged.has_value()) {
    return std::unexpected(inputs.InPersonsWords(staged.error()));
  }
  return staged;
}

Outcome StageAndAppend(const Append& command, const Inputs& inputs, metasrv::AppendRequest& request,
                       const metasrv::CallOptions& change, Connection& lake, Context& context) {
  LAKE_TRY(Target target, FindTarget(command, inputs, change.operation, lake, context));
  request.incarnation = target.table.registration.incarnation;
  Progress progress(context.progress, context.clock);
  Result<engine::StagedFiles> staged = Stage(target.table, inputs, lake, progress);
  progress.Clear();
  if (!staged.has_value()) {
    return FailedToChange(staged.error(), change.operation);
  }
  StagedData data(*std::move(staged), lake, context);
  LAKE_TRY_VOID(inputs.CheckUnchanged());
  if (const Status reached = Failpoint("after-stage"); !reached.has_value()) {
    return FailedToChange(reached.error(), change.operation);
  }
  LAKE_TRY_VOID(MakeTarget(command, target, change.operation, lake, context));
  request.files = data.staged().files;
  metasrv::CallOptions append_options = change;
  append_options.deadline = context.ChangeDeadline();  // Staging may have taken any time.
  const Result<metasrv::TableResult> appended = lake.service().Append(request, append_options);
  if (appended.has_value() || appended.error().code() == ErrorCode::kOutcomeUnknown) {
    data.Release();
  }
  if (!appended.has_value()) {
    return FailedToAppend(appended.error(), command, target, change.operation);
  }
  return PrintAppend(
      context, command, change.operation,
      {.rows = data.staged().row_count, .files = data.staged().files.size(), .result = *appended});
}

}  // namespace

Outcome Run(const Append& command, Context& context) {
  LAKE_TRY(const Inputs inputs, Inputs::Open(command.inputs, context.standard_input));
  metasrv::AppendRequest request{.name = command.name};
  {
    Progress progress(context.progress, context.clock);
    LAKE_TRY(request.content,
             inputs.Digest([&](double fraction) { progress.Show("reading", fraction); }));
  }
  std::optional<LastWords> words;  // Until the lake is closed: the answer is not written before.
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kWrite, "lake append");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  words.emplace(fmt::format("\nlake: interrupted, and the append may be done\nnext: {}\n",
                            AdviceToRepeat(change.operation)));
  const Result<std::optional<metasrv::TableResult>> earlier =
      (*lake)->service().FindAppend(request, change);
  if (!earlier.has_value()) {
    return FailedToChange(earlier.error(), change.operation);
  }
  if (earlier->has_value()) {
    metasrv::TableResult result = **earlier;
    result.replayed = true;
    return PrintAppend(context, command, change.operation, {.result = std::move(result)});
  }
  return StageAndAppend(command, inputs, request, change, **lake, context);
}

}  // namespace lake::cli
