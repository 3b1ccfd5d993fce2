#include "lake/sql/sql_fixture_test_internal.h"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/testing/matchers.h"

namespace lake::sql {

using testing::IsOk;

iceberg::NestedField Field(std::int32_t id, std::string name, iceberg::Type type) {
  return {.id = iceberg::FieldId{id}, .name = std::move(name), .type = std::move(type)};
}

iceberg::NestedField Required(std::int32_t id, std::string name, iceberg::Type type) {
  return {.id = iceberg::FieldId{id},
          .name = std::move(name),
          .required = true,
          .type = std::move(type)};
}

iceberg::Schema MakeSchema(std::vector<iceberg::NestedField> fields) {
  auto schema = iceberg::Schema::Make({.fields = std::move(fields)});
  LAKE_CHECK(schema.has_value(), "a test's schema is valid");
  return *schema;
}

SqlFixture::SqlFixture() {
  auto writer = ParquetDataFileWriter::Open(objects_, clock_, random_, {.threads = 2});
  LAKE_CHECK(writer.has_value(), "the writer opens");
  writer_ = std::move(*writer);
  auto session = SqlSession::Open(tables_, objects_, clock_, {.threads = 2});
  LAKE_CHECK(session.has_value(), "the session opens");
  session_ = std::move(*session);
}

std::string SqlFixture::WriteFile(std::string_view name, std::string_view content) {
  std::string path = directory_.Join(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

Result<engine::StagedFiles> SqlFixture::StageInputs(const iceberg::Schema& schema,
                                                    std::vector<engine::StageInput> inputs) {
  return writer_->Stage({.schema = std::make_shared<const iceberg::Schema>(schema),
                         .inputs = std::move(inputs),
                         .data_location = "/warehouse/staged"});
}

std::vector<iceberg::DataFile> SqlFixture::Stage(const iceberg::Schema& schema,
                                                 std::string_view json_lines) {
  const std::string path = WriteFile(fmt::format("stage-{}.json", ++files_made_), json_lines);
  auto staged = StageInputs(schema, {{.path = path, .format = engine::InputFormat::kJson}});
  EXPECT_THAT(staged, IsOk());
  return staged.has_value() ? std::move(staged->files) : std::vector<iceberg::DataFile>();
}

std::string SqlFixture::WriteParquet(std::string_view name, std::string_view query) {
  std::string path = directory_.Join(name);
  EXPECT_THAT(session_->CopyQueryTo(query, path), IsOk());
  return path;
}

Result<std::string> SqlFixture::Query(std::string_view sql) {
  LAKE_TRY(QueryResult result, session_->Execute(sql));
  std::string text;
  while (true) {
    LAKE_TRY(const auto batch, result.Next());
    if (!batch.has_value()) {
      return text;
    }
    for (std::size_t row = 0; row < batch->row_count(); ++row) {
      for (std::size_t column = 0; column < result.columns().size(); ++column) {
        text += column == 0 ? "" : "|";
        text += batch->IsNull(row, column) ? "NULL" : batch->Text(row, column);
      }
      text += '\n';
    }
  }
}

std::size_t SqlFixture::ObjectCount() {
  const auto page = objects_.List("/", "", 10000, clock_.Now() + std::chrono::seconds(1));
  LAKE_CHECK(page.has_value() && !page->next.has_value(), "a test has few objects");
  return page->objects.size();
}

}  // namespace lake::sql
