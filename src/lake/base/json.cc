#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

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

// Builds a value from the events of Boost's parser. Boost 1.81's own builder is not used because it
// computes three doubles in ten one unit in the last place too high or too low and turns numbers
// out of range into infinity: a document that is read and written again would change.
struct Builder {
  static constexpr std::size_t max_object_size = bj::object::max_size();
  static constexpr std::size_t max_array_size = bj::array::max_size();
  static constexpr std::size_t max_key_size = bj::string::max_size();
  static constexpr std::size_t max_string_size = bj::string::max_size();

  bj::value_stack stack;
  std::string number;  // The parts seen so far of the number being read.

  bool on_document_begin(bj::error_code& /*failure*/) {
    stack.reset();
    return true;
  }

  bool on_document_end(bj::error_code& /*failure*/) { return true; }

  bool on_object_begin(bj::error_code& /*failure*/) { return true; }

  bool on_object_end(std::size_t size, bj::error_code& /*failure*/) {
    stack.push_object(size);
    return true;
  }

  bool on_array_begin(bj::error_code& /*failure*/) { return true; }

  bool on_array_end(std::size_t size, bj::error_code& /*failure*/) {
    stack.push_array(size);
    return true;
  }

  bool on_key_part(bj::string_view part, std::size_t /*size*/, bj::error_code& /*failure*/) {
    stack.push_chars(part);
    return true;
  }

  bool on_key(bj::string_view rest, std::size_t /*size*/, bj::error_code& /*failure*/) {
    stack.push_key(rest);
    return true;
  }

  bool on_string_part(bj::string_view part, std::size_t /*size*/, bj::error_code& /*failure*/) {
    stack.push_chars(part);
    return true;
  }

  bool on_string(bj::string_view rest, std::size_t /*size*/, bj::error_code& /*failure*/) {
    stack.push_string(rest);
    return true;
  }

  bool on_number_part(bj::string_view part, bj::error_code& /*failure*/) {
    number.append(part.data(), part.size());
    return true;
  }

  bool on_int64(std::int64_t value, bj::string_view /*rest*/, bj::error_code& /*failure*/) {
    number.clear();
    stack.push_int64(value);
    return true;
  }

  bool on_uint64(std::uint64_t value, bj::string_view /*rest*/, bj::error_code& /*failure*/) {
    number.clear();
    stack.push_uint64(value);
    return true;
  }

  bool on_double(double /*approximate*/, bj::string_view rest, bj::error_code& failure) {
    number.append(rest.data(), rest.size());
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(value)) {
      failure = bj::error::not_exact;
      return false;
    }
    number.clear();
    stack.push_double(value);
    return true;
  }

  bool on_bool(bool value, bj::error_code& /*failure*/) {
    stack.push_bool(value);
    return true;
  }

  bool on_null(bj::error_code& /*failure*/) {
    stack.push_null();
    return true;
  }

  bool on_comment_part(bj::string_view /*part*/, bj::error_code& /*failure*/) { return true; }

  bool on_comment(bj::string_view /*rest*/, bj::error_code& /*failure*/) { return true; }
};

}  // namespace

Result<bj::value> Parse(std::string_view text) {
  bj::parse_options options;
  options.max_depth = kDepthMax;
  bj::basic_parser<Builder> parser(options);
  bj::error_code failure;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), failure);
  if (failure == bj::error::not_exact) {
    return InvalidArgument("JSON: number out of range near byte " + std::to_string(used));
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
  return parser.handler().stack.release();
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

Result<std::optional<std::string>> GetOptionalString(const bj::object& object,
                                                     std::string_view name) {
  const bj::value* value = Find(object, name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    return NotA(name, "a string");
  }
  return std::string(value->get_string());
}

Result<std::optional<std::int64_t>> GetOptionalInt(const bj::object& object,
                                                   std::string_view name) {
  const bj::value* value = Find(object, name);
  if (value == nullptr) {
    return std::nullopt;
  }
  // The parser makes a uint64 only of a number that does not fit int64; nothing we read is that
  // large.
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
