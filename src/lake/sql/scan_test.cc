#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/sql/sql_fixture_test_internal.h"
#include "lake/testing/matchers.h"

namespace lake::sql {
namespace {

using iceberg::Type;
using testing::IsOk;
using testing::IsOkAnd;

class Scan : public SqlFixture {
 protected:
  const iceberg::Schema schema_ =
      MakeSchema({Field(1, "id", Type::Long()), Field(2, "name", Type::String())});
};

TEST_F(Scan, ReadsTheRowsOfATable) {
  tables_.Create("ns.t", schema_);
  tables_.Append("ns.t", Stage(schema_, R"({"id": 1, "name": "a"} {"id": 2, "name": "b"})"));
  tables_.Append("ns.t", Stage(schema_, R"({"id": 3, "name": null})"));
  EXPECT_THAT(Query("SELECT * FROM ns.t ORDER BY id"), IsOkAnd("1|a\n2|b\n3|NULL\n"));
  EXPECT_THAT(Query("SELECT count(*) FROM ns.t"), IsOkAnd("3\n"));
}

}  // namespace
}  // namespace lake::sql
