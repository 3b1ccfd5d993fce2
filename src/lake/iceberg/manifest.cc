#include "lake/iceberg/manifest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lake/base/result.h"

namespace lake::iceberg {
namespace {

constexpr std::array<std::pair<FileFormat, std::string_view>, 4> kFileFormatNames = {{
    {FileFormat::kAvro, "AVRO"},
    {FileFormat::kOrc, "ORC"},
    {FileFormat::kParquet, "PARQUET"},
    {FileFormat::kPuffin, "PUFFIN"},
}};

bool EqualsIgnoringCase(std::string_view upper, std::string_view text) {
  return std::ranges::equal(upper, text, [](char a, char b) {
    return a == static_cast<char>(std::toupper(static_cast<unsigned char>(b)));
  });
}

}  // namespace

std::string_view FileFormatName(FileFormat format) {
  return kFileFormatNames.at(static_cast<std::size_t>(format)).second;
}

Result<FileFormat> ParseFileFormat(std::string_view name) {
  for (const auto& [format, upper] : kFileFormatNames) {
    if (EqualsIgnoringCase(upper, name)) {
      return format;
    }
  }
  return InvalidArgument(
      fmt::format("file format '{}' is not one of avro, orc, parquet and puffin", name));
}

}  // namespace lake::iceberg
