#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metasrv/service.h"
#include "lake/metastore/metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/seeded_random.h"

// The world in which recovery is tried out: the stores it is tried over (Stores), what there is at the beginning (Scene), the changes
// that are tried (Intents), and two processes, of which one comes to harm (World).
//
// A new kind of store is an entry of Stores(), a new kind of change an entry of Intents(); what they need at the beginning is made in
// MakeScene. recovery_test.cc runs every intent over every store through every fault.
namespace lake::metasrv {

// A kind of MetaStore that the control plane must work over.
struct StoreKind {
  std::string_view name;
  // Returns an empty store that nobody else uses. Deadlines may be counted on `clock`, which outlives what the caller does with it.
  std::shared_ptr<metastore::MetaStore> (*make)(Clock& clock) = nullptr;
};

const std::vector<StoreKind>& Stores();

// What there is when a story begins. It is made once, by an earlier leader, and copied into the stores of every story, so that all of
// them see the same identities. In the namespace `n`: the table `t`, with one append of 7 rows; `u`, with 4 and then 2, of whose two
// snapshots only one is to be kept; `dropped`, with 9, which was dropped again; and a view, `v`. The namespace `empty` has nothing in it.
struct Scene {
  std::map<std::string, std::string>
      records;  // Of the MetaStore, the earlier leader's lease among them.
  std::map<std::string, std::string> objects;  // Of the object store.
  AppendRequest append;                        // 5 rows for `t`, staged.
  AppendRequest other_append;                  // 3 rows for `t`, staged.
  RegisterTableRequest register_dropped;
  ViewRequest new_view;       // Of a name that is free.
  ViewRequest replaced_view;  // The next version of `v`.
};

const Scene& TheScene();

inline const catalog::Namespace kNs{{"n"}};
inline const catalog::Namespace kEmptyNs{{"empty"}};
inline const catalog::Namespace kNewNs{{"new"}};
inline const catalog::Namespace kOtherNs{{"other"}};
inline const catalog::TableName kTable{.ns = kNs, .name = "t"};
inline const catalog::TableName kSecondTable{.ns = kNs, .name = "u"};
inline const catalog::TableName kDroppedTable{.ns = kNs, .name = "dropped"};
inline const catalog::TableName kNewTable{.ns = kNs, .name = "new"};
inline const catalog::TableName kView{.ns = kNs, .name = "v"};
inline const catalog::TableName kNewView{.ns = kNs, .name = "w"};

// A kind of change, as it is tried.
struct Intent {
  std::string_view name;
  // Whether it reads or writes files, so that the object store is one of the places where it can fail.
  bool uses_files = false;
  // Whether it is reserved before it is published, so that a successor can find it half done.
  bool reserves = false;
  // Whether every attempt has the identity of the first one, and answers as it did. Work of the leader's own has a new one each time.
  bool repeats_id = true;
  // Whether it removes the files of kTable, all of them, once it is published.
  bool purges = false;
  // Whether it removes files of kSecondTable that are there from the beginning.
  bool expires = false;
  // Carries it out. What it asks for is the same in every attempt.
  Result<TableResult> (*perform)(const Scene& scene, MetaService& service,
                                 const CallOptions& call) = nullptr;
  // Makes another change that succeeds whether or not this one has happened, and whose traces can be told from its own: of the same
  // table where there is one before and after, so that what is pending there must be settled first.
  Result<TableResult> (*disturb)(const Scene& scene, MetaService& service,
                                 const CallOptions& call) = nullptr;
};

const std::vector<Intent>& Intents();

// Two processes over one store. The first, which leads, reaches it through stores that fail; the second does not.
class World {
 public:
  World(const StoreKind& store, const Intent& intent);

  testing::FaultyMetaStore& meta() { return faulty_meta_; }

  testing::FaultyObjectStore& objects() { return faulty_objects_; }

  // The stores as they are.
  metastore::MetaStore& raw_meta() { return *meta_; }

  objstore::MemoryObjectStore& raw_objects() { return objects_; }

  Node& leader() { return leader_; }

  Node& successor() { return successor_; }

  testing::ManualClock& clock() { return clock_; }

  Random& random() { return random_; }

  // From now on nothing that the leader sends reaches a store, and no answer reaches it: it is dead. Also called from inside a call.
  void KillLeader() { leader_is_dead_ = true; }

  // Takes all faults away but the leader's death.
  void StopHarm();

  bool leader_is_dead() const { return leader_is_dead_; }

  // Carries the operation out through `node`: the same one, whoever is asked and however often.
  Result<TableResult> Perform(Node& node);
  // Makes the intent's other change through `node`.
  void Disturb(Node& node);

  // Returns what everybody sees, without identities: dropped tables that can be brought back too, but none that is being purged.
  std::string State();
  // Checks that a purge, where the intent has one, has come to its end: there is neither a file nor a tombstone.
  void CheckPurged();
  // Checks that every table is whole: all its files are there, and hold the rows that it claims to have.
  void CheckTables();
  // Returns how many operations are pending.
  std::size_t PendingCount();

  const Uuid& id() const { return id_; }

  Uuid NewId() { return Uuid::Random7(clock_, random_); }

  CallOptions Call(const Uuid& id) {
    return {.operation = id, .retryable = true, .deadline = Soon()};
  }

  Deadline Soon() const;

 private:
  void SilenceTheDead();
  void ForEachTable(const std::function<void(const LoadedTable&)>& visit);

  testing::ManualClock clock_;
  testing::SeededRandom random_;
  const Intent& intent_;
  const std::shared_ptr<metastore::MetaStore> meta_;
  objstore::MemoryObjectStore objects_;
  testing::FaultyMetaStore faulty_meta_;
  testing::FaultyObjectStore faulty_objects_;
  std::atomic<bool> leader_is_dead_ = false;
  Node leader_;
  Node successor_;
  Uuid id_;
};

}  // namespace lake::metasrv
