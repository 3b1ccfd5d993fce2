#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metasrv/maintenance.h"
#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {

inline const catalog::Namespace kNs{{"n"}};
inline const catalog::TableName kT{.ns = kNs, .name = "t"};
inline constexpr WallTime kNow{std::chrono::milliseconds(1'790'000'000'000)};

// A leader, its tables, and a process that may take over.
class MaintenanceWorld {
 public:
  MaintenanceWorld()
      : random_(7),
        meta_(clock_, {}),
        objects_(clock_),
        faulty_meta_(meta_),
        faulty_objects_(objects_),
        leader_(faulty_meta_, faulty_objects_, clock_, random_),
        successor_(meta_, objects_, clock_, random_) {
    clock_.SetWall(kNow);
    // So that a walk over the hours of operations is short.
    Write(std::string(catalog::kForgottenKey),
          catalog::Encode(catalog::ForgottenRecord{
              .before = catalog::OperationHour(kNow - std::chrono::days(2))}));
    leader_.Win();
    EXPECT_THAT(service().CreateNamespace({.ns = kNs}, Call()), testing::IsOk());
  }

  Metasrv& service() { return leader_.service(); }

  Node& leader() { return leader_; }

  Node& successor() { return successor_; }

  testing::ManualClock& clock() { return clock_; }

  testing::FaultyMetaStore& meta() { return faulty_meta_; }

  testing::FaultyObjectStore& objects() { return faulty_objects_; }

  testing::SeededRandom& random() { return random_; }

  objstore::MemoryObjectStore& under() { return objects_; }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  CallOptions Call() { return Call(Uuid::Random7(clock_, random_)); }

  CallOptions Call(const Uuid& id) {
    return {.operation = id, .retryable = true, .deadline = Soon()};
  }

  void Write(const std::string& key, const std::string& value) {
    metastore::Transaction transaction;
    transaction.Put(key, metastore::Expectation::Any(), value);
    ASSERT_THAT(meta_.Commit(transaction, Soon()), testing::IsOk());
  }

  void MakeTable(const catalog::TableName& name,
                 std::map<std::string, std::string> properties = {}) {
    ASSERT_THAT(
        service().CreateTable(
            {.name = name, .schema = TestSchema(), .properties = std::move(properties)}, Call()),
        testing::IsOk());
  }

  LoadedTable Load(const catalog::TableName& name) {
    return successor_.service().LoadTable(name, Soon()).value();
  }

  AppendRequest Request(const catalog::TableName& name, std::int64_t rows) {
    const LoadedTable table = Load(name);
    const std::string path =
        table.registration.location + "/data/" + Uuid::Random4(random_).ToString() + ".parquet";
    const std::string bytes = "PAR1" + std::string(static_cast<std::size_t>(rows), 'x');
    EXPECT_THAT(objects_.PutIfAbsent(path, bytes, Soon()), testing::IsOk());
    return {.name = name,
            .incarnation = table.registration.incarnation,
            .content = {path},
            .files = {{.file_path = path,
                       .record_count = rows,
                       .file_size_in_bytes = static_cast<std::int64_t>(bytes.size())}}};
  }

  void Append(const catalog::TableName& name, int count = 1) {
    for (int i = 0; i < count; ++i) {
      ASSERT_THAT(service().Append(Request(name, 1), Call()), testing::IsOk());
    }
  }

  Result<MaintenanceReport> Maintain(const MaintenanceRequest& request = {}) {
    return service().Maintain(request, Soon());
  }

  engine::CheckReport Check(const catalog::TableName& name) {
    return engine::SnapshotReader(objects_, clock_).Check(*Load(name).metadata, Soon()).value();
  }

  bool HasTombstone(const Uuid& incarnation) {
    return meta_.Get(catalog::TombstoneKey(incarnation), Soon()).value().has_value();
  }

  std::size_t CountPending() { return successor_.service().GetStatus(Soon())->pending.size(); }

 private:
  testing::ManualClock clock_;
  testing::SeededRandom random_;
  metastore::MemoryMetaStore meta_;
  objstore::MemoryObjectStore objects_;
  testing::FaultyMetaStore faulty_meta_;
  testing::FaultyObjectStore faulty_objects_;
  Node leader_;
  Node successor_;
};

// Makes a table whose older snapshots have expired: of five, one is left to keep.
inline void MakeOldTable(MaintenanceWorld& world, const catalog::TableName& name) {
  world.MakeTable(name);
  world.Append(name, 5);
  world.clock().SetWall(kNow + std::chrono::days(6));
}

}  // namespace lake::metasrv
