#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metasrv/metasrv_fixture_test_internal.h"

namespace lake::metasrv {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;

class Renames : public MetasrvTest {
 protected:
  Renames() {
    Lead();
    MakeTable(kT);
    EXPECT_THAT(service().CreateNamespace({.ns = kOther.ns}, Call()), IsOk());
  }

  ViewRequest View(const catalog::TableName& name, int version) {
    const std::string file = "/w/v/metadata/" + std::to_string(version) + ".json";
    IgnoreError(objects_.PutIfAbsent(file, "{}", Soon()), "it may be there");
    return {.name = name,
            .uuid = view_uuid_,
            .location = "/w/v",
            .metadata_location = file,
            .base_location =
                version == 1 ? "" : "/w/v/metadata/" + std::to_string(version - 1) + ".json"};
  }

  static inline const catalog::TableName kOther{.ns = {{"m"}}, .name = "u"};
  static inline const catalog::TableName kView{.ns = {{"n"}}, .name = "v"};
  const Uuid view_uuid_ = Uuid::Random4(random_);
};

TEST_F(Renames, ARenamedTableKeepsItsIdentityItsFilesAndItsHistory) {
  ASSERT_THAT(service().Append(Request(kT, "a", 3), Call()), IsOk());
  const LoadedTable before = Load(kT);
  const Result<TableResult> renamed = service().RenameTable({.from = kT, .to = kOther}, Call());
  ASSERT_THAT(renamed, IsOk());
  EXPECT_EQ(renamed->incarnation, before.registration.incarnation);
  EXPECT_THAT(service().LoadTable(kT, Soon()), IsError(ErrorCode::kNotFound));
  const LoadedTable after = Load(kOther);
  EXPECT_EQ(after.registration.location, before.registration.location);
  EXPECT_EQ(after.registration.metadata_location, before.registration.metadata_location);
  EXPECT_THAT(service().ListTables(kNs, Soon()).value(), IsEmpty());
  EXPECT_THAT(service().ListTables(kOther.ns, Soon()).value(), ElementsAre(kOther));
  ASSERT_THAT(service().Append(Request(kOther, "b", 4), Call()), IsOk());
  EXPECT_EQ(Check(kOther).rows, 7);
}

TEST_F(Renames, TheSameRenameAgainIsAnsweredFromItsRecord) {
  const Uuid id = NewId();
  ASSERT_THAT(service().RenameTable({.from = kT, .to = kOther}, Call(id)), IsOk());
  MakeTable(kT);
  const Result<TableResult> again = service().RenameTable({.from = kT, .to = kOther}, Call(id));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->replayed);
  EXPECT_THAT(service().RenameTable({.from = kT, .to = kView}, Call(id)),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_EQ(Load(kT).registration.version, 1U) << "the new table of the old name";
}

TEST_F(Renames, ATableIsNotRenamedOverATableOrAViewOrIntoNothing) {
  MakeTable(kOther);
  ASSERT_THAT(service().CreateView(View(kView, 1), Call()), IsOk());
  EXPECT_THAT(service().RenameTable({.from = kT, .to = kOther}, Call()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(service().RenameTable({.from = kT, .to = kView}, Call()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(service().RenameTable({.from = kT, .to = kT}, Call()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(service().RenameTable({.from = kT, .to = {.ns = {{"none"}}, .name = "t"}}, Call()),
              IsError(ErrorCode::kNotFound));
  EXPECT_THAT(service().RenameTable({.from = {.ns = kNs, .name = "none"}, .to = kOther}, Call()),
              IsError(ErrorCode::kNotFound));
  EXPECT_THAT(service().LoadTable(kT, Soon()), IsOk());
}

// Whoever dropped the renamed table must not have touched a new one of the old name.
TEST_F(Renames, ADropOfTheRenamedTableDoesNotTouchANewTableOfTheOldName) {
  ASSERT_THAT(service().RenameTable({.from = kT, .to = kOther}, Call()), IsOk());
  MakeTable(kT);
  ASSERT_THAT(service().DropTable({.name = kOther}, Call()), IsOk());
  EXPECT_THAT(Check(kT).problems, IsEmpty());
  EXPECT_THAT(service().LoadTable(kOther, Soon()), IsError(ErrorCode::kNotFound));
}

TEST_F(Renames, AnAppendToTheOldNameFindsNoTable) {
  const AppendRequest append = Request(kT, "a", 3);
  ASSERT_THAT(service().RenameTable({.from = kT, .to = kOther}, Call()), IsOk());
  EXPECT_THAT(service().Append(append, Call()), IsError(ErrorCode::kNotFound));
}

TEST_F(Renames, AViewIsMadeReplacedRenamedAndDropped) {
  ASSERT_THAT(service().CreateView(View(kView, 1), Call()), IsOk());
  EXPECT_THAT(service().ListViews(kNs, Soon()).value(), ElementsAre(kView));
  ASSERT_THAT(service().ReplaceView(View(kView, 2), Call()), IsOk());
  EXPECT_EQ(service().LoadView(kView, Soon())->metadata_location, "/w/v/metadata/2.json");
  EXPECT_EQ(service().LoadView(kView, Soon())->version, 2U);
  ASSERT_THAT(service().RenameView({.from = kView, .to = kOther}, Call()), IsOk());
  EXPECT_THAT(service().LoadView(kView, Soon()), IsError(ErrorCode::kNotFound));
  EXPECT_EQ(service().LoadView(kOther, Soon())->uuid, view_uuid_);
  EXPECT_THAT(service().DropNamespace(kOther.ns, Call()), IsError(ErrorCode::kConflict));
  ASSERT_THAT(service().DropView(kOther, Call()), IsOk());
  EXPECT_THAT(service().DropView(kOther, Call()), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(service().DropNamespace(kOther.ns, Call()), IsOk());
}

TEST_F(Renames, AViewTakesOnlyAFreeNameAndAFileThatIsThere) {
  EXPECT_THAT(service().CreateView(View(kT, 1), Call()), IsError(ErrorCode::kAlreadyExists));
  ViewRequest missing = View(kView, 1);
  missing.metadata_location = "/w/v/metadata/none.json";
  EXPECT_THAT(service().CreateView(missing, Call()), IsError(ErrorCode::kNotFound));
  ASSERT_THAT(service().CreateView(View(kView, 1), Call()), IsOk());
  EXPECT_THAT(service().CreateTable({.name = kView, .schema = TestSchema()}, Call()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(service().RenameView({.from = kView, .to = kT}, Call()),
              IsError(ErrorCode::kAlreadyExists));
}

TEST_F(Renames, AViewIsReplacedOnlyOnTheVersionThatTheNewOneWasMadeFrom) {
  ASSERT_THAT(service().CreateView(View(kView, 1), Call()), IsOk());
  ASSERT_THAT(service().ReplaceView(View(kView, 2), Call()), IsOk());
  ViewRequest stale = View(kView, 2);
  stale.metadata_location = View(kView, 3).metadata_location;
  EXPECT_THAT(service().ReplaceView(stale, Call()), IsError(ErrorCode::kConflict));
  ViewRequest other = View(kView, 3);
  other.uuid = NewId();
  EXPECT_THAT(service().ReplaceView(other, Call()), IsError(ErrorCode::kConflict));
  EXPECT_EQ(service().LoadView(kView, Soon())->version, 2U);
}

TEST_F(Renames, NamespacePropertiesAreSetAndRemoved) {
  ASSERT_THAT(
      service().SetNamespaceProperties({.ns = kNs, .updates = {{"a", "1"}, {"b", "2"}}}, Call()),
      IsOk());
  const Uuid id = NewId();
  const SetNamespacePropertiesRequest second{
      .ns = kNs, .updates = {{"a", "3"}}, .removals = {"b", "none"}};
  ASSERT_THAT(service().SetNamespaceProperties(second, Call(id)), IsOk());
  EXPECT_THAT(service().LoadNamespace(kNs, Soon())->properties,
              ElementsAre(::testing::Pair("a", "3")));
  ASSERT_THAT(service().SetNamespaceProperties({.ns = kNs, .updates = {{"a", "4"}}}, Call()),
              IsOk());
  EXPECT_TRUE(service().SetNamespaceProperties(second, Call(id))->replayed);
  EXPECT_EQ(service().LoadNamespace(kNs, Soon())->properties.at("a"), "4");
  EXPECT_THAT(service().SetNamespaceProperties(
                  {.ns = kNs, .updates = {{"a", "5"}}, .removals = {"a"}}, Call()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(service().SetNamespaceProperties({.ns = {{"none"}}}, Call()),
              IsError(ErrorCode::kNotFound));
}

}  // namespace
}  // namespace lake::metasrv
