#include "lake/cli/advice.h"

#include <utility>

#include <fmt/format.h>

namespace lake::cli {

std::unexpected<Failure> FailedToOpen(Error error, const std::string& data_dir) {
  std::string next;
  if (error.code() == ErrorCode::kNotFound) {
    next = fmt::format(
        "lake --data-dir {} namespace create NAME makes it, or name another with --data-dir",
        data_dir);
  } else if (error.code() == ErrorCode::kPermissionDenied) {
    next = "its owner can give you the right to write in it, which reading needs too";
  } else if (error.code() == ErrorCode::kUnimplemented) {
    next = "use the version of lake that wrote it, or a newer one";
  } else if (error.code() == ErrorCode::kInvalidArgument) {
    next =
        "name another directory with --data-dir or LAKE_DATA_DIR; it may be empty or not exist yet";
  } else if (error.code() == ErrorCode::kDeadlineExceeded) {
    next = "try again when it has ended, or wait longer with --wait SECONDS";
  }
  return Fail(std::move(error), std::move(next));
}

std::unexpected<Failure> FailedToChange(Error error, const Uuid& operation) {
  std::string next;
  if (error.code() == ErrorCode::kOutcomeUnknown) {
    next = AdviceToRepeat(operation);
  } else if (error.code() == ErrorCode::kUnavailable ||
             error.code() == ErrorCode::kDeadlineExceeded) {
    next = fmt::format("nothing was changed; try again, best with --operation-id {}",
                       operation.ToString());
  } else if (error.code() == ErrorCode::kAlreadyExists) {
    next = "choose another name, or see what is there with lake table list and lake namespace list";
  }
  return Fail(std::move(error), std::move(next));
}

std::unexpected<Failure> FailedToUndrop(Error error, const Uuid& operation) {
  std::string next;
  if (error.code() == ErrorCode::kNotFound) {
    next = "lake table list --dropped shows the tables that can be brought back";
  } else if (error.code() == ErrorCode::kAlreadyExists) {
    next =
        "drop what has the name now, or register the files under another one: lake table list "
        "--dropped shows their metadata";
  } else {
    return FailedToChange(std::move(error), operation);
  }
  return Fail(std::move(error), std::move(next));
}

std::unexpected<Failure> PurgeUnfinished(const Error& error, const catalog::TableName& name,
                                         const Uuid& operation) {
  const bool by_hand =
      error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kCorruption;
  return Fail(
      Error(ErrorCode::kOutcomeUnknown,
            fmt::format("table {} is dropped, but its files are not all removed: {}",
                        name.ToString(), error.message())),
      fmt::format("{}the same command with --operation-id {} goes on, and so does every command "
                  "that changes something",
                  by_hand ? "look at the file that is named; then " : "", operation.ToString()));
}

std::unexpected<Failure> FailedToCreate(Error error, const catalog::TableName& name,
                                        const Uuid& operation) {
  if (error.code() == ErrorCode::kNotFound) {
    return Fail(std::move(error), fmt::format("lake namespace create {}", name.ns.ToString()));
  }
  return FailedToChange(std::move(error), operation);
}

std::string AdviceToRepeat(const Uuid& operation) {
  return fmt::format(
      "repeat the command with --operation-id {}: it learns what happened and never does it twice",
      operation.ToString());
}

std::unexpected<Failure> AnswerLost(const Error& error, const Uuid& operation) {
  return Fail(
      Error(ErrorCode::kOutcomeUnknown,
            "the change was made, but its answer is lost: " + error.message()),
      fmt::format("the same command with --operation-id {} answers again and changes nothing",
                  operation.ToString()));
}

std::unexpected<Failure> FailedToLoad(Error error, const catalog::TableName& name) {
  std::string next;
  if (error.code() == ErrorCode::kNotFound) {
    next = "lake table list shows the tables there are";
  } else if (error.code() == ErrorCode::kCorruption) {
    next = fmt::format("lake check {} shows what is damaged; other tables are not touched by it",
                       name.ToString());
  }
  return Fail(std::move(error), std::move(next));
}

}  // namespace lake::cli
