#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lake/base/result.h"

namespace lake::iceberg {

// How the blocks of an Avro object container are compressed (Avro specification 1.11, "Object
// Container Files"). Every Iceberg client reads kNull and kDeflate; the others are optional there.
enum class AvroCodec {
  kNull,       // Not at all.
  kDeflate,    // RFC 1951, without header or checksum. Read also with the first bytes of zlib's
               // checksum behind it, as writers in Python leave them.
  kSnappy,     // Snappy, then the CRC-32 of the uncompressed bytes, big-endian.
  kZstandard,  // RFC 8878 frames; the ones written here carry a checksum.
};

// The largest block that is decompressed, whatever its codec.
inline constexpr std::size_t kAvroBlockBytesMax = std::size_t{512} << 20;

// How many bytes one compressed byte may become beyond the first kAvroBlockBytesFree bytes of a
// block. Only a bomb compresses better: DEFLATE cannot exceed 1032, Snappy 22.
inline constexpr std::size_t kAvroBlockRatioMax = 4096;
inline constexpr std::size_t kAvroBlockBytesFree = std::size_t{1} << 20;

// Returns the codec's name in the header: "null", "deflate", "snappy", "zstandard".
std::string_view AvroCodecName(AvroCodec codec);

// Returns the codec of that name. kUnimplemented for any other name.
Result<AvroCodec> ParseAvroCodec(std::string_view name);

// Returns the compressed form of a block. kInternal when the library runs out of memory.
Result<std::string> AvroCompress(AvroCodec codec, std::string_view block);

// Replaces the content of `block` by the decompressed form of `compressed`, reusing its memory.
// kCorruption when the bytes are not of that codec, a checksum is wrong, or the result would break
// a limit above. Memory grows with the bytes produced, never by what the input announces.
Status AvroDecompress(AvroCodec codec, std::string_view compressed, std::string& block);

}  // namespace lake::iceberg
