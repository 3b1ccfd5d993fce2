#include <string>
#include <system_error>

#include <boost/json.hpp>

#include "lake/base/json_internal.h"

namespace lake::json {
namespace {

namespace bj = boost::json;

const bj::value* Find(const bj::object& object, std::string_view name) {
  const bj::value* found = object.if_contains(bj::string_view(name.data(), name.size()));
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::unexpected<Error> Missing(std::string_view name) {
  return InvalidArgument("member '" + std::string(name) + "' is missing");
}

std::unexpected<Error> NotA(std::string_view name, std::string_view type) {
  return InvalidArgument("member '" + std::string(name) + "' is not " + std::string(type));
}

void WriteIndented(const bj::value& value, std::size_t depth, std::string& out) {
  const std::string inner((depth + 1) * 2, ' ');
  const std::string outer(depth * 2, ' ');
  if (value.is_object() && !value.get_object().empty()) {
    const char* separator = "{\n";
    for (const auto& member : value.get_object()) {
      out += separator + inner + bj::serialize(member.key()) + ": ";
      WriteIndented(member.value(), depth + 1, out);
      separator = ",\n";
    }
    out += "\n" + outer + "}";
  } else if (value.is_array() && !value.get_array().empty()) {
    const char* separator = "[\n";
    for (const auto& element : value.get_array()) {
      out += separator + inner;
      WriteIndented(element, depth + 1, out);
      separator = ",\n";
    }
    out += "\n" + outer + "]";
  } else {
    out += bj::serialize(value);
  }
}

}  // namespace

Result<bj::value> Parse(std::string_view text) {
  bj::parse_options options;
  options.max_depth = kDepthMax;
  bj::stream_parser parser(bj::storage_ptr(), options);
  bj::error_code failure;
  const std::size_t used = parser.write_some(text.data(), text.size(), failure);
  if (!failure && used == text.size()) {
    // A number at the very end is complete only now.
    parser.finish(failure);
  }
  if (failure) {
    return InvalidArgument("JSON: " + failure.message() + " at byte " + std::to_string(used));
  }
  if (!parser.done()) {
    return InvalidArgument("JSON: the text ends too early, at byte " + std::to_string(used));
  }
  if (text.find_first_not_of(" \t\r\n", used) != std::string_view::npos) {
    return InvalidArgument("JSON: extra data at byte " + std::to_string(used));
  }
  return parser.release();
}

std::string Write(const bj::value& value) {
  return bj::serialize(value);
}

std::string WritePretty(const bj::value& value) {
  std::string out;
  WriteIndented(value, 0, out);
  out += '\n';
  return out;
}

Result<const bj::object*> AsObject(const bj::value& value, std::string_view what) {
  if (!value.is_object()) {
    return InvalidArgument(std::string(what) + " is not a JSON object");
  }
  return &value.get_object();
}

Result<std::string> GetString(const bj::object& object, std::string_view name) {
  LAKE_TRY(std::optional<std::string> value, GetOptionalString(object, name));
  if (!value.has_value()) {
    return Missing(name);
  }
  return *std::move(value);
}

Result<std::int64_t> GetInt(const bj::object& object, std::string_view name) {
  LAKE_TRY(const std::optional<std::int64_t> value, GetOptionalInt(object, name));
  if (!value.has_value()) {
    return Missing(name);
  }
  return *value;
}

Result<bool> GetBool(const bj::object& object, std::string_view name) {
  const bj::value* value = Find(object, name);
  if (value == nullptr) {
    return Missing(name);
  }
  if (!value->is_bool()) {
    return NotA(name, "a boolean");
  }
  return value->get_bool();
}

Result<const bj::object*> GetObject(const bj::object& object, std::string_view name) {
  LAKE_TRY(const bj::object* value, GetOptionalObject(object, name));
  if (value == nullptr) {
    return Missing(name);
  }
  return value;
}

Result<const bj::array*> GetArray(const bj::object& object, std::string_view name) {
  LAKE_TRY(const bj::array* value, GetOptionalArray(object, name));
  if (value == nullptr) {
    return Missing(name);
  }
  return value;
}

Result<std::optional<std::string>> GetOptionalString(const bj::object& object, std::string_view name) {
  const bj::value* value = Find(object, name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    return NotA(name, "a string");
  }
  return std::string(value->get_string());
}

Result<std::optional<std::int64_t>> GetOptionalInt(const bj::object& object, std::string_view name) {
  const bj::value* value = Find(object, name);
  if (value == nullptr) {
    return std::nullopt;
  }
  // The parser makes a uint64 only of a number that does not fit int64; nothing we read is that large.
  if (!value->is_int64()) {
    return NotA(name, "a 64-bit integer");
  }
  return value->get_int64();
}

Result<const bj::object*> GetOptionalObject(const bj::object& object, std::string_view name) {
  const bj::value* value = Find(object, name);
  if (value == nullptr) {
    return nullptr;
  }
  if (!value->is_object()) {
    return NotA(name, "an object");
  }
  return &value->get_object();
}

Result<const bj::array*> GetOptionalArray(const bj::object& object, std::string_view name) {
  const bj::value* value = Find(object, name);
  if (value == nullptr) {
    return nullptr;
  }
  if (!value->is_array()) {
    return NotA(name, "an array");
  }
  return &value->get_array();
}

}  // namespace lake::json
