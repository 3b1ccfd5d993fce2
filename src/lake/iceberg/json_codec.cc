#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/quoted_internal.h"

namespace lake::iceberg {
namespace bj = boost::json;

Result<std::optional<std::int32_t>> GetOptionalInt32(const bj::object& object,
                                                     std::string_view name) {
  LAKE_TRY(const std::optional<std::int64_t> number, json::GetOptionalInt(object, name));
  if (!number.has_value()) {
    return std::nullopt;
  }
  if (!std::in_range<std::int32_t>(*number)) {
    return InvalidArgument(
        fmt::format("member '{}' is {}, which does not fit 32 bits", name, *number));
  }
  return static_cast<std::int32_t>(*number);
}

Result<std::int32_t> GetInt32(const bj::object& object, std::string_view name) {
  LAKE_TRY(const std::optional<std::int32_t> number, GetOptionalInt32(object, name));
  if (!number.has_value()) {
    return InvalidArgument(fmt::format("member '{}' is missing", name));
  }
  return *number;
}

Result<WallTime> GetTime(const bj::object& object, std::string_view name) {
  LAKE_TRY(const std::int64_t millis, json::GetInt(object, name));
  return WallTime(std::chrono::milliseconds(millis));
}

Result<std::vector<std::string>> GetStrings(const bj::object& object, std::string_view name) {
  LAKE_TRY(const bj::array* array, json::GetOptionalArray(object, name));
  std::vector<std::string> strings;
  if (array != nullptr) {
    for (const bj::value& element : *array) {
      if (!element.is_string()) {
        return InvalidArgument(
            fmt::format("member '{}' holds something that is not a string", name));
      }
      strings.emplace_back(element.get_string());
    }
  }
  return strings;
}

Result<Uuid> GetUuid(const bj::object& object, std::string_view name) {
  LAKE_TRY(const std::string text, json::GetString(object, name));
  return WithContext(Uuid::Parse(text), fmt::format("member '{}'", name));
}

Result<Properties> GetProperties(const bj::object& object, std::string_view name) {
  LAKE_TRY(const bj::object* members, json::GetOptionalObject(object, name));
  Properties properties;
  if (members != nullptr) {
    for (const auto& member : *members) {
      if (!member.value().is_string()) {
        return InvalidArgument(fmt::format("member '{}': the value of {} is not a string", name,
                                           Quoted(member.key())));
      }
      properties.emplace(member.key(), member.value().get_string());
    }
  }
  return properties;
}

UnknownMembers CollectUnknown(const bj::object& object,
                              std::initializer_list<std::string_view> known) {
  UnknownMembers unknown;
  for (const auto& member : object) {
    if (std::ranges::find(known, std::string_view(member.key())) == known.end()) {
      unknown.emplace(member.key(), JsonText{json::Write(member.value())});
    }
  }
  return unknown;
}

void AddUnknown(bj::object& object, const UnknownMembers& unknown) {
  for (const auto& [name, text] : unknown) {
    Result<bj::value> value = json::Parse(text.text);
    LAKE_CHECK(value.has_value(), "what is kept of a JSON document is JSON");
    object.emplace(name, *std::move(value));
  }
}

bj::array WriteStrings(const std::vector<std::string>& strings) {
  bj::array array;
  array.reserve(strings.size());
  for (const std::string& text : strings) {
    array.emplace_back(text);
  }
  return array;
}

bj::object WriteProperties(const Properties& properties) {
  bj::object object;
  object.reserve(properties.size());
  for (const auto& [name, value] : properties) {
    object.emplace(name, value);
  }
  return object;
}

}  // namespace lake::iceberg
