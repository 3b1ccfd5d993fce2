#include "lake/sql/parquet_data_file_writer.h"

#include <chrono>
#include <expected>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/failpoint.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/uuid.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/input_source_internal.h"
#include "lake/sql/instance_internal.h"
#include "lake/sql/object_file_system_internal.h"
#include "lake/sql/type_mapping_internal.h"
#include "lake/sql/written_files_internal.h"

namespace lake::sql {
namespace {

constexpr Duration kDeleteTimeout = std::chrono::seconds(60);

// Row groups of wide rows are closed before they fill memory.
constexpr std::uint64_t kRowGroupBytes = std::uint64_t{128} << 20;

// How much larger a data file may be than the inputs: text and other codecs pack less densely than zstd, never much more.
bool FitsOneFile(const engine::StageRequest& request) {
  std::uint64_t bytes = 0;
  for (const engine::StageInput& input : request.inputs) {
    std::error_code error;
    const auto size = std::filesystem::file_size(input.path, error);
    bytes += error ? 0 : size;
  }
  return bytes <= request.target_file_bytes;
}

// The names of the objects that a write has begun. Thread-safe.
class StartedObjects {
 public:
  void Add(std::string path) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    paths_.push_back(std::move(path));
  }

  std::vector<std::string> Take() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return std::exchange(paths_, {});
  }

 private:
  Mutex mutex_;
  std::vector<std::string> paths_ GUARDED_BY(mutex_);
};

// Runs a statement and tells how far it is. The error is DuckDB's, so that one can see where it comes from.
std::expected<duckdb::unique_ptr<duckdb::MaterializedQueryResult>, duckdb::ErrorData> Run(
    duckdb::Connection& connection, const std::string& sql,
    const std::function<void(const engine::StageProgress&)>& on_progress) {
  const auto pending = connection.PendingQuery(sql, /*allow_stream_result=*/false);
  if (pending->HasError()) {
    return std::unexpected(pending->GetErrorObject());
  }
  double told = 0;
  while (true) {
    const auto state = pending->ExecuteTask();
    if (duckdb::PendingQueryResult::IsResultReady(state)) {
      break;
    }
    if (state == duckdb::PendingExecutionResult::BLOCKED ||
        state == duckdb::PendingExecutionResult::NO_TASKS_AVAILABLE) {
      pending->WaitForTask();
    }
    const double fraction = connection.GetQueryProgress() / 100;
    if (on_progress && fraction - told >= 0.01) {
      told = fraction;
      on_progress({.fraction = fraction});
    }
  }
  if (pending->HasError()) {
    return std::unexpected(pending->GetErrorObject());
  }
  auto result = pending->Execute();
  if (result->HasError()) {
    return std::unexpected(result->GetErrorObject());
  }
  return duckdb::unique_ptr_cast<duckdb::QueryResult, duckdb::MaterializedQueryResult>(
      std::move(result));
}

}  // namespace

struct ParquetDataFileWriter::Impl {
  Impl(objstore::ObjectStore& store, const Clock& the_clock, Random& the_random,
       const Options& the_options)
      : objects(store), clock(the_clock), random(the_random), options(the_options) {}

  objstore::ObjectStore& objects;
  const Clock& clock;
  Random& random;
  const Options options;
  StartedObjects started;
  Instance instance;
  std::unique_ptr<duckdb::Connection> connection;

  Status Query(const std::string& sql) const {
    const auto result = connection->Query(sql);
    return result->HasError() ? Status(std::unexpected(ToError(result->GetErrorObject())))
                              : Status();
  }

  std::string CopyStatement(const engine::StageRequest& request,
                            const std::vector<InputSource>& sources, bool one_file) const {
    std::string rows;
    for (const InputSource& source : sources) {
      rows += (rows.empty() ? "" : " UNION ALL ") + source.Select();
    }
    const std::string name = Uuid::Random7(clock, random).ToString();
    const std::string location = ToObjectPath(request.data_location);
    const auto quote = [](const std::string& text) {
      return duckdb::KeywordHelper::WriteQuoted(text, '\'');
    };
    const std::string target = one_file ? location + "/" + name + ".parquet" : location;
    const std::string files =
        one_file ? std::string("USE_TMP_FILE false")
                 : fmt::format(
                       "FILE_SIZE_BYTES {}, FILENAME_PATTERN {}, OVERWRITE_OR_IGNORE true, "
                       "ROW_GROUP_SIZE_BYTES {}",
                       request.target_file_bytes, quote(name + "-{i}"), kRowGroupBytes);
    return fmt::format(
        "COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd, RETURN_STATS true, WRITE_EMPTY_FILE "
        "false, ROW_GROUP_SIZE {}, "
        "FIELD_IDS {}, {})",
        rows, quote(target), options.row_group_rows, FieldIdsOption(*request.schema), files);
  }

  Result<engine::StagedFiles> Write(const engine::StageRequest& request) {
    LAKE_TRY_VOID(CheckWritable(*request.schema));
    std::vector<InputSource> sources;
    for (const engine::StageInput& input : request.inputs) {
      LAKE_TRY(auto source, InputSource::Open(*connection, input, *request.schema));
      sources.push_back(std::move(source));
    }
    if (sources.empty()) {
      return engine::StagedFiles();
    }
    const bool one_file = FitsOneFile(request);
    LAKE_TRY_VOID(Query(fmt::format("SET preserve_insertion_order = {}", one_file)));
    auto copied = Run(*connection, CopyStatement(request, sources, one_file), request.on_progress);
    if (!copied.has_value()) {
      if (!IsLakeError(copied.error())) {
        for (const InputSource& source : sources) {
          LAKE_TRY_VOID(source.Diagnose(*connection));
        }
      }
      return std::unexpected(ToError(copied.error()));
    }
    LAKE_TRY_VOID(Failpoint("during-stage"));
    engine::StagedFiles staged;
    for (duckdb::idx_t row = 0; row < (*copied)->RowCount(); ++row) {
      LAKE_TRY(auto file, DescribeWrittenFile(*connection, *request.schema, **copied, row));
      staged.row_count += static_cast<std::uint64_t>(file.record_count);
      staged.files.push_back(std::move(file));
    }
    if (request.on_progress) {
      request.on_progress({.fraction = 1});
    }
    return staged;
  }
};

ParquetDataFileWriter::ParquetDataFileWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ParquetDataFileWriter::~ParquetDataFileWriter() = default;

Result<std::unique_ptr<ParquetDataFileWriter>> ParquetDataFileWriter::Open(
    objstore::ObjectStore& objects, const Clock& clock, Random& random, const Options& options) {
  auto impl = std::make_unique<Impl>(objects, clock, random, options);
  StartedObjects& started = impl->started;
  const InstanceOptions instance_options{
      .threads = options.threads,
      .memory_limit_bytes = options.memory_limit_bytes,
      .temp_directory = options.temp_directory,
      .write_objects = true,
      .on_object_started = [&started](const std::string& path) { started.Add(path); }};
  LAKE_TRY(impl->instance, OpenInstance(objects, clock, instance_options, nullptr));
  LAKE_TRY(impl->connection, Connect(impl->instance));
  // What a text without a zone means must not depend on the machine.
  LAKE_TRY_VOID(impl->Query("SET TimeZone = 'UTC'"));
  auto& client = duckdb::ClientConfig::GetConfig(*impl->connection->context);
  client.enable_progress_bar = true;  // Counts; it is printed by nobody.
  client.print_progress_bar = false;
  client.wait_time = 0;
  return std::unique_ptr<ParquetDataFileWriter>(new ParquetDataFileWriter(std::move(impl)));
}

Result<engine::StagedFiles> ParquetDataFileWriter::Stage(const engine::StageRequest& request) {
  LAKE_CHECK(request.schema != nullptr, "rows are written with a schema");
  auto staged = CatchDuckDb([&] { return impl_->Write(request); });
  const std::vector<std::string> started = impl_->started.Take();
  if (!staged.has_value() && !started.empty()) {
    IgnoreError(impl_->objects.Delete(started, impl_->clock.Now() + kDeleteTimeout),
                "nothing names these files; what is left of them is removed as orphans");
  }
  return staged;
}

Result<iceberg::Schema> ParquetDataFileWriter::InferSchema(const engine::StageInput& input) {
  return CatchDuckDb([&] { return InferInputSchema(*impl_->connection, input); });
}

}  // namespace lake::sql
