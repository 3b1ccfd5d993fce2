#include "lake/metasrv/request_digest.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/hash.h"

namespace lake::metasrv {
namespace {

RequestStatement Sample() {
  return {.kind = catalog::OperationKind::kAppend,
          .names = {"a.t"},
          .options = {{"b", "2"}, {"a", "1"}},
          .content = {"x", "y"}};
}

TEST(RequestDigest, IsTheDigestOfTheCanonicalForm) {
  EXPECT_EQ(
      RequestDigest(Sample()),
      Sha256Hex(
          R"({"kind":"append","names":["a.t"],"options":{"a":"1","b":"2"},"content":["x","y"]})"));
}

TEST(RequestDigest, DiffersWhenAnyPartDiffers) {
  const std::string digest = RequestDigest(Sample());
  std::vector<RequestStatement> others(5, Sample());
  others[0].kind = catalog::OperationKind::kCreateTable;
  others[1].names = {"a.u"};
  others[2].options["a"] = "3";
  others[3].content = {"xy"};
  others[4].content = {"y", "x"};
  for (const RequestStatement& other : others) {
    EXPECT_NE(RequestDigest(other), digest);
  }
}

}  // namespace
}  // namespace lake::metasrv
