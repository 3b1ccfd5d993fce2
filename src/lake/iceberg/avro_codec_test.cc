#include "lake/iceberg/avro_codec.h"

#include <snappy.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::IsOkAnd;
using ::lake::testing::SeededRandom;
using ::testing::HasSubstr;

constexpr AvroCodec kCodecs[] = {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy,
                                 AvroCodec::kZstandard};

std::string Noise(std::size_t size, std::uint64_t seed) {
  SeededRandom random(seed);
  std::string bytes(size, '\0');
  random.Fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

TEST(AvroCodec, RestoresEveryBlock) {
  for (const AvroCodec codec : kCodecs) {
    // One buffer for all: what was there before must not matter.
    std::string restored = "left over";
    for (const std::string& block :
         {std::string(), std::string("a"), std::string(1 << 20, 'x'), Noise(300'000, 1),
          std::string("abcabcabcabc"), Noise(10, 2) + std::string(100'000, '\0')}) {
      const auto compressed = AvroCompress(codec, block);
      ASSERT_THAT(compressed, IsOk());
      ASSERT_THAT(AvroDecompress(codec, *compressed, restored), IsOk()) << AvroCodecName(codec);
      EXPECT_EQ(restored, block) << AvroCodecName(codec);
    }
  }
}

TEST(AvroCodec, IsFoundByItsName) {
  for (const AvroCodec codec : kCodecs) {
    EXPECT_THAT(ParseAvroCodec(AvroCodecName(codec)), IsOkAnd(codec));
  }
  EXPECT_THAT(ParseAvroCodec("bzip2"), IsError(ErrorCode::kUnimplemented, HasSubstr("bzip2")));
  EXPECT_THAT(ParseAvroCodec("Deflate"), IsError(ErrorCode::kUnimplemented));
}

TEST(AvroCodec, RefusesBlocksThatAreCut) {
  const std::string block = Noise(2'000, 3);
  for (const AvroCodec codec : {AvroCodec::kDeflate, AvroCodec::kSnappy, AvroCodec::kZstandard}) {
    const auto compressed = AvroCompress(codec, block);
    ASSERT_THAT(compressed, IsOk());
    std::string restored;
    for (std::size_t size = 0; size < compressed->size(); ++size) {
      ASSERT_THAT(AvroDecompress(codec, compressed->substr(0, size), restored),
                  IsError(ErrorCode::kCorruption))
          << AvroCodecName(codec) << " " << size;
    }
  }
}

TEST(AvroCodec, RefusesBytesBehindABlock) {
  for (const AvroCodec codec : {AvroCodec::kDeflate, AvroCodec::kSnappy, AvroCodec::kZstandard}) {
    auto compressed = AvroCompress(codec, "block");
    ASSERT_THAT(compressed, IsOk());
    std::string restored;
    EXPECT_THAT(AvroDecompress(codec, *compressed + "more", restored),
                IsError(ErrorCode::kCorruption))
        << AvroCodecName(codec);
  }
}

TEST(AvroCodec, AcceptsTheBeginningOfZlibsChecksumBehindADeflatedBlock) {
  const std::string block = "123456789";
  const std::string deflated = AvroCompress(AvroCodec::kDeflate, block).value();
  const std::string checksum = "\x09\x1e\x01\xde";  // Of these digits, by Adler-32.
  std::string restored;
  for (std::size_t kept = 0; kept <= checksum.size(); ++kept) {
    EXPECT_THAT(AvroDecompress(AvroCodec::kDeflate, deflated + checksum.substr(0, kept), restored),
                IsOk());
    EXPECT_EQ(restored, block);
  }
  for (const std::string& wrong : {checksum + "x", std::string("\x09\x1f"), checksum.substr(1)}) {
    EXPECT_THAT(AvroDecompress(AvroCodec::kDeflate, deflated + wrong, restored),
                IsError(ErrorCode::kCorruption, HasSubstr("follow")));
  }
}

TEST(AvroCodec, FindsEveryFlippedBitWhereTheCodecHasAChecksum) {
  const std::string block = "The quick brown fox jumps over the lazy dog, over and over and over.";
  for (const AvroCodec codec : {AvroCodec::kSnappy, AvroCodec::kZstandard}) {
    auto compressed = AvroCompress(codec, block);
    ASSERT_THAT(compressed, IsOk());
    for (std::size_t bit = 0; bit < compressed->size() * 8; ++bit) {
      std::string flipped = *compressed;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      std::string restored;
      if (AvroDecompress(codec, flipped, restored).has_value()) {
        // Some bits of a frame header mean nothing.
        EXPECT_EQ(restored, block) << AvroCodecName(codec) << " " << bit;
      }
    }
  }
}

TEST(AvroCodec, WritesTheChecksumOfSnappyBigEndian) {
  const auto compressed = AvroCompress(AvroCodec::kSnappy, "123456789");
  ASSERT_THAT(compressed, IsOk());
  // The check value of CRC-32.
  EXPECT_EQ(compressed->substr(compressed->size() - 4), "\xcb\xf4\x39\x26");
}

TEST(AvroCodec, RefusesASnappyLengthThatItsBytesCannotMake) {
  // Announces almost 4 GiB, and 100 MiB, in a few bytes.
  for (const std::string_view announced : {"\xf0\xff\xff\xff\x0f", "\x80\x80\x80\x32"}) {
    std::string restored;
    EXPECT_THAT(
        AvroDecompress(AvroCodec::kSnappy, std::string(announced) + std::string(6, '\0'), restored),
        IsError(ErrorCode::kCorruption));
    EXPECT_LT(restored.capacity(), std::size_t{1} << 20);
  }
}

TEST(AvroCodec, RefusesAFrameThatUnpacksTooFar) {
  // 64 MiB of zeros become some 2 KiB: beyond the allowed ratio, though the frame is honest.
  const std::string zeros(std::size_t{64} << 20, '\0');
  std::string compressed(ZSTD_compressBound(zeros.size()), '\0');
  compressed.resize(
      ZSTD_compress(compressed.data(), compressed.size(), zeros.data(), zeros.size(), 19));
  std::string restored;
  EXPECT_THAT(AvroDecompress(AvroCodec::kZstandard, compressed, restored),
              IsError(ErrorCode::kCorruption, HasSubstr("more than")));
  EXPECT_LT(restored.capacity(), zeros.size());
}

TEST(AvroCodec, ReadsZstandardFramesOfUnknownSize) {
  // As streaming writers make them: no content size, two frames.
  const std::string block = Noise(200'000, 5) + std::string(200'000, 'z');
  std::string compressed;
  for (const std::string_view part :
       {std::string_view(block).substr(0, 250'000), std::string_view(block).substr(250'000)}) {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    std::string out(ZSTD_compressBound(part.size()), '\0');
    ZSTD_inBuffer in{.src = part.data(), .size = part.size(), .pos = 0};
    ZSTD_outBuffer buffer{.dst = out.data(), .size = out.size(), .pos = 0};
    ASSERT_EQ(ZSTD_isError(ZSTD_compressStream2(context, &buffer, &in, ZSTD_e_continue)), 0U);
    ASSERT_EQ(ZSTD_compressStream2(context, &buffer, &in, ZSTD_e_end), 0U);
    ZSTD_freeCCtx(context);
    compressed += out.substr(0, buffer.pos);
  }
  ASSERT_EQ(ZSTD_getFrameContentSize(compressed.data(), compressed.size()),
            ZSTD_CONTENTSIZE_UNKNOWN);
  std::string restored;
  ASSERT_THAT(AvroDecompress(AvroCodec::kZstandard, compressed, restored), IsOk());
  EXPECT_EQ(restored, block);
}

TEST(AvroCodec, DoesNotGiveAwayMemoryForAWindowThatIsOnlyAnnounced) {
  // A frame header without content size whose window is 2 GiB, and an empty last block.
  const std::string frame("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9);
  std::string restored;
  EXPECT_THAT(AvroDecompress(AvroCodec::kZstandard, frame, restored),
              IsError(ErrorCode::kCorruption));
}

}  // namespace
}  // namespace lake::iceberg
