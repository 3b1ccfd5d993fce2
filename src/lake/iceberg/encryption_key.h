#pragma once

#include <optional>
#include <string>

#include "lake/iceberg/json_text.h"

namespace lake::iceberg {

// A key of the table's encryption scheme (v3), itself encrypted.
struct EncryptionKey {
  std::string key_id;
  std::string encrypted_key_metadata;  // Base64.
  std::optional<std::string> encrypted_by_id;
  Properties properties;
  UnknownMembers unknown;

  bool operator==(const EncryptionKey&) const = default;
};

}  // namespace lake::iceberg
