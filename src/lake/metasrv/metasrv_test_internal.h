#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/random.h"
#include "lake/base/uuid.h"
#include "lake/catalog/keyspace.h"
#include "lake/engine/iceberg_engine.h"
#include "lake/engine/iceberg_maintainer.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/fenced_store.h"
#include "lake/lease/records.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metastore/metastore.h"
#include "lake/objstore/objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"

// What the tests of the control plane share: processes ("nodes") over one metastore and one object store, and
// elections decided by the test.
namespace lake::metasrv {

// One process with its session, its authority and its Metasrv.
class Node {
 public:
  Node(metastore::MetaStore& raw, objstore::ObjectStore& objects, Clock& clock, Random& random)
      : raw_(raw),
        clock_(clock),
        session_(Uuid::Random7(clock, random)),
        slot_(clock),
        store_(raw, clock, slot_),
        engine_(objects, clock, random, {}),
        maintainer_(objects, clock, random),
        service_({.store = store_,
                  .engine = engine_,
                  .maintainer = maintainer_,
                  .clock = clock,
                  .random = random},
                 {.session = session_, .warehouse = "/w", .workers = 2}) {}

  // Makes this node win the next term, as an election would.
  void Win() {
    const auto bytes = raw_.Get(lease::kTermKey, Soon()).value();
    lease::Epoch epoch(1);
    if (bytes.has_value()) {
      epoch = *lease::DecodeTerm(*bytes)->epoch.Next();
    }
    const std::string term =
        lease::Encode(lease::TermRecord{.epoch = epoch, .node = "n", .session = session_});
    const auto heartbeat = raw_.Get(lease::kHeartbeatKey, Soon()).value();
    metastore::Transaction takeover;
    takeover.Put(std::string(lease::kTermKey), AsRead(bytes), term);
    takeover.Put(
        std::string(lease::kHeartbeatKey), AsRead(heartbeat),
        lease::Encode(lease::HeartbeatRecord{
            .epoch = epoch, .session = session_, .ttl = std::chrono::milliseconds(10'000)}));
    ASSERT_TRUE(
        std::holds_alternative<metastore::Committed>(raw_.Commit(takeover, Soon()).value()));
    slot_.Publish({.guard = lease::LeaseGuard(epoch, term), .deadline = Deadline::max()});
  }

  Metasrv& service() { return service_; }

  lease::FencedStore& store() { return store_; }

 private:
  static metastore::Expectation AsRead(const std::optional<std::string>& bytes) {
    return bytes.has_value() ? metastore::Expectation::Exactly(*bytes)
                             : metastore::Expectation::Absent();
  }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(10); }

  metastore::MetaStore& raw_;
  Clock& clock_;
  const Uuid session_;
  lease::AuthoritySlot slot_;
  lease::FencedStore store_;
  engine::IcebergEngine engine_;
  engine::IcebergMaintainer maintainer_;
  Metasrv service_;
};

inline iceberg::Schema TestSchema() {
  return iceberg::Schema::Make({.fields = {{.id = iceberg::FieldId{1},
                                            .name = "id",
                                            .required = true,
                                            .type = iceberg::Type::Long()},
                                           {.id = iceberg::FieldId{2},
                                            .name = "note",
                                            .type = iceberg::Type::String()}}})
      .value();
}

}  // namespace lake::metasrv
