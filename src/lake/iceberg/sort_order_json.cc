#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_parts_json_internal.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

Result<SortDirection> ReadDirection(const bj::object& object) {
  LAKE_TRY(const std::string text, json::GetString(object, "direction"));
  if (text == "asc") {
    return SortDirection::kAscending;
  }
  if (text == "desc") {
    return SortDirection::kDescending;
  }
  return InvalidArgument(fmt::format("member 'direction' is {}, not asc or desc", Quoted(text)));
}

Result<NullOrder> ReadNullOrder(const bj::object& object) {
  LAKE_TRY(const std::string text, json::GetString(object, "null-order"));
  if (text == "nulls-first") {
    return NullOrder::kNullsFirst;
  }
  if (text == "nulls-last") {
    return NullOrder::kNullsLast;
  }
  return InvalidArgument(
      fmt::format("member 'null-order' is {}, not nulls-first or nulls-last", Quoted(text)));
}

Result<SortField> ReadField(const bj::object& object) {
  SortField field;
  LAKE_TRY(field.source_ids, ReadSourceIds(object));
  LAKE_TRY(field.transform, json::GetString(object, "transform"));
  LAKE_TRY(field.direction, ReadDirection(object));
  LAKE_TRY(field.null_order, ReadNullOrder(object));
  field.unknown =
      CollectUnknown(object, {"source-id", "source-ids", "transform", "direction", "null-order"});
  return field;
}

bj::object WriteField(const SortField& field) {
  bj::object object;
  object["transform"] = field.transform;
  WriteSourceIds(object, field.source_ids);
  object["direction"] = field.direction == SortDirection::kAscending ? "asc" : "desc";
  object["null-order"] = field.null_order == NullOrder::kNullsFirst ? "nulls-first" : "nulls-last";
  AddUnknown(object, field.unknown);
  return object;
}

}  // namespace

Result<SortOrder> ReadSortOrder(const bj::object& object) {
  SortOrder order;
  LAKE_TRY(order.order_id, GetId<SortOrderId>(object, "order-id"));
  LAKE_TRY_VOID(json::GetArray(object, "fields"));
  LAKE_TRY(order.fields, GetList(object, "fields", ReadField));
  order.unknown = CollectUnknown(object, {"order-id", "fields"});
  return order;
}

bj::object WriteSortOrderObject(const SortOrder& order) {
  bj::object object;
  object["order-id"] = std::to_underlying(order.order_id);
  object["fields"] = WriteList(order.fields, WriteField);
  AddUnknown(object, order.unknown);
  return object;
}

}  // namespace lake::iceberg
