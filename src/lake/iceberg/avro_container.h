#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"

namespace lake::iceberg {

// The key-value metadata in the header of a container.
using AvroMetadata = std::map<std::string, std::string, std::less<>>;

// The marker that ends the header and every block of a container: random, one a file.
inline constexpr std::size_t kAvroSyncBytes = 16;
using AvroSync = std::array<char, kAvroSyncBytes>;

// Reads an Avro object container (Avro specification 1.11) held in memory, block by block. It knows
// nothing of the objects. Borrows the bytes, which must outlive it. Any input is safe: it is either
// read or refused.
class AvroContainerReader {
 public:
  // Reads the header. kCorruption when this is no Avro container, the header is damaged or has no
  // schema; kUnimplemented for a codec Lake does not have.
  static Result<AvroContainerReader> Open(std::string_view bytes);

  // Moves on to the next block and decompresses it; false at the end of the file. kCorruption for a
  // damaged block, after which no further call is allowed.
  Result<bool> NextBlock();

  // The current block's decompressed objects, valid until the next NextBlock or move.
  std::string_view block() const {
    return codec_ == AvroCodec::kNull ? stored_block_ : std::string_view(block_);
  }

  // How many objects the current block says it has. Nothing has checked that yet.
  std::uint64_t block_objects() const { return block_objects_; }

  // Everything the header holds, avro.schema and avro.codec included.
  const AvroMetadata& metadata() const { return metadata_; }

  // The writer's schema, as JSON.
  std::string_view schema() const { return metadata_.find("avro.schema")->second; }

  AvroCodec codec() const { return codec_; }

 private:
  AvroContainerReader() = default;

  std::string_view rest_;
  AvroMetadata metadata_;
  AvroCodec codec_ = AvroCodec::kNull;
  AvroSync sync_{};
  std::string_view stored_block_;
  std::string block_;
  std::uint64_t block_objects_ = 0;
};

// Writes an Avro object container into memory.
class AvroContainerWriter {
 public:
  struct Options {
    std::string schema;     // JSON; becomes avro.schema.
    AvroMetadata metadata;  // Further entries of the header; names beginning with "avro." are ours.
    AvroCodec codec = AvroCodec::kDeflate;
    // A block is closed once its objects have this many bytes.
    std::size_t block_bytes_max = std::size_t{64} << 10;
  };

  // Begins a file whose sync marker is drawn from `random`. kInvalidArgument for a metadata name
  // that is reserved.
  static Result<AvroContainerWriter> Make(Options options, Random& random);

  // Adds one encoded object. kInternal when compression fails; the writer is of no use then.
  Status Append(std::string_view object);

  // Returns the finished file. May be called once, last.
  Result<std::string> Finish();

 private:
  AvroContainerWriter() = default;
  Status CloseBlock();

  AvroCodec codec_ = AvroCodec::kDeflate;
  std::size_t block_bytes_max_ = 0;
  AvroSync sync_{};
  std::string file_;
  std::string block_;
  std::int64_t block_objects_ = 0;
};

}  // namespace lake::iceberg
