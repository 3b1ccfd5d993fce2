#include "lake/iceberg/table_properties.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace lake::iceberg {

bool OwnsItsFiles(const TableMetadata& metadata) {
  const auto found = metadata.properties.find(kGarbageCollectionProperty);
  if (found == metadata.properties.end()) {
    return true;
  }
  std::string value = found->second;
  std::ranges::transform(value, value.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return value == "true";
}

}  // namespace lake::iceberg
