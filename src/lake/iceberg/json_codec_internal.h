#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/json_text.h"

// The vocabulary of the format's JSON codecs. Included by sources only. Reading functions return
// kInvalidArgument and name the member; a null member counts as a missing one, as other writers
// write nulls freely.
namespace lake::iceberg {

// Reads a whole number that fits 32 bits.
Result<std::optional<std::int32_t>> GetOptionalInt32(const boost::json::object& object,
                                                     std::string_view name);
Result<std::int32_t> GetInt32(const boost::json::object& object, std::string_view name);

// Reads one of the numbers in ids.h.
template <typename Id>
Result<std::optional<Id>> GetOptionalId(const boost::json::object& object, std::string_view name) {
  if constexpr (sizeof(std::underlying_type_t<Id>) == sizeof(std::int32_t)) {
    LAKE_TRY(const std::optional<std::int32_t> number, GetOptionalInt32(object, name));
    return number.has_value() ? std::optional(Id{*number}) : std::nullopt;
  } else {
    LAKE_TRY(const std::optional<std::int64_t> number, json::GetOptionalInt(object, name));
    return number.has_value() ? std::optional(Id{*number}) : std::nullopt;
  }
}

template <typename Id>
Result<Id> GetId(const boost::json::object& object, std::string_view name) {
  LAKE_TRY(const std::optional<Id> id, GetOptionalId<Id>(object, name));
  if (!id.has_value()) {
    return InvalidArgument(fmt::format("member '{}' is missing", name));
  }
  return *id;
}

// Reads a list of ids; a missing one is empty.
template <typename Id>
Result<std::vector<Id>> GetIds(const boost::json::object& object, std::string_view name) {
  using Number = std::underlying_type_t<Id>;
  LAKE_TRY(const boost::json::array* array, json::GetOptionalArray(object, name));
  std::vector<Id> ids;
  if (array != nullptr) {
    ids.reserve(array->size());
    for (const boost::json::value& element : *array) {
      if (!element.is_int64() || !std::in_range<Number>(element.get_int64())) {
        return InvalidArgument(fmt::format(
            "member '{}' holds something that is not a {}-bit integer", name, 8 * sizeof(Number)));
      }
      ids.push_back(Id{static_cast<Number>(element.get_int64())});
    }
  }
  return ids;
}

// Reads a list of strings; a missing one is empty.
Result<std::vector<std::string>> GetStrings(const boost::json::object& object,
                                            std::string_view name);

// Reads a UUID.
Result<Uuid> GetUuid(const boost::json::object& object, std::string_view name);

// Reads milliseconds since 1970.
Result<WallTime> GetTime(const boost::json::object& object, std::string_view name);

// Reads an object whose values are all strings; a missing one is empty.
Result<Properties> GetProperties(const boost::json::object& object, std::string_view name);

// Reads a list of objects with `read`, a function from const object& to Result<T>; a missing list
// is empty. An error says which element it is about.
template <typename Read>
auto GetList(const boost::json::object& object, std::string_view name, Read read) -> Result<
    std::vector<typename std::invoke_result_t<Read, const boost::json::object&>::value_type>> {
  LAKE_TRY(const boost::json::array* array, json::GetOptionalArray(object, name));
  std::vector<typename std::invoke_result_t<Read, const boost::json::object&>::value_type> list;
  if (array == nullptr) {
    return list;
  }
  list.reserve(array->size());
  for (const boost::json::value& element : *array) {
    const std::string where = fmt::format("{}[{}]", name, list.size());
    LAKE_TRY(const boost::json::object* member, json::AsObject(element, where));
    auto thing = read(*member);
    if (!thing.has_value()) {
      return std::unexpected(thing.error().With(where));
    }
    list.push_back(*std::move(thing));
  }
  return list;
}

// Parses a text that is a list of objects with `read`, as GetList does. `what` names the list in
// errors.
template <typename Read>
auto ParseList(std::string_view text, std::string_view what, Read read) {
  using List = decltype(GetList(boost::json::object(), what, read));
  Result<boost::json::value> value = json::Parse(text);
  if (!value.has_value()) {
    return List(std::unexpected(value.error().With(what)));
  }
  if (!value->is_array()) {
    return List(InvalidArgument(fmt::format("{}: not a JSON array", what)));
  }
  boost::json::object holder;
  holder[what] = *std::move(value);
  return GetList(holder, what, read);
}

// Collects the members that are not among `known`.
UnknownMembers CollectUnknown(const boost::json::object& object,
                              std::initializer_list<std::string_view> known);

// Writes back what CollectUnknown found. A member that the object has already stays as it is.
void AddUnknown(boost::json::object& object, const UnknownMembers& unknown);

// Writes what GetStrings reads.
boost::json::array WriteStrings(const std::vector<std::string>& strings);

// Writes what GetProperties reads.
boost::json::object WriteProperties(const Properties& properties);

// Writes what GetIds reads.
template <typename Id>
boost::json::array WriteIds(const std::vector<Id>& ids) {
  boost::json::array array;
  array.reserve(ids.size());
  for (const Id id : ids) {
    array.emplace_back(std::to_underlying(id));
  }
  return array;
}

// Writes what GetList reads; `write` makes an object of each element.
template <typename T, typename Write>
boost::json::array WriteList(const std::vector<T>& list, Write write) {
  boost::json::array array;
  array.reserve(list.size());
  for (const T& thing : list) {
    array.emplace_back(write(thing));
  }
  return array;
}

// Returns milliseconds since 1970, as GetTime reads them.
inline std::int64_t Millis(WallTime time) {
  return time.time_since_epoch().count();
}

// Adds a member if there is a value.
template <typename T>
void AddOptional(boost::json::object& object, std::string_view name,
                 const std::optional<T>& value) {
  if (!value.has_value()) {
    return;
  }
  if constexpr (std::is_enum_v<T>) {
    object[name] = std::to_underlying(*value);
  } else {
    object[name] = *value;
  }
}

}  // namespace lake::iceberg
