#include "lake/metastore/rocksdb/crc32c.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace lake::metastore {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32c, GivesThePublishedSums) {
  std::string rising;
  std::string falling;
  for (char i = 0; i < 32; ++i) {
    rising.push_back(i);
    falling.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(ExtendCrc32c(0, rising), 0x46dd794eU);
  EXPECT_EQ(ExtendCrc32c(0, falling), 0x113fdb5cU);
  EXPECT_EQ(ExtendCrc32c(0, "123456789"), 0xe3069283U);
  EXPECT_EQ(ExtendCrc32c(0, ""), 0U);
}

TEST(Crc32c, CanBeComputedInPartsOfAnyLength) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    bytes.push_back(static_cast<char>(i * 37));
  }
  const std::string_view view = bytes;
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    EXPECT_EQ(ExtendCrc32c(ExtendCrc32c(0, view.substr(0, first)), view.substr(first)),
              ExtendCrc32c(0, view));
  }
}

TEST(Crc32c, IsMaskedByRotatingAndAdding) {
  EXPECT_EQ(MaskCrc32c(0), 0xa282ead8U);
  EXPECT_EQ(MaskCrc32c(0x8000U), 0xa282ead9U);
  EXPECT_EQ(MaskCrc32c(1), 0xa284ead8U);
}

}  // namespace
}  // namespace lake::metastore
