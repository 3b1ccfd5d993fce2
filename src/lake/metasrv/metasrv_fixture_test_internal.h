#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {

// One node over a memory store that never fails, and what most tests of the control plane do with it.
class MetasrvTest : public ::testing::Test {
 protected:
  MetasrvTest() : random_(7), meta_(clock_, {}), objects_(clock_) {
    clock_.SetWall(WallTime(std::chrono::milliseconds(1'790'000'000'000)));
    node_ = std::make_unique<Node>(meta_, objects_, clock_, random_);
  }

  void Lead() { node_->Win(); }

  Metasrv& service() { return node_->service(); }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  CallOptions Call() { return Call(NewId()); }

  CallOptions Call(const Uuid& id) {
    return {.operation = id, .retryable = true, .deadline = Soon()};
  }

  Uuid NewId() { return Uuid::Random7(clock_, random_); }

  void MakeTable(const catalog::TableName& name) {
    IgnoreError(service().CreateNamespace({.ns = name.ns}, Call()), "it may be there");
    ASSERT_THAT(service().CreateTable({.name = name, .schema = TestSchema()}, Call()),
                testing::IsOk());
  }

  // A staged file of `rows` rows for a table, whose content does not matter.
  iceberg::DataFile Stage(const LoadedTable& table, std::int64_t rows) {
    const std::string path =
        table.registration.location + "/data/" + Uuid::Random4(random_).ToString() + ".parquet";
    const std::string bytes = "PAR1" + std::string(static_cast<std::size_t>(rows), 'x');
    EXPECT_THAT(objects_.PutIfAbsent(path, bytes, Soon()), testing::IsOk());
    return {.file_path = path,
            .record_count = rows,
            .file_size_in_bytes = static_cast<std::int64_t>(bytes.size())};
  }

  LoadedTable Load(const catalog::TableName& name) {
    return service().LoadTable(name, Soon()).value();
  }

  AppendRequest Request(const catalog::TableName& name, const std::string& content,
                        std::int64_t rows) {
    const LoadedTable table = Load(name);
    return {.name = name,
            .incarnation = table.registration.incarnation,
            .content = {content},
            .files = {Stage(table, rows)}};
  }

  engine::CheckReport Check(const catalog::TableName& name) {
    const LoadedTable table = Load(name);
    return engine::SnapshotReader(objects_, clock_).Check(*table.metadata, Soon()).value();
  }

  static inline const catalog::Namespace kNs{{"n"}};
  static inline const catalog::TableName kT{.ns = kNs, .name = "t"};

  testing::ManualClock clock_;
  testing::SeededRandom random_;
  metastore::MemoryMetaStore meta_;
  objstore::MemoryObjectStore objects_;
  std::unique_ptr<Node> node_;
};

}  // namespace lake::metasrv
