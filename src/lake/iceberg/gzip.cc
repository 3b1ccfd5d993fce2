#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/gzip_internal.h"

namespace lake::iceberg {
namespace {

// 15 bits of window; 16 more ask zlib for GZIP members and nothing else.
constexpr int kGzipWindowBits = 15 + 16;
constexpr std::size_t kChunkBytes = 64UL * 1024;

struct InflateEnd {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

bool LooksGzipped(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

Result<std::string> Gunzip(std::string_view bytes, std::size_t bytes_max) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    return InvalidArgument("gzip: the input is too large");
  }
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) {
    return Internal("gzip: cannot start the decompressor");
  }
  const std::unique_ptr<z_stream, InflateEnd> end(&stream);
  // zlib never writes through next_in; its type is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());

  std::string out;
  std::array<char, kChunkBytes> chunk;
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    const std::size_t produced = chunk.size() - stream.avail_out;
    if (produced > bytes_max - out.size()) {
      return InvalidArgument(fmt::format("gzip: more than {} bytes of content", bytes_max));
    }
    out.append(chunk.data(), produced);
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) {
        return out;
      }
      inflateReset(&stream);
    } else if (code == Z_BUF_ERROR ||
               (code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      return InvalidArgument("gzip: the data ends too early");
    } else if (code != Z_OK) {
      return InvalidArgument(
          fmt::format("gzip: damaged data near byte {}", bytes.size() - stream.avail_in));
    }
  }
}

}  // namespace lake::iceberg
