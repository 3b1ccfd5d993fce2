#pragma once

#include <boost/json.hpp>

#include "lake/base/result.h"
#include "lake/iceberg/schema.h"

namespace lake::iceberg {

// schema_json.h on parsed JSON.
Result<Schema> ReadSchema(const boost::json::object& object);
boost::json::object WriteSchemaObject(const Schema& schema);

}  // namespace lake::iceberg
