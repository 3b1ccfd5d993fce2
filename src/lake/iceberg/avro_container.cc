#include "lake/iceberg/avro_container.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/avro_wire_internal.h"

namespace lake::iceberg {
namespace {

constexpr std::string_view kMagic("Obj\1", 4);
constexpr std::string_view kSchemaKey = "avro.schema";
constexpr std::string_view kCodecKey = "avro.codec";
constexpr std::string_view kReservedPrefix = "avro.";

// A key and a value of the header take at least their two lengths.
constexpr std::size_t kHeaderEntryBytesMin = 2;

std::unexpected<Error> Damaged(std::string_view what, const AvroInput& in) {
  return Corruption(fmt::format("avro {}: {} at byte {}", what, in.failure(), in.failure_offset()));
}

}  // namespace

Result<AvroContainerReader> AvroContainerReader::Open(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return Corruption("this is no avro container: it does not begin with 'Obj' and 1");
  }
  AvroContainerReader reader;
  AvroInput in(bytes.substr(kMagic.size()));
  ReadAvroItems(in, kHeaderEntryBytesMin, [&] {
    const std::string_view key = in.ReadBytes();
    const std::string_view value = in.ReadBytes();
    reader.metadata_.insert_or_assign(std::string(key), std::string(value));
  });
  const std::string_view sync = in.ReadFixed(kAvroSyncBytes);
  if (!in.ok()) {
    return Damaged("header", in);
  }
  std::ranges::copy(sync, reader.sync_.begin());
  reader.rest_ = bytes.substr(kMagic.size() + in.offset());
  if (!reader.metadata_.contains(kSchemaKey)) {
    return Corruption("avro header: it has no avro.schema");
  }
  if (const auto codec = reader.metadata_.find(kCodecKey); codec != reader.metadata_.end()) {
    LAKE_TRY(reader.codec_, ParseAvroCodec(codec->second));
  }
  return reader;
}

Result<bool> AvroContainerReader::NextBlock() {
  if (rest_.empty()) {
    return false;
  }
  AvroInput in(rest_);
  const std::int64_t objects = in.ReadLong();
  const std::string_view stored = in.ReadBytes();
  const std::string_view sync = in.ReadFixed(kAvroSyncBytes);
  if (!in.ok()) {
    return Damaged("block", in);
  }
  if (objects < 0) {
    return Corruption("avro block: its number of objects is negative");
  }
  if (!std::ranges::equal(sync, sync_)) {
    return Corruption("avro block: the sync marker behind it is wrong");
  }
  rest_.remove_prefix(in.offset());
  block_objects_ = static_cast<std::uint64_t>(objects);
  stored_block_ = stored;
  if (codec_ != AvroCodec::kNull) {
    LAKE_TRY_VOID(AvroDecompress(codec_, stored, block_));
  }
  return true;
}

Result<AvroContainerWriter> AvroContainerWriter::Make(Options options, Random& random) {
  AvroContainerWriter writer;
  writer.codec_ = options.codec;
  writer.block_bytes_max_ = options.block_bytes_max;
  random.Fill(std::as_writable_bytes(std::span(writer.sync_)));

  for (const auto& [key, value] : options.metadata) {
    if (key.starts_with(kReservedPrefix)) {
      return InvalidArgument(fmt::format("avro header: the name '{}' is reserved", key));
    }
  }
  AvroMetadata metadata = std::move(options.metadata);
  metadata.emplace(kSchemaKey, std::move(options.schema));
  metadata.emplace(kCodecKey, AvroCodecName(options.codec));
  writer.file_ = kMagic;
  AvroPutLong(writer.file_, static_cast<std::int64_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    AvroPutBytes(writer.file_, key);
    AvroPutBytes(writer.file_, value);
  }
  AvroPutLong(writer.file_, 0);
  writer.file_.append(writer.sync_.data(), writer.sync_.size());
  return writer;
}

Status AvroContainerWriter::Append(std::string_view object) {
  block_.append(object);
  ++block_objects_;
  return block_.size() >= block_bytes_max_ ? CloseBlock() : Status();
}

Result<std::string> AvroContainerWriter::Finish() {
  LAKE_TRY_VOID(CloseBlock());
  return std::move(file_);
}

Status AvroContainerWriter::CloseBlock() {
  if (block_objects_ == 0) {
    return {};
  }
  LAKE_TRY(const std::string stored, AvroCompress(codec_, block_));
  AvroPutLong(file_, block_objects_);
  AvroPutBytes(file_, stored);
  file_.append(sync_.data(), sync_.size());
  block_.clear();
  block_objects_ = 0;
  return {};
}

}  // namespace lake::iceberg
