#include <boost/json.hpp>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/encryption_key.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/table_parts_json_internal.h"

namespace lake::iceberg {

namespace bj = boost::json;

Result<EncryptionKey> ReadEncryptionKey(const bj::object& object) {
  EncryptionKey key;
  LAKE_TRY(key.key_id, json::GetString(object, "key-id"));
  LAKE_TRY(key.encrypted_key_metadata, json::GetString(object, "encrypted-key-metadata"));
  LAKE_TRY(key.encrypted_by_id, json::GetOptionalString(object, "encrypted-by-id"));
  LAKE_TRY(key.properties, GetProperties(object, "properties"));
  key.unknown =
      CollectUnknown(object, {"key-id", "encrypted-key-metadata", "encrypted-by-id", "properties"});
  return key;
}

bj::object WriteEncryptionKeyObject(const EncryptionKey& key) {
  bj::object object;
  object["key-id"] = key.key_id;
  object["encrypted-key-metadata"] = key.encrypted_key_metadata;
  AddOptional(object, "encrypted-by-id", key.encrypted_by_id);
  if (!key.properties.empty()) {
    object["properties"] = WriteProperties(key.properties);
  }
  AddUnknown(object, key.unknown);
  return object;
}

}  // namespace lake::iceberg
