#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lake/iceberg/schema.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/sql/fake_tables_test_internal.h"
#include "lake/sql/parquet_data_file_writer.h"
#include "lake/sql/session.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/seeded_random.h"
#include "lake/testing/temp_dir.h"

namespace lake::sql {

// Makes an optional field.
iceberg::NestedField Field(std::int32_t id, std::string name, iceberg::Type type);
// Makes a required field.
iceberg::NestedField Required(std::int32_t id, std::string name, iceberg::Type type);
iceberg::Schema MakeSchema(std::vector<iceberg::NestedField> fields);

// What tests of this module start from: tables, a writer that fills them, and a session over them. Two threads.
class SqlFixture : public ::testing::Test {
 protected:
  SqlFixture();

  // Writes a file into the test's directory and returns its path.
  std::string WriteFile(std::string_view name, std::string_view content);

  // Writes rows, given as JSON lines, as data files of the schema. Fails the test on an error.
  std::vector<iceberg::DataFile> Stage(const iceberg::Schema& schema, std::string_view json_lines);

  // Stages inputs into "/warehouse/staged".
  Result<engine::StagedFiles> StageInputs(const iceberg::Schema& schema,
                                          std::vector<engine::StageInput> inputs);

  // Makes a Parquet file of a DuckDB query in the test's directory and returns its path; without field ids.
  std::string WriteParquet(std::string_view name, std::string_view query);

  // Runs statements and returns the rows of the last: a line for each, values separated by "|", null as "NULL".
  Result<std::string> Query(std::string_view sql);

  // How many objects there are in the store.
  std::size_t ObjectCount();

  testing::ManualClock clock_;
  testing::SeededRandom random_{7};
  testing::TempDir directory_;
  objstore::MemoryObjectStore objects_{clock_};
  FakeTables tables_;
  std::unique_ptr<ParquetDataFileWriter> writer_;
  std::unique_ptr<SqlSession> session_;
  int files_made_ = 0;
};

}  // namespace lake::sql
