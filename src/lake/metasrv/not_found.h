#pragma once

#include "lake/base/result.h"
#include "lake/catalog/names.h"

namespace lake::metasrv {

// What is answered for a name that nothing has, the same wherever it is noticed: kNotFound.
Error NoSuchNamespace(const catalog::Namespace& ns);
Error NoSuchTable(const catalog::TableName& name);
Error NoSuchView(const catalog::TableName& name);

}  // namespace lake::metasrv
