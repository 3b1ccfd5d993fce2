#include "lake/catalog/publications.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/catalog/keyspace.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"

namespace lake::catalog {
namespace {

using metastore::Committed;
using metastore::MemoryMetaStore;
using metastore::Rejected;
using metastore::Transaction;
using testing::IsOk;
using testing::IsOkAnd;

Uuid Id(char last) {
  return Uuid::Parse(std::string("01890a5d-ac96-774b-bcce-b302099a805") + last).value();
}

// A store in which publications are tried for real.
class Publications : public ::testing::Test {
 protected:
  Publications() : store_(clock_, {}) {}

  bool Applies(const Transaction& transaction) {
    const auto result = store_.Commit(transaction, Soon());
    EXPECT_THAT(result, IsOk());
    return result.has_value() && std::holds_alternative<Committed>(*result);
  }

  std::optional<std::string> Read(std::string_view key) { return store_.Get(key, Soon()).value(); }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(1); }

  static FinishedOperation Done(const Uuid& id) {
    FinishedOperation outcome{.id = id, .record = {.kind = OperationKind::kAppend}};
    outcome.record.result.succeeded = true;
    return outcome;
  }

  static PendingOperation Pend(const Uuid& id, const std::optional<std::string>& base,
                               const std::string& planned) {
    PendingOperation operation{.id = id, .bytes = {}, .record = {}};
    operation.record.tables = {{.name = kTable,
                                .incarnation = Id('a'),
                                .base = base,
                                .location = "/w/a",
                                .planned_location = planned}};
    operation.record.group = {id};
    operation.bytes = Encode(operation.record);
    return operation;
  }

  static Dropping Drop(const std::string& registration, const FinishedOperation& outcome) {
    return {.name = kTable,
            .registration_bytes = registration,
            .incarnation = Id('a'),
            .tombstone = {.name = kTable, .registration = registration},
            .directory = Id('f'),
            .outcome = outcome};
  }

  // Makes what stands in `family` at n.t move to n.u, or to another namespace.
  Renaming Move(const std::string& key, const TableName& to, const FinishedOperation& outcome) {
    return {.from = kTable,
            .to = to,
            .read_bytes = Read(key).value(),
            .next_bytes = "moved",
            .namespace_bytes = Read(NamespaceKey(to.ns).value()).value_or("none"),
            .directory = Id('f'),
            .outcome = outcome};
  }

  void MakeView(const Uuid& id) {
    ASSERT_TRUE(
        Applies(CreateView(kTable, {.uuid = Id('c')}, *Read("ns/n"), Id('e'), Done(id)).value()));
  }

  void MakeNamespace() {
    ASSERT_TRUE(
        Applies(CreateNamespace(kTable.ns, {}, std::nullopt, Id('d'), Done(Id('0'))).value()));
  }

  // Creates the table by the operation `id` and returns the registration's bytes.
  std::string MakeTable(const Uuid& id) {
    const PendingOperation operation = Pend(id, std::nullopt, "/w/a/1");
    EXPECT_TRUE(Applies(Reserve({operation})));
    EXPECT_TRUE(Applies(Publish({.operations = {operation},
                                 .outcomes = {Done(id)},
                                 .namespaces = {{kTable.ns, *Read("ns/n")}},
                                 .directory = Id('e')})
                            .value()));
    return Read("tbl/n/t").value();
  }

  static inline const TableName kTable{.ns = {{"n"}}, .name = "t"};
  static inline const TableName kFree{.ns = {{"n"}}, .name = "u"};
  testing::ManualClock clock_;
  MemoryMetaStore store_;
};

TEST_F(Publications, ACreatedTableAppearsTogetherWithItsOutcomeAndWithoutItsReservation) {
  MakeNamespace();
  const Registration made = DecodeRegistration(MakeTable(Id('1'))).value();
  EXPECT_EQ(made.version, 1U);
  EXPECT_EQ(made.metadata_location, "/w/a/1");
  EXPECT_EQ(made.last_operation, Id('1'));
  EXPECT_EQ(Read(PendingKey(Id('1'))), std::nullopt);
  EXPECT_NE(Read(OperationKey(Id('1'))), std::nullopt);
  EXPECT_EQ(Read(kDirectoryKey), Id('e').ToString());
}

TEST_F(Publications, AVersionIsNeverPublishedOverAnotherBase) {
  MakeNamespace();
  const std::string base = MakeTable(Id('1'));
  const PendingOperation first = Pend(Id('2'), base, "/w/a/2");
  const PendingOperation second = Pend(Id('3'), base, "/w/a/3");
  ASSERT_TRUE(Applies(Reserve({first})));
  ASSERT_TRUE(Applies(Reserve({second})));
  EXPECT_TRUE(Applies(
      Publish(
          {.operations = {first}, .outcomes = {Done(Id('2'))}, .namespaces = {}, .directory = {}})
          .value()));
  EXPECT_FALSE(Applies(
      Publish(
          {.operations = {second}, .outcomes = {Done(Id('3'))}, .namespaces = {}, .directory = {}})
          .value()));
  EXPECT_NE(Read(PendingKey(Id('3'))), std::nullopt) << "a rejected publication changes nothing";
}

TEST_F(Publications, AnAbortedOperationCannotBePublished) {
  MakeNamespace();
  const std::string base = MakeTable(Id('1'));
  const PendingOperation operation = Pend(Id('2'), base, "/w/a/2");
  ASSERT_TRUE(Applies(Reserve({operation})));
  ASSERT_TRUE(Applies(Abort({operation})));
  EXPECT_FALSE(Applies(Publish({.operations = {operation},
                                .outcomes = {Done(Id('2'))},
                                .namespaces = {},
                                .directory = {}})
                           .value()));
  EXPECT_EQ(Read("tbl/n/t"), base);
}

TEST_F(Publications, AFinishedOperationCannotBeReservedAgain) {
  MakeNamespace();
  const std::string base = MakeTable(Id('1'));
  EXPECT_FALSE(Applies(Reserve({Pend(Id('1'), base, "/w/a/2")})));
}

TEST_F(Publications, AGroupIsPublishedAsOne) {
  MakeNamespace();
  const std::string base = MakeTable(Id('1'));
  const PendingOperation first = Pend(Id('2'), base, "/w/a/2");
  const PendingOperation second = Pend(Id('3'), base, "/w/a/2");
  ASSERT_TRUE(Applies(Reserve({first, second})));
  ASSERT_TRUE(Applies(Publish({.operations = {first, second},
                               .outcomes = {Done(Id('2')), Done(Id('3'))},
                               .namespaces = {},
                               .directory = {}})
                          .value()));
  EXPECT_EQ(DecodeRegistration(*Read("tbl/n/t"))->version, 2U);
  EXPECT_NE(Read(OperationKey(Id('2'))), std::nullopt);
  EXPECT_NE(Read(OperationKey(Id('3'))), std::nullopt);
}

TEST_F(Publications, ATableIsNotCreatedInANamespaceThatIsGoneOrUnderAViewsName) {
  MakeNamespace();
  const std::string ns = *Read("ns/n");
  const PendingOperation operation = Pend(Id('2'), std::nullopt, "/w/a/2");
  const VersionPublication publication{.operations = {operation},
                                       .outcomes = {Done(Id('2'))},
                                       .namespaces = {{kTable.ns, ns}},
                                       .directory = Id('e')};
  ASSERT_TRUE(Applies(Reserve({operation})));
  ASSERT_TRUE(Applies(Transaction().Put("view/n/t", metastore::Expectation::Absent(), "v")));
  EXPECT_FALSE(Applies(Publish(publication).value()));
  ASSERT_TRUE(Applies(Transaction().Delete("view/n/t", metastore::Expectation::Any())));
  ASSERT_TRUE(
      Applies(DropNamespace(kTable.ns, ns, Read(kDirectoryKey), Id('f'), Done(Id('5'))).value()));
  EXPECT_FALSE(Applies(Publish(publication).value()));
}

TEST_F(Publications, ANamespaceIsNotDroppedWhenANameCameAfterTheScan) {
  MakeNamespace();
  const std::string ns = *Read("ns/n");
  const std::optional<std::string> directory = Read(kDirectoryKey);
  MakeTable(Id('1'));
  EXPECT_FALSE(Applies(DropNamespace(kTable.ns, ns, directory, Id('f'), Done(Id('5'))).value()));
}

TEST_F(Publications, ADropFreesTheNameAndLeavesATombstone) {
  MakeNamespace();
  const std::string registration = MakeTable(Id('1'));
  const Dropping dropping = Drop(registration, Done(Id('2')));
  EXPECT_TRUE(Applies(DropTable(dropping).value()));
  EXPECT_EQ(Read("tbl/n/t"), std::nullopt);
  EXPECT_THAT(DecodeTombstone(*Read(TombstoneKey(Id('a')))), IsOkAnd(dropping.tombstone));
}

// A table can be dropped, registered and dropped any number of times.
TEST_F(Publications, ARegisteredTableTakesItsTombstoneAway) {
  MakeNamespace();
  std::string registration = MakeTable(Id('1'));
  for (const char round : {'2', '4', '6'}) {
    ASSERT_TRUE(Applies(DropTable(Drop(registration, Done(Id(round)))).value()));
    Registering registering{.name = kTable,
                            .registration = DecodeRegistration(registration).value(),
                            .namespace_bytes = *Read("ns/n"),
                            .tombstone_bytes = std::nullopt,
                            .read_directory = Read(kDirectoryKey),
                            .directory = Id('e'),
                            .outcome = Done(Id(static_cast<char>(round + 1)))};
    EXPECT_FALSE(Applies(RegisterTable(registering).value())) << "the tombstone is there";
    registering.tombstone_bytes = Read(TombstoneKey(Id('a')));
    ASSERT_TRUE(Applies(RegisterTable(registering).value()));
    EXPECT_EQ(Read(TombstoneKey(Id('a'))), std::nullopt);
    registration = *Read("tbl/n/t");
  }
}

TEST_F(Publications, NoOperationIsPendingAndFinishedAtOnce) {
  MakeNamespace();
  const std::string registration = MakeTable(Id('1'));
  const PendingOperation pending = Pend(Id('2'), registration, "/w/a/2");
  ASSERT_TRUE(Applies(Reserve({pending})));
  const FinishedOperation outcome = Done(Id('2'));
  EXPECT_FALSE(Applies(Record(outcome)));
  EXPECT_FALSE(Applies(CreateNamespace({{"m"}}, {}, std::nullopt, Id('d'), outcome).value()));
  EXPECT_FALSE(Applies(
      DropNamespace(kTable.ns, *Read("ns/n"), Read(kDirectoryKey), Id('f'), outcome).value()));
  EXPECT_FALSE(Applies(DropTable(Drop(registration, outcome)).value()));
  EXPECT_FALSE(Applies(RegisterTable({.name = {.ns = kTable.ns, .name = "u"},
                                      .registration = {.incarnation = Id('b'),
                                                       .location = "/x",
                                                       .metadata_location = "/x/m",
                                                       .version = 1},
                                      .namespace_bytes = *Read("ns/n"),
                                      .tombstone_bytes = std::nullopt,
                                      .read_directory = Read(kDirectoryKey),
                                      .directory = Id('e'),
                                      .outcome = outcome})
                           .value()));
  EXPECT_EQ(Read(OperationKey(Id('2'))), std::nullopt);
  ASSERT_TRUE(Applies(Abort({pending})));
  EXPECT_TRUE(Applies(Record(outcome)));
  EXPECT_FALSE(Applies(Reserve({pending})));
}

TEST_F(Publications, ARefusedAbortTellsWhetherTheOperationWasPublished) {
  MakeNamespace();
  const std::string base = MakeTable(Id('1'));
  const auto refusal = [&](const PendingOperation& operation) {
    const auto result = store_.Commit(Abort({operation}), Soon()).value();
    EXPECT_TRUE(std::holds_alternative<Rejected>(result));
    return std::get<Rejected>(result);
  };
  const auto names_outcome = [](const Rejected& rejected, const Uuid& id) {
    return std::ranges::any_of(rejected.failures, [&](const metastore::FailedExpectation& failure) {
      return failure.key == OperationKey(id);
    });
  };
  const PendingOperation aborted = Pend(Id('2'), base, "/w/a/2");
  ASSERT_TRUE(Applies(Reserve({aborted})));
  ASSERT_TRUE(Applies(Abort({aborted})));
  EXPECT_FALSE(names_outcome(refusal(aborted), Id('2')));
  const PendingOperation published = Pend(Id('3'), base, "/w/a/2");
  ASSERT_TRUE(Applies(Reserve({published})));
  ASSERT_TRUE(Applies(Publish({.operations = {published},
                               .outcomes = {Done(Id('3'))},
                               .namespaces = {},
                               .directory = {}})
                          .value()));
  EXPECT_TRUE(names_outcome(refusal(published), Id('3')));
}

TEST_F(Publications, ARegisteredTableNeedsItsNamespaceAndAnUnchangedDirectory) {
  MakeNamespace();
  Registering registering{.name = kTable,
                          .registration = {.incarnation = Id('b'),
                                           .location = "/x",
                                           .metadata_location = "/x/m",
                                           .version = 1},
                          .namespace_bytes = *Read("ns/n"),
                          .tombstone_bytes = std::nullopt,
                          .read_directory = Id('9').ToString(),
                          .directory = Id('e'),
                          .outcome = Done(Id('6'))};
  EXPECT_FALSE(Applies(RegisterTable(registering).value()));
  registering.read_directory = Read(kDirectoryKey);
  EXPECT_TRUE(Applies(RegisterTable(registering).value()));
}

TEST_F(Publications, ARenamedTableIsUnderItsNewNameOnly) {
  MakeNamespace();
  MakeTable(Id('1'));
  EXPECT_TRUE(Applies(RenameTable(Move("tbl/n/t", kFree, Done(Id('2')))).value()));
  EXPECT_EQ(Read("tbl/n/t"), std::nullopt);
  EXPECT_EQ(Read("tbl/n/u"), "moved");
  EXPECT_EQ(Read(kDirectoryKey), Id('f').ToString());
  EXPECT_NE(Read(OperationKey(Id('2'))), std::nullopt);
}

TEST_F(Publications, ATableIsNotRenamedToATakenNameOrIntoANamespaceThatIsGone) {
  MakeNamespace();
  const std::string registration = MakeTable(Id('1'));
  const Renaming move = Move("tbl/n/t", kFree, Done(Id('2')));
  for (const char* taken : {"tbl/n/u", "view/n/u"}) {
    ASSERT_TRUE(Applies(Transaction().Put(taken, metastore::Expectation::Absent(), "x")));
    EXPECT_FALSE(Applies(RenameTable(move).value())) << taken;
    ASSERT_TRUE(Applies(Transaction().Delete(taken, metastore::Expectation::Any())));
  }
  EXPECT_FALSE(Applies(
      RenameTable(Move("tbl/n/t", {.ns = {{"gone"}}, .name = "u"}, Done(Id('2')))).value()));
  EXPECT_EQ(Read("tbl/n/t"), registration);
  EXPECT_TRUE(Applies(RenameTable(move).value()));
}

TEST_F(Publications, AViewTakesNoNameOfATableAndMovesToNone) {
  MakeNamespace();
  MakeTable(Id('1'));
  EXPECT_FALSE(Applies(CreateView(kTable, {}, *Read("ns/n"), Id('e'), Done(Id('2'))).value()));
  ASSERT_TRUE(Applies(RenameTable(Move("tbl/n/t", kFree, Done(Id('3')))).value()));
  MakeView(Id('4'));
  EXPECT_FALSE(Applies(RenameView(Move("view/n/t", kFree, Done(Id('5')))).value()));
  const TableName third{.ns = kTable.ns, .name = "v"};
  EXPECT_TRUE(Applies(RenameView(Move("view/n/t", third, Done(Id('6')))).value()));
  EXPECT_EQ(Read("view/n/v"), "moved");
  EXPECT_EQ(Read("view/n/t"), std::nullopt);
}

TEST_F(Publications, AViewIsReplacedAndDroppedOnlyAsItWasRead) {
  MakeNamespace();
  MakeView(Id('1'));
  const std::string first = *Read("view/n/t");
  ASSERT_TRUE(Applies(ReplaceView(kTable, first, {.version = 2}, Done(Id('2'))).value()));
  EXPECT_FALSE(Applies(ReplaceView(kTable, first, {.version = 3}, Done(Id('3'))).value()));
  EXPECT_FALSE(Applies(DropView(kTable, first, Id('f'), Done(Id('4'))).value()));
  EXPECT_TRUE(Applies(DropView(kTable, *Read("view/n/t"), Id('f'), Done(Id('5'))).value()));
  EXPECT_EQ(Read("view/n/t"), std::nullopt);
}

TEST_F(Publications, VersionsOfSeveralTablesBecomeCurrentTogetherOrNotAtAll) {
  MakeNamespace();
  const std::string base = MakeTable(Id('1'));
  ASSERT_TRUE(Applies(Transaction().Put("tbl/n/u", metastore::Expectation::Absent(), "other")));
  const Registration next{.incarnation = Id('a'), .version = 2};
  const auto commit = [&](const std::string& other_base, const Uuid& id) {
    return Applies(CommitVersions({{.name = kTable, .base = base, .next = next},
                                   {.name = kFree, .base = other_base, .next = next}},
                                  Done(id))
                       .value());
  };
  EXPECT_FALSE(commit("stale", Id('2')));
  EXPECT_EQ(Read("tbl/n/t"), base);
  EXPECT_TRUE(commit("other", Id('3')));
  EXPECT_EQ(Read("tbl/n/t"), Encode(next));
  EXPECT_EQ(Read("tbl/n/u"), Encode(next));
}

TEST_F(Publications, PropertiesAreSetOnlyOnTheNamespaceThatWasRead) {
  MakeNamespace();
  const std::string read = *Read("ns/n");
  const NamespaceRecord record{.properties = {{"k", "v"}}};
  ASSERT_TRUE(Applies(SetNamespaceProperties(kTable.ns, read, record, Done(Id('2'))).value()));
  EXPECT_THAT(DecodeNamespaceRecord(*Read("ns/n")), IsOkAnd(record));
  EXPECT_FALSE(Applies(SetNamespaceProperties(kTable.ns, read, {}, Done(Id('3'))).value()));
}

TEST_F(Publications, NothingIsChangedWhileItsOperationIsPending) {
  MakeNamespace();
  const std::string registration = MakeTable(Id('1'));
  ASSERT_TRUE(Applies(Reserve({Pend(Id('2'), registration, "/w/a/2")})));
  const FinishedOperation outcome = Done(Id('2'));
  EXPECT_FALSE(Applies(RenameTable(Move("tbl/n/t", kFree, outcome)).value()));
  EXPECT_FALSE(Applies(
      CommitVersions({{.name = kTable, .base = registration, .next = std::nullopt}}, outcome)
          .value()));
  EXPECT_FALSE(Applies(SetNamespaceProperties(kTable.ns, *Read("ns/n"), {}, outcome).value()));
  EXPECT_FALSE(Applies(CreateView(kFree, {}, *Read("ns/n"), Id('e'), outcome).value()));
  EXPECT_EQ(Read("tbl/n/t"), registration);
}

TEST_F(Publications, AnUndroppedTableIsBackAndItsTombstoneGone) {
  MakeNamespace();
  const std::string registration = MakeTable(Id('1'));
  ASSERT_TRUE(Applies(DropTable(Drop(registration, Done(Id('2')))).value()));
  const std::string tombstone = *Read(TombstoneKey(Id('a')));
  Undropping undropping{.name = kTable,
                        .registration = DecodeRegistration(registration).value(),
                        .namespace_bytes = *Read("ns/n"),
                        .tombstone_bytes = tombstone + " ",
                        .directory = Id('f'),
                        .outcome = Done(Id('3'))};
  EXPECT_FALSE(Applies(UndropTable(undropping).value())) << "another tombstone";
  undropping.tombstone_bytes = tombstone;
  undropping.location = LocationClaim{.location = "file:///x", .read_bytes = "nobody's"};
  EXPECT_FALSE(Applies(UndropTable(undropping).value())) << "another location record";
  undropping.location.reset();
  ASSERT_TRUE(Applies(UndropTable(undropping).value()));
  EXPECT_EQ(Read("tbl/n/t"), registration);
  EXPECT_EQ(Read(TombstoneKey(Id('a'))), std::nullopt);
  EXPECT_EQ(Read(kDirectoryKey), Id('f').ToString());
  undropping.outcome = Done(Id('4'));
  EXPECT_FALSE(Applies(UndropTable(undropping).value())) << "the name is taken";
}

TEST_F(Publications, ADropEndsTogetherWithTheTablesHoldOnItsLocation) {
  MakeNamespace();
  const std::string registration = MakeTable(Id('1'));
  ASSERT_TRUE(Applies(ClaimLocation("file:///x", Id('a'), "tbl/n/t", registration).value()));
  EXPECT_FALSE(Applies(ClaimLocation("file:///y", Id('a'), "tbl/n/t", registration + " ").value()));
  EXPECT_FALSE(Applies(ClaimLocation("file:///x", Id('a'), "tbl/n/t", registration).value()));
  ASSERT_TRUE(Applies(DropTable(Drop(registration, Done(Id('2')))).value()));
  const std::string tombstone = *Read(TombstoneKey(Id('a')));
  const std::string location = *Read("loc/file:///x");
  EXPECT_EQ(DecodeLocationRecord(location)->incarnation, Id('a'));
  LocationClaim claim{.location = "file:///x", .read_bytes = location + " "};
  EXPECT_FALSE(Applies(EndDrop(Id('a'), tombstone, claim).value()));
  EXPECT_NE(Read(TombstoneKey(Id('a'))), std::nullopt);
  claim.read_bytes = location;
  EXPECT_TRUE(Applies(EndDrop(Id('a'), tombstone, claim).value()));
  EXPECT_EQ(Read(TombstoneKey(Id('a'))), std::nullopt);
  EXPECT_EQ(Read("loc/file:///x"), std::nullopt);
  EXPECT_FALSE(Applies(EndDrop(Id('a'), tombstone, claim).value()));
}

TEST_F(Publications, ThatLocationsAreCompleteIsNotedOnlyIfNoNameHasComeOrGone) {
  MakeNamespace();
  EXPECT_FALSE(Applies(CompleteLocations(std::nullopt, Id('f'))));
  EXPECT_EQ(Read(kLocationsKey), std::nullopt);
  EXPECT_TRUE(Applies(CompleteLocations(Read(kDirectoryKey), Id('f'))));
  EXPECT_NE(Read(kLocationsKey), std::nullopt);
}

TEST_F(Publications, ARecordIsForgottenOnlyAsItWasReadAndNeverWhileItsOperationIsPending) {
  MakeNamespace();
  MakeTable(Id('1'));
  const std::string bytes = Read(OperationKey(Id('1'))).value();
  EXPECT_FALSE(Applies(Forget({{.id = Id('1'), .bytes = bytes + " "}})));
  Transaction pending;
  pending.Put(PendingKey(Id('1')), metastore::Expectation::Absent(), "x");
  ASSERT_TRUE(Applies(pending));
  EXPECT_FALSE(Applies(Forget({{.id = Id('1'), .bytes = bytes}})));
  EXPECT_EQ(Read(OperationKey(Id('1'))), bytes);
  Transaction ended;
  ended.Delete(PendingKey(Id('1')), metastore::Expectation::Any());
  ASSERT_TRUE(Applies(ended));
  EXPECT_TRUE(Applies(Forget({{.id = Id('1'), .bytes = bytes}})));
  EXPECT_EQ(Read(OperationKey(Id('1'))), std::nullopt);
}

TEST_F(Publications, WhatIsForgottenAtOnceFitsAPublication) {
  std::vector<RecordedOperation> operations;
  for (std::size_t i = 0; i < kForgetMax; ++i) {
    std::array<std::uint8_t, 16> id = Id('1').bytes();
    id[14] = static_cast<std::uint8_t>(i);
    operations.push_back({.id = Uuid(id), .bytes = "x"});
  }
  EXPECT_LT(Forget(operations).items().size(), metastore::kTransactionKeysMax);
  EXPECT_THAT(Forget(operations).Validate(), IsOk());
}

TEST_F(Publications, WhatWasForgottenIsNotedOverWhatWasRead) {
  const ForgottenRecord first{.before = std::chrono::hours(5)};
  EXPECT_TRUE(Applies(NoteForgotten(std::nullopt, first)));
  EXPECT_FALSE(Applies(NoteForgotten(std::nullopt, first)));
  EXPECT_FALSE(Applies(NoteForgotten("other", first)));
  EXPECT_TRUE(Applies(NoteForgotten(Encode(first), {.before = std::chrono::hours(6)})));
  EXPECT_EQ(DecodeForgottenRecord(*Read(kForgottenKey))->before, std::chrono::hours(6));
}

}  // namespace
}  // namespace lake::catalog
