#include "lake/base/hash.h"

#include <string>

#include <gtest/gtest.h>

namespace lake {
namespace {

// FIPS 180-4's examples, as NIST publishes them.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotCareHowTheMessageIsCut) {
  std::string message;
  for (int i = 0; i < 300; ++i) {
    message += static_cast<char>(i);
  }
  const std::string whole = Sha256Hex(message);
  for (std::size_t cut = 0; cut <= message.size(); ++cut) {
    Sha256 hash;
    hash.Update(std::string_view(message).substr(0, cut));
    hash.Update("");
    hash.Update(std::string_view(message).substr(cut));
    EXPECT_EQ(hash.Finish(), whole) << cut;
  }
}

TEST(Sha256DeathTest, IsFinishedOnce) {
  Sha256 hash;
  static_cast<void>(hash.Finish());
  EXPECT_DEATH(static_cast<void>(hash.Finish()), "finished once");
  EXPECT_DEATH(hash.Update("x"), "takes no more bytes");
}

}  // namespace
}  // namespace lake
