#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lake/base/random.h"
#include "lake/base/uuid.h"
#include "lake/sql/catalog_internal.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/functions_internal.h"
#include "lake/sql/instance_internal.h"
#include "lake/sql/object_file_system_internal.h"

namespace lake::sql {
namespace {

// The source that the headers belong to: DuckDB 1.4.4. Nothing else is compatible with them.
constexpr std::string_view kSourceId = "6ddac802ff";

// A read is retried by nobody, so it may take its time; a written file may be large.
constexpr Duration kRequestTimeout = std::chrono::seconds(60);
constexpr Duration kWriteTimeout = std::chrono::hours(6);

std::string FreshTempDirectory() {
  SystemRandom random;
  return (std::filesystem::temp_directory_path() / ("lake-sql-" + Uuid::Random4(random).ToString()))
      .string();
}

// Functions that a SELECT could call for what they do. Logging into a file even ends the process when
// the guard refuses the file, because DuckDB opens it where nobody catches an exception.
constexpr std::array<const char*, 5> kFunctionsWithEffects = {
    "checkpoint", "disable_logging", "enable_logging", "force_checkpoint", "truncate_duckdb_logs"};

void DropFunctionsWithEffects(duckdb::DuckDB& database) {
  duckdb::Connection connection(database);
  duckdb::ClientContext& context = *connection.context;
  context.RunFunctionInTransaction([&] {
    auto& catalog = duckdb::Catalog::GetSystemCatalog(context);
    for (const char* name : kFunctionsWithEffects) {
      duckdb::DropInfo info;
      info.type = duckdb::CatalogType::TABLE_FUNCTION_ENTRY;
      info.schema = DEFAULT_SCHEMA;
      info.name = name;
      info.allow_drop_internal = true;
      catalog.DropEntry(context, info);
    }
  });
}

}  // namespace

Result<Instance> OpenInstance(objstore::ObjectStore& objects, const Clock& clock,
                              const InstanceOptions& options, TableSource* source) {
  if (duckdb::DuckDB::SourceID() != kSourceId) {
    return Internal(fmt::format(
        "the DuckDB library is {} ({}), but lake is built for 1.4.4 ({}); run tools/setup",
        duckdb::DuckDB::LibraryVersion(), duckdb::DuckDB::SourceID(), kSourceId));
  }
  return CatchDuckDb([&]() -> Result<Instance> {
    duckdb::DBConfig config;
    config.options.temporary_directory =
        options.temp_directory.empty() ? FreshTempDirectory() : options.temp_directory;
    config.options.autoload_known_extensions = false;
    config.options.autoinstall_known_extensions = false;
    config.SetOptionByName("allow_community_extensions", duckdb::Value::BOOLEAN(false));
    config.SetOptionByName("preserve_insertion_order", duckdb::Value::BOOLEAN(options.keep_order));
    if (options.threads != 0) {
      config.options.maximum_threads = options.threads;
    }
    if (options.memory_limit_bytes != 0) {
      config.options.maximum_memory = options.memory_limit_bytes;
    }
    auto files = duckdb::make_uniq<GuardedFileSystem>(
        GuardedFileSystem::Policy{.temp_directory = config.options.temporary_directory,
                                  .write_objects = options.write_objects});
    files->RegisterSubSystem(duckdb::make_uniq<ObjectFileSystem>(
        objects, clock,
        ObjectFileSystem::Options{.request_timeout = kRequestTimeout,
                                  .write_timeout = kWriteTimeout,
                                  .on_started = options.on_object_started}));
    Instance instance;
    instance.files = files.get();
    config.file_system = std::move(files);
    if (source != nullptr) {
      config.storage_extensions[kCatalogName] = MakeStorageExtension(*source);
    }
    instance.database = std::make_unique<duckdb::DuckDB>(nullptr, &config);
    DropFunctionsWithEffects(*instance.database);
    if (source != nullptr) {
      RegisterFunctions(*instance.database->instance);
      duckdb::Connection connection(*instance.database);
      const auto attached =
          connection.Query(fmt::format("ATTACH '' AS {0} (TYPE {0}, READ_ONLY)", kCatalogName));
      if (attached->HasError()) {
        return std::unexpected(ToError(attached->GetErrorObject()));
      }
    }
    return instance;
  });
}

Result<std::unique_ptr<duckdb::Connection>> Connect(Instance& instance) {
  return CatchDuckDb([&]() -> Result<std::unique_ptr<duckdb::Connection>> {
    auto connection = std::make_unique<duckdb::Connection>(*instance.database);
    if (instance.database->instance->config.storage_extensions.contains(kCatalogName)) {
      const auto used = connection->Query(fmt::format("USE {}", kCatalogName));
      if (used->HasError()) {
        return std::unexpected(ToError(used->GetErrorObject()));
      }
    }
    return connection;
  });
}

}  // namespace lake::sql
