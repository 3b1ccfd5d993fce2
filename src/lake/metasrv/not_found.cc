#include "lake/metasrv/not_found.h"

#include <fmt/format.h>

namespace lake::metasrv {

Error NoSuchNamespace(const catalog::Namespace& ns) {
  return Error(ErrorCode::kNotFound, fmt::format("namespace {} does not exist", ns.ToString()));
}

Error NoSuchTable(const catalog::TableName& name) {
  return Error(ErrorCode::kNotFound, fmt::format("table {} does not exist", name.ToString()));
}

Error NoSuchView(const catalog::TableName& name) {
  return Error(ErrorCode::kNotFound, fmt::format("view {} does not exist", name.ToString()));
}

}  // namespace lake::metasrv
