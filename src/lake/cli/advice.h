#pragma once

#include <expected>
#include <string>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/cli/failure.h"

// What a person can do about a failure, in one place so that the same failure always gets the same advice.
namespace lake::cli {

// Opening the data directory failed.
std::unexpected<Failure> FailedToOpen(Error error, const std::string& data_dir);

// A change of metadata failed. An unknown outcome is answered with the id to repeat it with.
std::unexpected<Failure> FailedToChange(Error error, const Uuid& operation);

// A table could not be brought back.
std::unexpected<Failure> FailedToUndrop(Error error, const Uuid& operation);

// A table was dropped, but its files are not all removed. The exit code is that of an unknown outcome: the same command goes on.
std::unexpected<Failure> PurgeUnfinished(const Error& error, const catalog::TableName& name,
                                         const Uuid& operation);

// A table could not be made. When its namespace is missing, that is made first.
std::unexpected<Failure> FailedToCreate(Error error, const catalog::TableName& name,
                                        const Uuid& operation);

// Returns what to do when it is not known whether a change was made.
std::string AdviceToRepeat(const Uuid& operation);

// A change was made, but its answer cannot be written. The exit code is that of an unknown outcome: who takes it for a failure
// and starts anew would do the change twice.
std::unexpected<Failure> AnswerLost(const Error& error, const Uuid& operation);

// A table could not be loaded.
std::unexpected<Failure> FailedToLoad(Error error, const catalog::TableName& name);

}  // namespace lake::cli
