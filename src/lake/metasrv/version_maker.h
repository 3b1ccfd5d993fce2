#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/publications.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/lease/epoch.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"
#include "lake/metasrv/service.h"
#include "lake/metasrv/settler.h"

namespace lake::metasrv {

// Makes a new version of a table in three steps: reserve, engine commit, publish.
//
//   reserve        writes pending/<id>, which fixes the base and the planned metadata file. From here on a successor can finish the
//                  operation or end it.
//   engine commit  writes the files. Nothing is visible.
//   publish        moves the registration from the base to the new version, ends the reservation and records the outcome, all in
//                  one fenced transaction.
//
// A failure is called certain only while the reservation was never written or once it is confirmed gone; in every other case the
// answer is kOutcomeUnknown, all files stay, and the settler decides later. Thread-safe; one call at a time for one table.
class VersionMaker {
 public:
  struct Deps {
    const RecordReader& reader;
    const Operations& operations;
    Settler& settler;
    const Clock& clock;
    Random& random;
  };

  VersionMaker(Deps deps, const Uuid& session, Duration engine_timeout)
      : deps_(deps), session_(session), engine_timeout_(engine_timeout) {}

  // Returns where the metadata file of a version is to be written: the epoch and a fresh UUID in its name make sure that no two
  // attempts, of whatever leader, ever write the same file.
  std::string PlanLocation(const std::string& table_location, std::uint64_t version,
                           lease::Epoch epoch) const;

  // Returns the id of a snapshot that a version is to add: random, positive, and new to the table.
  iceberg::SnapshotId PlanSnapshotId(const iceberg::TableMetadata& metadata) const;

  // Makes the version that `engine_commit` writes to `table.planned_location`, on the base that `table` holds, for all of
  // `changes` together. They have one kind and epoch and different ids; the first one names the version.
  //   kConflict      the base is no longer current, the namespace of a new table changed, an operation is known already, or the
  //                  reservation was not answered; nothing is visible, and the reservation can never be published: read again and
  //                  decide anew, with another planned location.
  //   kOutcomeUnknown, kUnavailable, kNotLeader, and what engine_commit returns, as in MetaService.
  Result<TableResult> Make(const std::vector<Change>& changes, const catalog::PendingTable& table,
                           const std::function<Status(Deadline)>& engine_commit) const;

 private:
  using Group = std::vector<catalog::PendingOperation>;

  // Gives up a reservation that was not answered. It may still arrive, even after it was given up: then nobody may find complete
  // files at the place that it plans, or it would be published though its caller was told otherwise. So none are ever written there.
  Error Withdraw(const Change& first, const Group& group, const Error& error) const;
  Result<TableResult> Publish(const Change& first, const Group& group) const;
  Result<TableResult> GiveUp(const Change& first, const Group& group, const Error& error) const;
  Error Unknown(const Group& group, const Error& error) const;

  const Deps deps_;
  const Uuid session_;
  const Duration engine_timeout_;
};

}  // namespace lake::metasrv
