#include "lake/cli/statements.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace lake::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitStatements, CutsAtSemicolonsAndTrims) {
  const Statements statements = SplitStatements(" select 1 ;\n\tselect 2;;  ; select 3");
  EXPECT_THAT(statements.complete, ElementsAre("select 1", "select 2"));
  EXPECT_EQ(statements.rest, "select 3");
}

TEST(SplitStatements, ASemicolonInsideAQuoteSeparatesNothing) {
  for (const std::string inside :
       {"'a;b'", "'it''s; ok'", "\"a;b\"", "\"a\"\"; b\"", "$$a;b$$", "$tag$a; $$ ; b$tag$",
        "E'a\\';b'", "e'\\\\'", "/* a; /* nested; */ b; */ 1", "1 -- a; b\n + 1"}) {
    const std::string statement = "select " + inside;
    const Statements statements = SplitStatements(statement + "; select 2;");
    EXPECT_THAT(statements.complete, ElementsAre(statement, "select 2")) << inside;
    EXPECT_THAT(statements.rest, IsEmpty()) << inside;
  }
}

TEST(SplitStatements, ABackslashIsOrdinaryInAPlainQuote) {
  EXPECT_THAT(SplitStatements(R"(select '\'; select 2;)").complete,
              ElementsAre(R"(select '\')", "select 2"));
  EXPECT_THAT(SplitStatements(R"(select type'\'; select 2;)").complete,
              ElementsAre(R"(select type'\')", "select 2"));
}

TEST(SplitStatements, AParameterIsNoDollarQuote) {
  EXPECT_THAT(SplitStatements("select $1; select a$b$c; select 3;").complete,
              ElementsAre("select $1", "select a$b$c", "select 3"));
}

TEST(SplitStatements, WhatIsUnfinishedIsTheRest) {
  for (const std::string rest :
       {"select 'a;b", "select \"a;b", "select $$a;b", "/* a; b", "select 1"}) {
    const Statements statements = SplitStatements("select 0;" + rest);
    EXPECT_THAT(statements.complete, ElementsAre("select 0")) << rest;
    EXPECT_EQ(statements.rest, rest);
  }
}

TEST(SplitStatements, CommentsAloneAreNoStatement) {
  const Statements statements = SplitStatements("-- nothing;\n; /* nothing; */ ; -- and nothing");
  EXPECT_THAT(statements.complete, IsEmpty());
  EXPECT_THAT(statements.rest, IsEmpty());
}

TEST(SplitStatements, ACommentBeforeAStatementStaysWithIt) {
  EXPECT_THAT(SplitStatements("-- why\nselect 1;").complete, ElementsAre("-- why\nselect 1"));
}

TEST(SplitStatements, EmptyTextIsNothing) {
  EXPECT_THAT(SplitStatements("").complete, IsEmpty());
  EXPECT_THAT(SplitStatements(" \n").rest, IsEmpty());
}

}  // namespace
}  // namespace lake::cli
