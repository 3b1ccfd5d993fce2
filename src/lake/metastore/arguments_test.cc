#include "lake/metastore/arguments.h"

#include <string>

#include <gtest/gtest.h>

namespace lake::metastore {
namespace {

TEST(PrefixEnd, IsTheFirstStringBehindThePrefix) {
  EXPECT_EQ(PrefixEnd("tbl/"), "tbl0");
  EXPECT_EQ(PrefixEnd("tbl/\xff"), "tbl0");
  EXPECT_EQ(PrefixEnd("tbl/\xff\xff"), "tbl0");
  EXPECT_EQ(PrefixEnd("tbl/\x7f"), "tbl/\x80");
  EXPECT_EQ(PrefixEnd(std::string("a\0", 2)), "a\x01");
  EXPECT_EQ(PrefixEnd("\xff\xff"), "") << "nothing sorts behind it";
}

TEST(QuoteKey, ShowsEveryByteAndStaysShort) {
  EXPECT_EQ(QuoteKey("tbl/a b"), "'tbl/a b'");
  EXPECT_EQ(QuoteKey(std::string("a\0\x1f\xff'\\", 6)), "'a\\x00\\x1f\\xff\\x27\\x5c'");
  EXPECT_EQ(QuoteKey(std::string(100, 'k')), "'" + std::string(100, 'k') + "'");
  EXPECT_EQ(QuoteKey(std::string(101, 'k')), "'" + std::string(100, 'k') + "…'");
}

}  // namespace
}  // namespace lake::metastore
