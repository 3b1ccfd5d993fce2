// Checks a commit's requirements and applies its updates, both in the JSON that clients send.
//
//   lake_update_tool METADATA_FILE REQUIREMENTS_FILE UPDATES_FILE NOW_MILLIS
//
// Prints the metadata that comes of it. METADATA_FILE is "-" for a table that does not exist. Ends
// with code 1 and the error, which begins with its code, when the commit is refused.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/table_requirement.h"
#include "lake/iceberg/table_requirement_json.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_update_apply.h"
#include "lake/iceberg/table_update_json.h"

namespace lake::iceberg {
namespace {

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    return NotFound(fmt::format("{} cannot be read", path));
  }
  return bytes;
}

Result<WallTime> ParseTime(std::string_view text) {
  std::int64_t millis = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), millis);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument(fmt::format("{} is no time in milliseconds", text));
  }
  return WallTime(std::chrono::milliseconds(millis));
}

Result<std::string> Run(const std::vector<std::string>& arguments) {
  const std::string& location = arguments[0];
  std::optional<TableMetadata> base;
  if (location != "-") {
    LAKE_TRY(const std::string bytes, ReadFile(location));
    LAKE_TRY(base, ParseTableMetadata(bytes));
  }
  LAKE_TRY(const std::string requirements_text, ReadFile(arguments[1]));
  LAKE_TRY(const std::vector<TableRequirement> requirements,
           ParseTableRequirements(requirements_text));
  LAKE_TRY(const std::string updates_text, ReadFile(arguments[2]));
  LAKE_TRY(const std::vector<TableUpdate> updates, ParseTableUpdates(updates_text));
  LAKE_TRY(const WallTime now, ParseTime(arguments[3]));
  LAKE_TRY_VOID(CheckRequirements(base.has_value() ? &*base : nullptr, requirements));
  auto next = base.has_value()
                  ? ApplyUpdates(*base, updates, {.now = now, .base_location = location})
                  : NewTableFromUpdates(updates, {.now = now});
  LAKE_TRY(const TableMetadata metadata, std::move(next));
  return WriteTableMetadata(metadata);
}

}  // namespace
}  // namespace lake::iceberg

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr,
               "usage: lake_update_tool METADATA_FILE REQUIREMENTS_FILE UPDATES_FILE NOW_MILLIS\n");
    return 2;
  }
  const lake::Result<std::string> metadata = lake::iceberg::Run({argv + 1, argv + argc});
  if (!metadata.has_value()) {
    fmt::print(stderr, "{}\n", metadata.error().ToString());
    return 1;
  }
  fmt::print("{}\n", *metadata);
  return 0;
}
