#include <cstddef>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "lake/engine/table_uuid_internal.h"

namespace lake::engine {
namespace {

const std::string kUuid = "01890a5d-ac96-774b-bcce-b302099a8057";

std::optional<std::string> Found(const std::string& prefix) {
  const std::optional<Uuid> uuid = TableUuidInPrefix(prefix);
  return uuid.has_value() ? std::optional(uuid->ToString()) : std::nullopt;
}

TEST(TableUuidInPrefix, IsFoundAtTheTopLevelAsSoonAsThePrefixHoldsIt) {
  const std::string text = R"({ "format-version" : 2, "schema": {"fields": [1, true, "x"]},
    "table-uuid" : ")" + kUuid +
                           R"(", "location": "/w")";
  const std::size_t end = text.find(", \"location\"");
  for (std::size_t length = 0; length < end; ++length) {
    EXPECT_EQ(Found(text.substr(0, length)), std::nullopt) << length;
  }
  for (std::size_t length = end; length <= text.size(); ++length) {
    EXPECT_EQ(Found(text.substr(0, length)), kUuid) << length;
  }
}

TEST(TableUuidInPrefix, IsNotTakenFromInsideATextOrAnotherObject) {
  const std::string member = R"("table-uuid": ")" + kUuid + R"(")";
  EXPECT_EQ(Found("{" + member + "}"), kUuid);
  EXPECT_EQ(Found(R"({"properties": {)" + member + "}}"), std::nullopt);
  EXPECT_EQ(Found(R"({"list": [)" + member + "]}"), std::nullopt);
  EXPECT_EQ(Found(R"({"note": "table-uuid", "x": ")" + kUuid + "\"}"), std::nullopt);
  EXPECT_EQ(Found(R"({"note": "a \"table-uuid\": \")" + kUuid + "\"}"), std::nullopt);
  EXPECT_EQ(Found(R"({"a\"": 1, "b": "\\", )" + member + "}"), kUuid);
}

TEST(TableUuidInPrefix, IsNothingWhereThereIsNoUuid) {
  for (const char* text : {"", "x", "{}", "]}{", R"({"table-uuid": null})", R"({"table-uuid"})",
                           R"({"table-uuid": "x"})", "\x1f\x8b\x08"}) {
    EXPECT_EQ(Found(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace lake::engine
