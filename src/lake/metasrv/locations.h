#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/publications.h"
#include "lake/catalog/records.h"
#include "lake/lease/epoch.h"
#include "lake/metasrv/operations.h"
#include "lake/metasrv/record_reader.h"

namespace lake::metasrv {

// Who owns which location, so that no two tables ever share files: what one of them removes, the other could need.
//
// A location that Lake chose, <warehouse>/<incarnation>, is unique by construction. Every other one has a record, loc/<location>, from
// the table's registration until it is dropped for good. A new location is free if neither it nor one around it or below it has a
// record; that takes a read for each of its parts and one scan, not a look at every table.
//
// Tables that were registered before there were such records get theirs when somebody first asks for a location: dir/locations says
// that this was done.
//
// Thread-safe. What it is given must outlive it.
class Locations {
 public:
  struct Deps {
    const RecordReader& reader;
    const Operations& operations;
    Clock& clock;
    Random& random;
  };

  // New tables go to <warehouse>/<incarnation>.
  Locations(Deps deps, std::string warehouse) : deps_(deps), warehouse_(std::move(warehouse)) {}

  // Whether Lake chose the location for that table, and everything below it therefore belongs to the table.
  bool IsOurs(const std::string& location, const Uuid& incarnation) const;

  // Returns what a table, of which no tombstone is known unless `dropped`, must hold to be given a location; nothing when Lake chose
  // it. To be published only if no name has come or gone since before the call.
  //   kInvalidArgument   the location cannot be compared with others, is too long, or holds the warehouse.
  //   kAlreadyExists     it is another table's, or around or below another's; or the table is registered already.
  //   kCorruption        a record is damaged, so that it cannot be told.
  //   and as RecordReader, Operations::CommitKnown.
  Result<std::optional<catalog::LocationClaim>> Claim(const std::string& location,
                                                      const Uuid& incarnation, bool dropped,
                                                      lease::Epoch epoch, Deadline deadline) const;

  // Returns what a dropped table holds of its location; nothing when Lake chose it. kConflict: another table holds it by now.
  Result<std::optional<catalog::LocationClaim>> Reclaim(const std::string& location,
                                                        const Uuid& incarnation, lease::Epoch epoch,
                                                        Deadline deadline) const;

  // Returns the record by which a table holds its location; nothing when there is none that names it.
  Result<std::optional<catalog::LocationClaim>> Find(const std::string& location,
                                                     const Uuid& incarnation) const;

 private:
  Status CheckWarehouse(const std::string& location, const std::string& normal,
                        const Uuid& incarnation) const;
  Status CheckNotRegistered(const Uuid& incarnation, Deadline deadline) const;
  Status CheckAround(const std::string& location, const std::string& normal,
                     Deadline deadline) const;
  Status CheckBelow(const std::string& location, const std::string& normal,
                    Deadline deadline) const;
  // Makes sure that every explicitly chosen location has its record.
  Status EnsureComplete(lease::Epoch epoch, Deadline deadline) const;
  Status Complete(lease::Epoch epoch, Deadline deadline) const;
  // Reads a table out of a record's bytes.
  using Owner = Result<catalog::Registration> (*)(std::string_view bytes);
  Status ClaimFor(const std::string& key, std::string read_bytes, Owner owner,
                  lease::Epoch epoch) const;
  Error Taken(const std::string& location, const Uuid& owner, Deadline deadline) const;

  const Deps deps_;
  const std::string warehouse_;
};

}  // namespace lake::metasrv
