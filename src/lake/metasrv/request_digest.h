#pragma once

#include <map>
#include <string>
#include <vector>

#include "lake/catalog/records.h"

namespace lake::metasrv {

// What makes two calls with one operation id the same request.
struct RequestStatement {
  catalog::OperationKind kind = catalog::OperationKind::kAppend;
  std::vector<std::string> names;              // In command-line form.
  std::map<std::string, std::string> options;  // What else was asked for.
  std::vector<std::string> content;            // What the caller says the content is.
};

// Returns the SHA-256 of the canonical form of `statement`, as docs/internals/keyspace.md specifies it.
std::string RequestDigest(const RequestStatement& statement);

}  // namespace lake::metasrv
