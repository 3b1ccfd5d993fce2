#include "lake/iceberg/avro_codec.h"

#include <snappy.h>
#include <zconf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lake/base/result.h"

namespace lake::iceberg {
namespace {

constexpr std::size_t kCrcBytes = 4;

// The least memory an output buffer starts with.
constexpr std::size_t kOutputBytesFirst = std::size_t{64} << 10;

// A three-byte copy element of Snappy makes 64 bytes; nothing does better.
constexpr std::size_t kSnappyRatioMax = 22;

// Frames without a content size name their window instead. Encoders commonly use 2 MiB and must not
// need more than 8 MiB without asking (RFC 8878); long-distance modes go to 128 MiB.
constexpr int kZstdWindowLogSmall = 23;
constexpr int kZstdWindowLogMax = 27;

constexpr int kZstdLevel = 3;

std::size_t OutputMax(std::size_t compressed) {
  if (compressed > kAvroBlockBytesMax / kAvroBlockRatioMax) {
    return kAvroBlockBytesMax;
  }
  return std::min(kAvroBlockBytesMax, kAvroBlockBytesFree + compressed * kAvroBlockRatioMax);
}

std::unexpected<Error> TooLarge(AvroCodec codec, std::size_t compressed) {
  return Corruption(fmt::format("{} block of {} bytes holds more than the {} bytes allowed for it",
                                AvroCodecName(codec), compressed, OutputMax(compressed)));
}

std::unexpected<Error> Damaged(AvroCodec codec, std::string_view why) {
  return Corruption(fmt::format("{} block is damaged: {}", AvroCodecName(codec), why));
}

// Grows an output buffer that is full, by doubling; false when it has its largest size already.
bool Grow(std::string& out, std::size_t out_max) {
  if (out.size() >= out_max) {
    return false;
  }
  const std::size_t doubled = out.size() > out_max / 2 ? out_max : out.size() * 2;
  out.resize(std::max(doubled, std::min(kOutputBytesFirst, out_max)));
  return true;
}

// Gives an output buffer its first size: what a usual ratio makes of the input.
void Begin(std::string& out, std::size_t compressed, std::size_t out_max) {
  const std::size_t guess = compressed > out_max / 4 ? out_max : compressed * 4;
  out.resize(std::min(out_max, std::max(guess, kOutputBytesFirst)));
}

std::uint32_t Crc32(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// zlib's checksum as it stands behind the data, big-endian.
std::string Adler32(std::string_view bytes) {
  const uLong sum = adler32_z(adler32_z(0, nullptr, 0),
                              reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  std::string stored;
  for (int shift = 24; shift >= 0; shift -= 8) {
    stored.push_back(static_cast<char>((sum >> shift) & 0xFF));
  }
  return stored;
}

Result<std::string> Deflate(std::string_view block) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return Internal("deflate: the compressor did not start");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, &deflateEnd);
  if (block.size() > std::numeric_limits<uInt>::max()) {
    return InvalidArgument(fmt::format("deflate: a block of {} bytes is too large", block.size()));
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(block.size())), '\0');
  // zlib's interface is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) {
    return Internal("deflate: the bound of the compressed size was too small");
  }
  out.resize(out.size() - stream.avail_out);
  return out;
}

Status Inflate(std::string_view compressed, std::string& block) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return Internal("deflate: the decompressor did not start");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, &inflateEnd);
  const std::size_t out_max = OutputMax(compressed.size());
  Begin(block, compressed.size(), out_max);
  std::size_t used = 0;
  std::size_t made = 0;
  while (true) {
    const std::size_t in_now = std::min<std::size_t>(compressed.size() - used, 1U << 30);
    const std::size_t out_now = std::min<std::size_t>(block.size() - made, 1U << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data() + used));
    stream.avail_in = static_cast<uInt>(in_now);
    stream.next_out = reinterpret_cast<Bytef*>(block.data() + made);
    stream.avail_out = static_cast<uInt>(out_now);
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    used += in_now - stream.avail_in;
    made += out_now - stream.avail_out;
    if (outcome == Z_STREAM_END) {
      break;
    }
    if (outcome == Z_MEM_ERROR) {
      return Internal("deflate: out of memory");
    }
    if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      return Damaged(AvroCodec::kDeflate, stream.msg == nullptr ? "wrong bytes" : stream.msg);
    }
    if (made == block.size()) {
      if (!Grow(block, out_max)) {
        return TooLarge(AvroCodec::kDeflate, compressed.size());
      }
    } else if (used == compressed.size()) {
      return Damaged(AvroCodec::kDeflate, "it ends too early");
    }
  }
  block.resize(made);
  // Writers in Python cut zlib's own format to size and leave the first bytes of its checksum behind
  // the data. They are welcome, and looked at.
  if (!Adler32(block).starts_with(compressed.substr(used))) {
    return Damaged(AvroCodec::kDeflate, "bytes follow its end");
  }
  return {};
}

std::string SnappyCompress(std::string_view block) {
  std::string out;
  snappy::Compress(block.data(), block.size(), &out);
  const std::uint32_t crc = Crc32(block);
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((crc >> shift) & 0xFF));
  }
  return out;
}

Status SnappyDecompress(std::string_view compressed, std::string& block) {
  if (compressed.size() < kCrcBytes) {
    return Damaged(AvroCodec::kSnappy, "its checksum is missing");
  }
  const std::string_view body = compressed.substr(0, compressed.size() - kCrcBytes);
  std::size_t length = 0;
  if (!snappy::GetUncompressedLength(body.data(), body.size(), &length)) {
    return Damaged(AvroCodec::kSnappy, "its length cannot be read");
  }
  // The announced length is believed only as far as so many bytes can produce it.
  if (length > OutputMax(body.size())) {
    return TooLarge(AvroCodec::kSnappy, compressed.size());
  }
  if (length > body.size() * kSnappyRatioMax) {
    return Damaged(AvroCodec::kSnappy, "its length does not match its bytes");
  }
  block.resize(length);
  if (!snappy::RawUncompress(body.data(), body.size(), block.data())) {
    return Damaged(AvroCodec::kSnappy, "wrong bytes");
  }
  std::uint32_t expected = 0;
  for (const char byte : compressed.substr(body.size())) {
    expected = (expected << 8) | static_cast<std::uint8_t>(byte);
  }
  if (Crc32(block) != expected) {
    return Damaged(AvroCodec::kSnappy, "its checksum is wrong");
  }
  return {};
}

Result<std::string> ZstdCompress(std::string_view block) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                        &ZSTD_freeCCtx);
  if (context == nullptr) {
    return Internal("zstandard: out of memory");
  }
  for (const auto& [parameter, value] :
       {std::pair{ZSTD_c_compressionLevel, kZstdLevel}, std::pair{ZSTD_c_checksumFlag, 1}}) {
    const std::size_t outcome = ZSTD_CCtx_setParameter(context.get(), parameter, value);
    if (ZSTD_isError(outcome) != 0) {
      return Internal(fmt::format("zstandard: {}", ZSTD_getErrorName(outcome)));
    }
  }
  std::string out(ZSTD_compressBound(block.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), block.data(), block.size());
  if (ZSTD_isError(size) != 0) {
    return Internal(fmt::format("zstandard: {}", ZSTD_getErrorName(size)));
  }
  out.resize(size);
  return out;
}

Status ZstdDecompress(std::string_view compressed, std::string& block) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  if (context == nullptr) {
    return Internal("zstandard: out of memory");
  }
  const std::size_t out_max = OutputMax(compressed.size());
  const unsigned long long announced =
      ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (announced == ZSTD_CONTENTSIZE_ERROR) {
    return Damaged(AvroCodec::kZstandard, "no frame begins here");
  }
  if (announced != ZSTD_CONTENTSIZE_UNKNOWN &&
      ZSTD_findFrameCompressedSize(compressed.data(), compressed.size()) == compressed.size()) {
    // One frame of known size needs no window of its own, however large it is.
    if (announced > out_max) {
      return TooLarge(AvroCodec::kZstandard, compressed.size());
    }
    block.resize(announced);
    const std::size_t size = ZSTD_decompressDCtx(context.get(), block.data(), block.size(),
                                                 compressed.data(), compressed.size());
    if (ZSTD_isError(size) != 0) {
      return Damaged(AvroCodec::kZstandard, ZSTD_getErrorName(size));
    }
    block.resize(size);
    return {};
  }
  const int window_log =
      std::clamp(static_cast<int>(std::bit_width(out_max)), kZstdWindowLogSmall, kZstdWindowLogMax);
  const std::size_t set = ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, window_log);
  if (ZSTD_isError(set) != 0) {
    return Internal(fmt::format("zstandard: {}", ZSTD_getErrorName(set)));
  }
  Begin(block, compressed.size(), out_max);
  ZSTD_inBuffer in{.src = compressed.data(), .size = compressed.size(), .pos = 0};
  std::size_t made = 0;
  while (true) {
    ZSTD_outBuffer out{.dst = block.data(), .size = block.size(), .pos = made};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    made = out.pos;
    if (ZSTD_isError(left) != 0) {
      return Damaged(AvroCodec::kZstandard, ZSTD_getErrorName(left));
    }
    if (made == block.size() && (left != 0 || in.pos != in.size)) {
      if (!Grow(block, out_max)) {
        return TooLarge(AvroCodec::kZstandard, compressed.size());
      }
    } else if (in.pos == in.size) {
      if (left != 0) {
        return Damaged(AvroCodec::kZstandard, "it ends too early");
      }
      break;
    }
  }
  block.resize(made);
  return {};
}

}  // namespace

std::string_view AvroCodecName(AvroCodec codec) {
  switch (codec) {
    case AvroCodec::kNull:
      return "null";
    case AvroCodec::kDeflate:
      return "deflate";
    case AvroCodec::kSnappy:
      return "snappy";
    case AvroCodec::kZstandard:
      return "zstandard";
  }
  return "unknown";
}

Result<AvroCodec> ParseAvroCodec(std::string_view name) {
  for (const AvroCodec codec :
       {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy, AvroCodec::kZstandard}) {
    if (name == AvroCodecName(codec)) {
      return codec;
    }
  }
  return Unimplemented(fmt::format(
      "avro codec '{}' is not supported: rewrite the file with deflate, snappy or zstandard",
      name));
}

Result<std::string> AvroCompress(AvroCodec codec, std::string_view block) {
  switch (codec) {
    case AvroCodec::kNull:
      return std::string(block);
    case AvroCodec::kDeflate:
      return Deflate(block);
    case AvroCodec::kSnappy:
      return SnappyCompress(block);
    case AvroCodec::kZstandard:
      return ZstdCompress(block);
  }
  return Internal("unknown avro codec");
}

Status AvroDecompress(AvroCodec codec, std::string_view compressed, std::string& block) {
  switch (codec) {
    case AvroCodec::kNull:
      if (compressed.size() > kAvroBlockBytesMax) {
        return TooLarge(codec, compressed.size());
      }
      block.assign(compressed);
      return {};
    case AvroCodec::kDeflate:
      return Inflate(compressed, block);
    case AvroCodec::kSnappy:
      return SnappyDecompress(compressed, block);
    case AvroCodec::kZstandard:
      return ZstdDecompress(compressed, block);
  }
  return Internal("unknown avro codec");
}

}  // namespace lake::iceberg
