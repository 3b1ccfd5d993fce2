#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/interrupt.h"
#include "lake/cli/keywords.h"
#include "lake/cli/prompt.h"
#include "lake/cli/result_file.h"
#include "lake/cli/rows.h"
#include "lake/cli/statements.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

std::unique_ptr<RowWriter> MakeWriter(ResultFormat format, Output& out) {
  switch (format) {
    case ResultFormat::kTable:
    case ResultFormat::kParquet:  // Its file is written by the engine; only messages come here.
      return MakeTableWriter(out);
    case ResultFormat::kCsv:
      return MakeCsvWriter(out);
    case ResultFormat::kJson:
      return MakeJsonWriter(out);
  }
  return nullptr;
}

// Hands the rows of a batch to a writer.
class BatchCopier {
 public:
  BatchCopier(ResultFormat format, std::size_t column_count)
      : as_json_(format == ResultFormat::kJson), cells_(column_count), texts_(column_count) {}

  Status Copy(const sql::RowBatch& batch, RowWriter& writer) {
    for (std::size_t row = 0; row < batch.row_count(); ++row) {
      for (std::size_t column = 0; column < cells_.size(); ++column) {
        cells_[column] = ReadCell(batch, row, column);
      }
      LAKE_TRY_VOID(writer.Row(cells_));
    }
    return {};
  }

 private:
  Cell ReadCell(const sql::RowBatch& batch, std::size_t row, std::size_t column) {
    if (as_json_) {
      texts_[column].clear();
      batch.AppendJson(row, column, texts_[column]);
      return texts_[column];
    }
    if (batch.IsNull(row, column)) {
      return std::nullopt;
    }
    return batch.Text(row, column);
  }

  const bool as_json_;
  std::vector<Cell> cells_;
  std::vector<std::string> texts_;
};

// Runs one statement and writes its answer.
Status RunStatement(sql::SqlSession& session, const std::string& statement, ResultFormat format,
                    Output& out) {
  LAKE_TRY(sql::QueryResult result, session.Execute(statement));
  if (!result.has_rows()) {
    // Its end is still to be waited for.
    LAKE_TRY(const std::optional<sql::RowBatch> nothing, result.Next());
    return {};
  }
  std::vector<ResultColumn> columns;
  for (const sql::ResultColumn& column : result.columns()) {
    columns.push_back({.name = column.name, .numeric = column.kind == sql::ValueKind::kNumber});
  }
  const std::unique_ptr<RowWriter> writer = MakeWriter(format, out);
  BatchCopier copier(format, columns.size());
  // The first rows come before anything is written: a statement that fails at once leaves no half answer.
  LAKE_TRY(std::optional<sql::RowBatch> batch, result.Next());
  LAKE_TRY_VOID(writer->Begin(columns));
  while (batch.has_value()) {
    LAKE_TRY_VOID(copier.Copy(*batch, *writer));
    LAKE_TRY(batch, result.Next());
  }
  LAKE_TRY_VOID(writer->End());
  // Whoever reads this does not wait for the statements that follow.
  return out.Flush();
}

std::unexpected<Failure> StatementFailed(const Error& error) {
  std::string next;
  if (error.code() == ErrorCode::kPermissionDenied) {
    next = "SQL only reads here: lake append, lake table and lake namespace change things";
  } else if (error.code() == ErrorCode::kNotFound) {
    next =
        "lake table list shows the tables there are; lake sql \"describe NS.T\" shows a table's "
        "columns";
  }
  return Fail(error, std::move(next));
}

// While it lives, Ctrl-C ends the statement that runs and those that were to follow.
class InterruptibleSession {
 public:
  explicit InterruptibleSession(sql::SqlSession& session) : guard_(Resume(session)) {}

 private:
  static std::function<void()> Resume(sql::SqlSession& session) {
    session.Resume();
    return [&session] { session.Interrupt(); };
  }

  InterruptGuard guard_;
};

// Runs every statement of a text; the first that fails ends it.
Outcome RunText(sql::SqlSession& session, const std::string& text, ResultFormat format,
                Output& out) {
  const Result<std::vector<std::string>> statements = session.Split(text);
  if (!statements.has_value()) {
    return StatementFailed(statements.error());
  }
  for (const std::string& statement : *statements) {
    if (const Status done = RunStatement(session, statement, format, out); !done.has_value()) {
      // What was written belongs before the message.
      IgnoreError(out.Flush(), "the statement's own failure is the one to report");
      return StatementFailed(done.error());
    }
  }
  return {};
}

Outcome CopyToParquet(sql::SqlSession& session, const Sql& command, Context& context) {
  LAKE_TRY(ResultFile file,
           ResultFile::Prepare(command.file, context.options.data_dir, context.random));
  const InterruptibleSession guard(session);
  const Result<std::uint64_t> rows = session.CopyQueryTo(*command.text, file.staging_path());
  if (!rows.has_value()) {
    return StatementFailed(rows.error().With(command.file));
  }
  LAKE_TRY_VOID(file.Commit());
  LAKE_TRY_VOID(
      context.out.Write(fmt::format("{} written to {}\n", Count(*rows, "row"), command.file)));
  return {};
}

Outcome RunToFile(sql::SqlSession& session, const Sql& command, const Context& context) {
  LAKE_TRY(ResultFile file,
           ResultFile::Prepare(command.file, context.options.data_dir, context.random));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
      std::fopen(file.staging_path().c_str(), "we"), std::fclose);
  if (stream == nullptr) {
    return std::unexpected(
        Failure(Error(ErrorCode::kPermissionDenied,
                      fmt::format("{}: cannot be written: {}", command.file, Reason(errno)))));
  }
  StreamOutput out(stream.get(), command.file);
  const InterruptibleSession guard(session);
  LAKE_TRY_VOID(RunText(session, *command.text, command.format, out));
  LAKE_TRY_VOID(out.Flush());
  LAKE_TRY_VOID(file.Commit());
  return {};
}

Result<std::string> ReadStandardInput(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Unavailable(fmt::format("standard input cannot be read: {}", Reason(errno)));
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string HistoryPath() {
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing of ours sets the environment.
  const char* named = std::getenv("LAKE_HISTORY");
  const char* home = std::getenv("HOME");
  // NOLINTEND(concurrency-mt-unsafe)
  if (named != nullptr) {
    return named;
  }
  return home == nullptr ? "" : std::string(home) + "/.lake_history";
}

std::vector<catalog::TableName> AllTables(metasrv::MetaService& service, Deadline deadline) {
  std::vector<catalog::TableName> tables;
  const Result<std::vector<catalog::Namespace>> namespaces = service.ListNamespaces({}, deadline);
  if (!namespaces.has_value()) {
    return tables;
  }
  for (const catalog::Namespace& ns : *namespaces) {
    const Result<std::vector<catalog::TableName>> listed = service.ListTables(ns, deadline);
    if (listed.has_value()) {
      tables.insert(tables.end(), listed->begin(), listed->end());
    }
  }
  return tables;
}

bool IsGoodbye(std::string_view line) {
  return line == "exit" || line == "quit" || line == "exit;" || line == "quit;" || line == "\\q";
}

Outcome RunPrompt(Connection& lake, sql::SqlSession& session, ResultFormat format,
                  Context& context) {
  LAKE_TRY(const std::unique_ptr<Prompt> prompt,
           Prompt::Open({.history_path = HistoryPath(), .complete = [&](std::string_view word) {
                           // A name that cannot be listed now is only not completed.
                           return SqlCompletions(word,
                                                 AllTables(lake.service(), context.ReadDeadline()));
                         }}));
  LAKE_TRY_VOID(context.out.Write(
      "Statements end with a semicolon. Tab completes, Ctrl-C abandons, Ctrl-D leaves.\n"));
  std::string typed;
  while (true) {
    LAKE_TRY_VOID(context.out.Flush());
    const std::expected<std::string, Prompt::NoLine> line =
        prompt->ReadLine(typed.empty() ? "lake> " : "  ... ");
    if (!line.has_value() && line.error() == Prompt::NoLine::kEnd) {
      return {};
    }
    if (!line.has_value()) {
      typed.clear();
      continue;
    }
    if (typed.empty() && IsGoodbye(*line)) {
      return {};
    }
    typed += (typed.empty() ? "" : "\n") + *line;
    Statements statements = SplitStatements(typed);
    const InterruptibleSession guard(session);
    for (const std::string& statement : statements.complete) {
      prompt->Remember(statement + ";");
      const Outcome done = RunText(session, statement, format, context.out);
      if (!done.has_value()) {
        LAKE_TRY_VOID(context.out.Write(fmt::format("{}\n", done.error().error.message())));
        break;
      }
    }
    if (!statements.complete.empty() || statements.rest.empty()) {
      typed = std::move(statements.rest);
    }
  }
}

}  // namespace

Outcome Run(const Sql& command, Context& context) {
  const bool prompt = !command.text.has_value() && context.interactive;
  std::string text = command.text.value_or("");
  if (!command.text.has_value() && !prompt) {
    // Before the data directory is held: whoever writes to us may take any time.
    LAKE_TRY(text, ReadStandardInput(context.standard_input));
  }
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kRead, "lake sql");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  LAKE_TRY(sql::SqlSession * session, (*lake)->session());
  if (prompt) {
    return RunPrompt(**lake, *session, command.format, context);
  }
  if (command.format == ResultFormat::kParquet) {
    return CopyToParquet(*session, command, context);
  }
  if (!command.file.empty()) {
    return RunToFile(*session, command, context);
  }
  const InterruptibleSession guard(*session);
  return RunText(*session, text, command.format, context.out);
}

}  // namespace lake::cli
