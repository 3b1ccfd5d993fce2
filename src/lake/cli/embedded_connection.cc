#include "lake/cli/embedded_connection.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "lake/cli/table_source.h"
#include "lake/cli/text.h"
#include "lake/server/embedded.h"
#include "lake/sql/parquet_data_file_writer.h"

namespace lake::cli {
namespace {

class EmbeddedConnection final : public Connection {
 public:
  EmbeddedConnection(std::unique_ptr<server::Embedded> lake, const Clock& clock, Random& random)
      : lake_(std::move(lake)),
        tables_(lake_->service(), lake_->reader(), clock),
        clock_(clock),
        random_(random) {}

  metasrv::MetaService& service() override { return lake_->service(); }

  const engine::SnapshotReader& reader() override { return lake_->reader(); }

  objstore::ObjectStore& objects() override { return lake_->objects(); }

  Result<engine::DataFileWriter*> writer() override {
    if (writer_ == nullptr) {
      LAKE_TRY(writer_, sql::ParquetDataFileWriter::Open(lake_->objects(), clock_, random_, {}));
    }
    return writer_.get();
  }

  Result<sql::SqlSession*> session() override {
    if (session_ == nullptr) {
      LAKE_TRY(session_, sql::SqlSession::Open(tables_, lake_->objects(), clock_, {}));
    }
    return session_.get();
  }

 private:
  // Destroyed from the last to the first: what reads before what it reads from.
  std::unique_ptr<server::Embedded> lake_;
  ServiceTableSource tables_;
  const Clock& clock_;
  Random& random_;
  std::unique_ptr<engine::DataFileWriter> writer_;
  std::unique_ptr<sql::SqlSession> session_;
};

// Where a directory is becomes part of every table's metadata, which is text.
Status CheckIsText(const std::string& data_dir) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(data_dir, failed);
  if (!failed && !IsUtf8(absolute.native())) {
    return InvalidArgument(absolute.native() + ": a data directory's path has to be UTF-8");
  }
  return {};
}

}  // namespace

Connect EmbeddedConnect(Clock& clock, Random& random) {
  return [&clock, &random](const ConnectRequest& request) -> Result<std::unique_ptr<Connection>> {
    LAKE_TRY_VOID(CheckIsText(request.data_dir));
    LAKE_TRY(
        std::unique_ptr<server::Embedded> lake,
        server::Embedded::Open({.data_dir = request.data_dir,
                                .access = request.access == Access::kWrite ? server::Access::kWrite
                                                                           : server::Access::kRead,
                                .lock_wait = request.wait,
                                .purpose = request.purpose},
                               clock, random));
    return std::make_unique<EmbeddedConnection>(std::move(lake), clock, random);
  };
}

}  // namespace lake::cli
