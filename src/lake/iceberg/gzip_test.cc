#include <zlib.h>

#include <cstddef>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/gzip_internal.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOkAnd;
using ::testing::HasSubstr;

std::string Gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Gzip, UnpacksOneMemberAndSeveral) {
  const std::string large(1'000'000, 'a');
  EXPECT_THAT(Gunzip(Gzip("hello"), 100), IsOkAnd("hello"));
  EXPECT_THAT(Gunzip(Gzip(""), 100), IsOkAnd(""));
  EXPECT_THAT(Gunzip(Gzip(large), large.size()), IsOkAnd(large));
  EXPECT_THAT(Gunzip(Gzip("hello") + Gzip(" world"), 100), IsOkAnd("hello world"));
}

TEST(Gzip, KnowsItsOwnBeginning) {
  EXPECT_TRUE(LooksGzipped(Gzip("")));
  EXPECT_FALSE(LooksGzipped("{}"));
  EXPECT_FALSE(LooksGzipped(""));
}

TEST(Gzip, StopsABombAtTheLimit) {
  const std::string bomb = Gzip(std::string(5'000'000, '\0'));
  EXPECT_THAT(Gunzip(bomb, 1'000'000), IsError(ErrorCode::kInvalidArgument, HasSubstr("1000000")));
}

TEST(Gzip, RefusesEveryTruncation) {
  const std::string whole = Gzip("some text that is long enough to have a body");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(Gunzip(std::string_view(whole).substr(0, length), 1000),
                IsError(ErrorCode::kInvalidArgument))
        << length;
  }
}

TEST(Gzip, RefusesDamageAndTrailingBytes) {
  const std::string whole = Gzip("some text that is long enough to have a body");
  std::string damaged = whole;
  damaged[damaged.size() - 6] =
      static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // In the checksum.
  EXPECT_THAT(Gunzip(damaged, 1000), IsError(ErrorCode::kInvalidArgument, HasSubstr("damaged")));
  EXPECT_THAT(Gunzip(whole + "x", 1000), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Gunzip("{}", 1000), IsError(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace lake::iceberg
