#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/publications.h"
#include "lake/catalog/records.h"
#include "lake/engine/table_engine.h"
#include "lake/lease/epoch.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"
#include "lake/metasrv/service.h"
#include "lake/metasrv/settler.h"
#include "lake/metasrv/table_queue.h"
#include "lake/metasrv/ticket.h"
#include "lake/metasrv/version_maker.h"

namespace lake::metasrv {

// The most operations that share one version: with their reservations, outcomes and the registration
// they fit into one fenced transaction.
inline constexpr std::size_t kAppendGroupMax = 30;

// Appends that wait for the same table become one version with all their files: reserved together,
// published together, and after a failure settled together. Each keeps its own identity and record.
// Appends of one table therefore never conflict with each other, and a version costs two publications
// however many operations it holds. An append with a bad file list fails alone, before the reservation.
//
// Thread-safe. What it is given must outlive it.
class AppendService {
 public:
  struct Deps {
    const RecordReader& reader;
    const Operations& operations;
    Settler& settler;
    const VersionMaker& versions;
    engine::TableEngine& engine;
    TableQueue& queue;
    Clock& clock;
    Random& random;
  };

  struct Options {
    std::size_t waiting_max = 1000;  // Appends of one table that may wait.
    Duration engine_timeout;
  };

  // Returns what ended a change earlier, after settling it if it is pending; nothing when it is unknown.
  using FindEarlier = std::function<Result<std::optional<TableResult>>(
      const Change&, const std::optional<catalog::TableName>&)>;

  AppendService(Deps deps, Options options, FindEarlier find_earlier)
      : deps_(deps), options_(options), find_earlier_(std::move(find_earlier)) {}

  // Appends and waits for it until `deadline`; errors as MetaService::Append. kUnavailable also when too many
  // appends wait for this table: nothing was done.
  Result<TableResult> Append(const AppendRequest& request, const Change& change, Deadline deadline)
      EXCLUDES(mutex_);

 private:
  struct Waiting {
    AppendRequest request;
    Change change;
    Ticket ticket;
  };

  using Group = std::vector<std::shared_ptr<Waiting>>;
  using Registered = catalog::Stored<catalog::Registration>;

  // Makes versions for one table until nobody waits for it, or others should have a turn.
  void Drain(const Uuid& incarnation) EXCLUDES(mutex_);
  Group TakeGroup(const Uuid& incarnation) EXCLUDES(mutex_);
  // Each answers the members it is done with and takes them out of the group.
  void RunGroup(Group group, std::optional<Registered>& base);
  Result<std::optional<Registered>> FindBase(const Waiting& first, std::optional<Registered>& base);
  void DropBadMembers(Group& group, const engine::MetadataPtr& metadata);
  void AnswerEarlier(Group& group);
  void AnswerAll(Group& group, const Error& error);
  Result<TableResult> MakeVersion(const Group& group, const Registered& base,
                                  const engine::MetadataPtr& metadata);
  Result<TableResult> RecordEmpty(const Waiting& waiting);
  // Ends a member that failed, unless it turns out to have ended before.
  Result<TableResult> Fail(const Waiting& waiting, const Error& error);

  const Deps deps_;
  const Options options_;
  const FindEarlier find_earlier_;

  Mutex mutex_;
  // Tables with appends that wait; an entry exists while a task of the table's queue is bound to serve it.
  std::map<Uuid, std::deque<std::shared_ptr<Waiting>>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace lake::metasrv
