#include "lake/metasrv/request_digest.h"

#include <utility>

#include <boost/json.hpp>

#include "lake/base/hash.h"
#include "lake/base/json_internal.h"

namespace lake::metasrv {

std::string RequestDigest(const RequestStatement& statement) {
  namespace bj = boost::json;
  const auto list = [](const std::vector<std::string>& texts) {
    bj::array array;
    for (const std::string& text : texts) {
      array.push_back(bj::string(text));
    }
    return array;
  };
  bj::object options;
  for (const auto& [name, value] : statement.options) {
    options[name] = value;
  }
  const std::string_view kind = catalog::OperationKindName(statement.kind);
  bj::object object;
  object["kind"] = bj::string(kind.data(), kind.size());
  object["names"] = list(statement.names);
  object["options"] = std::move(options);
  object["content"] = list(statement.content);
  return Sha256Hex(json::Write(object));
}

}  // namespace lake::metasrv
