#include "lake/metasrv/load_registered.h"

namespace lake::metasrv {

Result<engine::MetadataPtr> LoadRegistered(engine::TableEngine& engine,
                                           const catalog::TableName& name,
                                           const catalog::Registration& registration,
                                           Deadline deadline) {
  Result<engine::MetadataPtr> metadata = engine.Load(registration.metadata_location, deadline);
  if (metadata.has_value()) {
    return metadata;
  }
  const ErrorCode code = metadata.error().code() == ErrorCode::kNotFound ? ErrorCode::kCorruption
                                                                         : metadata.error().code();
  return std::unexpected(Error(code, metadata.error().message()).With("table " + name.ToString()));
}

}  // namespace lake::metasrv
