#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/time.h"
#include "lake/objstore/objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/run_together.h"

// The conformance suite of ObjectStore: one set of tests that every backend passes. A backend's
// test program includes this file in exactly one source and names itself:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreSuite, ::testing::Values(ObjectStoreBackend{…}),
//                            ObjectStoreBackendName);
//
// The number in a comment "Law 2" is that of the laws in objstore.h. Durability (law 1) is tested
// beside each backend, since only it can cut the power.

namespace lake::testing {

using objstore::ObjectInfo;
using objstore::ObjectPage;
using objstore::ObjectStore;
using objstore::ObjectWriter;

// One empty store.
class ObjectStoreHarness {
 public:
  virtual ~ObjectStoreHarness() = default;
  // Returns the open store.
  virtual ObjectStore& store() = 0;
  // Returns the clock on which the store counts deadlines.
  virtual ManualClock& clock() = 0;
  // Returns a prefix, ending in "/", below which the tests may do what they want.
  virtual std::string root() const = 0;
};

// A backend, with the differences that the contract allows.
struct ObjectStoreBackend {
  std::string name;
  std::function<std::unique_ptr<ObjectStoreHarness>()> make;
  // Objects lie in directories: no path can be an object and the beginning of another one's.
  bool has_directories = false;
};

// Returns the name that the backend's tests bear.
inline std::string ObjectStoreBackendName(
    const ::testing::TestParamInfo<ObjectStoreBackend>& info) {
  return info.param.name;
}

// Prints the backend in messages of failed tests.
inline void PrintTo(const ObjectStoreBackend& backend, std::ostream* out) {
  *out << backend.name;
}

// Each test has a fresh store of the backend.
class ObjectStoreSuite : public ::testing::TestWithParam<ObjectStoreBackend> {
 protected:
  static constexpr std::uint64_t kAnySize = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

  ObjectStoreSuite() : harness_(GetParam().make()) {}

  ObjectStore& store() { return harness_->store(); }

  // Returns the path of `name` below the root.
  std::string Path(std::string_view name) const { return harness_->root() + std::string(name); }

  // A deadline that no test reaches.
  Deadline Later() { return harness_->clock().Now() + std::chrono::hours(1); }

  Deadline Passed() { return harness_->clock().Now(); }

  Status Put(std::string_view name, std::string_view bytes) {
    return store().PutIfAbsent(Path(name), bytes, Later());
  }

  Result<std::string> Get(std::string_view name) {
    return store().Get(Path(name), kAnySize, Later());
  }

  Result<std::string> GetRange(std::string_view name, std::uint64_t offset, std::uint64_t length) {
    return store().GetRange(Path(name), offset, length, Later());
  }

  Status Delete(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) {
      paths.push_back(Path(name));
    }
    return store().Delete(paths, Later());
  }

  std::unique_ptr<ObjectWriter> MustStart(std::string_view name) {
    auto writer = store().StartWrite(Path(name), Later());
    EXPECT_THAT(writer, IsOk());
    return writer.has_value() ? *std::move(writer) : nullptr;
  }

  // Lists everything below root + `directory` that sorts after `after`, page by page, and returns
  // the names below the root.
  std::vector<std::string> ListNames(std::string_view directory, std::size_t limit = 1000,
                                     std::string after = "") {
    std::vector<std::string> names;
    while (true) {
      const Result<ObjectPage> page = store().List(Path(directory), after, limit, Later());
      EXPECT_THAT(page, IsOk());
      if (!page.has_value()) {
        return names;
      }
      EXPECT_LE(page->objects.size(), limit);
      for (const ObjectInfo& info : page->objects) {
        EXPECT_TRUE(info.path.starts_with(Path(directory))) << info.path;
        EXPECT_GT(info.path, after);
        names.push_back(info.path.substr(harness_->root().size()));
      }
      if (!page->next.has_value()) {
        return names;
      }
      EXPECT_GT(*page->next, after) << "a listing moves on";
      after = *page->next;
    }
  }

 private:
  const std::unique_ptr<ObjectStoreHarness> harness_;
};

// Returns bytes in which every value comes, in no short period.
inline std::string BytesOfEveryValue(std::size_t size) {
  std::string bytes;
  bytes.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>((i * 131 + i / 256) % 256);
  }
  return bytes;
}

// Law 3.
TEST_P(ObjectStoreSuite, GivesBackWhatWasPut) {
  for (const std::size_t size : {0, 1, 255, 4096, 65537, 3 * 1024 * 1024 + 1}) {
    const std::string name = "size-" + std::to_string(size);
    const std::string bytes = BytesOfEveryValue(size);
    ASSERT_THAT(Put(name, bytes), IsOk());
    const Result<std::string> read = Get(name);
    ASSERT_THAT(read, IsOk());
    EXPECT_TRUE(*read == bytes) << size;
    const Result<ObjectInfo> info = store().Stat(Path(name), Later());
    ASSERT_THAT(info, IsOk());
    EXPECT_EQ(info->size, size);
    EXPECT_EQ(info->path, Path(name));
  }
}

TEST_P(ObjectStoreSuite, SaysThatAnObjectDoesNotExist) {
  ASSERT_THAT(Put("object", "x"), IsOk());
  ASSERT_THAT(Put("directory/object", "x"), IsOk());
  for (const char* name : {"none", "none/none", "object2", "objec", "directory", "directory/none",
                           "object/below", "object/below/deeper"}) {
    EXPECT_THAT(Get(name), IsError(ErrorCode::kNotFound)) << name;
    EXPECT_THAT(GetRange(name, 0, 0), IsError(ErrorCode::kNotFound)) << name;
    EXPECT_THAT(store().Stat(Path(name), Later()), IsError(ErrorCode::kNotFound)) << name;
  }
}

TEST_P(ObjectStoreSuite, NamesTheObjectInItsErrors) {
  EXPECT_THAT(Get("none"), IsError(ErrorCode::kNotFound, ::testing::HasSubstr("none")));
  ASSERT_THAT(Put("taken", "x"), IsOk());
  EXPECT_THAT(Put("taken", "x"), IsError(ErrorCode::kAlreadyExists, ::testing::HasSubstr("taken")));
}

TEST_P(ObjectStoreSuite, RefusesAnObjectLargerThanExpected) {
  ASSERT_THAT(Put("five", "12345"), IsOk());
  EXPECT_THAT(store().Get(Path("five"), 5, Later()), IsOkAnd("12345"));
  EXPECT_THAT(store().Get(Path("five"), kHuge, Later()), IsOkAnd("12345"));
  EXPECT_THAT(store().Get(Path("five"), 4, Later()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().Get(Path("five"), 0, Later()), IsError(ErrorCode::kInvalidArgument));
  ASSERT_THAT(Put("empty", ""), IsOk());
  EXPECT_THAT(store().Get(Path("empty"), 0, Later()), IsOkAnd(""));
}

TEST_P(ObjectStoreSuite, ReadsRangesUpToTheEndAndNoFurther) {
  ASSERT_THAT(Put("five", "12345"), IsOk());
  EXPECT_THAT(GetRange("five", 0, 5), IsOkAnd("12345"));
  EXPECT_THAT(GetRange("five", 0, 1), IsOkAnd("1"));
  EXPECT_THAT(GetRange("five", 4, 1), IsOkAnd("5"));
  EXPECT_THAT(GetRange("five", 1, 3), IsOkAnd("234"));
  EXPECT_THAT(GetRange("five", 0, 0), IsOkAnd(""));
  EXPECT_THAT(GetRange("five", 5, 0), IsOkAnd(""));
  const std::pair<std::uint64_t, std::uint64_t> past_the_end[] = {
      {0, 6},     {1, 5},     {5, 1},         {6, 0},        {kHuge, 0},
      {0, kHuge}, {1, kHuge}, {kHuge, kHuge}, {5, kHuge - 4}};
  for (const auto& [offset, length] : past_the_end) {
    EXPECT_THAT(GetRange("five", offset, length), IsError(ErrorCode::kInvalidArgument))
        << offset << "+" << length;
  }
  ASSERT_THAT(Put("empty", ""), IsOk());
  EXPECT_THAT(GetRange("empty", 0, 0), IsOkAnd(""));
  EXPECT_THAT(GetRange("empty", 0, 1), IsError(ErrorCode::kInvalidArgument));
}

// Law 2.
TEST_P(ObjectStoreSuite, NeverOverwrites) {
  ASSERT_THAT(Put("a", "first"), IsOk());
  EXPECT_THAT(Put("a", "second"), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(Put("a", "first"), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(Put("a", ""), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(Get("a"), IsOkAnd("first"));
}

// Law 2.
TEST_P(ObjectStoreSuite, LetsExactlyOneOfManyPutsWin) {
  constexpr std::size_t kThreads = 8;
  for (int round = 0; round < 25; ++round) {
    const std::string name = "round-" + std::to_string(round) + "/object";
    std::vector<Status> outcomes(kThreads);
    RunTogether(kThreads, [&](std::size_t i) {
      const std::string bytes(1000 + i, static_cast<char>('a' + i));
      if (i % 2 == 0) {
        outcomes[i] = Put(name, bytes);
        return;
      }
      const std::unique_ptr<ObjectWriter> writer = MustStart(name);
      ASSERT_NE(writer, nullptr);
      ASSERT_THAT(writer->Append(bytes), IsOk());
      outcomes[i] = writer->Finish();
    });
    std::vector<std::size_t> winners;
    for (std::size_t i = 0; i < kThreads; ++i) {
      if (outcomes[i].has_value()) {
        winners.push_back(i);
      } else {
        EXPECT_THAT(outcomes[i], IsError(ErrorCode::kAlreadyExists));
      }
    }
    ASSERT_EQ(winners.size(), 1U);
    EXPECT_THAT(Get(name),
                IsOkAnd(std::string(1000 + winners[0], static_cast<char>('a' + winners[0]))));
    EXPECT_THAT(ListNames("round-" + std::to_string(round) + "/"), ::testing::ElementsAre(name));
  }
}

TEST_P(ObjectStoreSuite, TakesManyPutsIntoAPlaceThatDoesNotExistYet) {
  constexpr std::size_t kThreads = 8;
  for (int round = 0; round < 10; ++round) {
    const std::string place = "r" + std::to_string(round) + "/a/b/c/";
    std::vector<Status> outcomes(kThreads);
    RunTogether(kThreads, [&](std::size_t i) {
      outcomes[i] = Put(place + std::to_string(i), std::to_string(i));
    });
    EXPECT_THAT(outcomes, ::testing::Each(IsOk()));
    EXPECT_EQ(ListNames(place).size(), kThreads);
  }
}

// Law 3.
TEST_P(ObjectStoreSuite, ShowsAReaderAllOrNothing) {
  const std::string bytes = BytesOfEveryValue(1024 * 1024);
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = "object-" + std::to_string(round);
    Thread writer("writer", [&] { EXPECT_THAT(Put(name, bytes), IsOk()); });
    while (true) {
      const Result<std::string> read = Get(name);
      if (read.has_value()) {
        EXPECT_TRUE(*read == bytes);
        break;
      }
      ASSERT_THAT(read, IsError(ErrorCode::kNotFound));
    }
  }
}

TEST_P(ObjectStoreSuite, WritesAnObjectInPieces) {
  const std::unique_ptr<ObjectWriter> writer = MustStart("pieces");
  ASSERT_NE(writer, nullptr);
  std::string expected;
  for (const std::size_t size : {1, 0, 100000, 7, 1048576}) {
    const std::string piece = BytesOfEveryValue(size);
    ASSERT_THAT(writer->Append(piece), IsOk());
    expected += piece;
  }
  ASSERT_THAT(writer->Finish(), IsOk());
  const Result<std::string> read = Get("pieces");
  ASSERT_THAT(read, IsOk());
  EXPECT_TRUE(*read == expected);
}

TEST_P(ObjectStoreSuite, WritesAnEmptyObject) {
  const std::unique_ptr<ObjectWriter> writer = MustStart("empty");
  ASSERT_NE(writer, nullptr);
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(Get("empty"), IsOkAnd(""));
}

TEST_P(ObjectStoreSuite, ShowsNothingOfAnUnfinishedObject) {
  std::unique_ptr<ObjectWriter> writer = MustStart("d/unfinished");
  ASSERT_NE(writer, nullptr);
  ASSERT_THAT(writer->Append(BytesOfEveryValue(100000)), IsOk());
  EXPECT_THAT(Get("d/unfinished"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(ListNames("d/"), ::testing::IsEmpty());
  EXPECT_THAT(ListNames(""), ::testing::IsEmpty());
  writer.reset();
  EXPECT_THAT(Get("d/unfinished"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(ListNames(""), ::testing::IsEmpty());
  EXPECT_THAT(Put("d/unfinished", "now"), IsOk());
  EXPECT_THAT(Get("d/unfinished"), IsOkAnd("now"));
}

// Law 2.
TEST_P(ObjectStoreSuite, LetsTheFirstOfTwoWritersFinish) {
  const std::unique_ptr<ObjectWriter> first = MustStart("object");
  const std::unique_ptr<ObjectWriter> second = MustStart("object");
  const std::unique_ptr<ObjectWriter> third = MustStart("object");
  ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
  ASSERT_THAT(first->Append("first"), IsOk());
  ASSERT_THAT(second->Append("second"), IsOk());
  ASSERT_THAT(second->Finish(), IsOk());
  EXPECT_THAT(first->Finish(), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(third->Finish(), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(Get("object"), IsOkAnd("second"));
}

// Sorted. '-', '!' and '.' sort before '/', digits and letters after it: an order made directory by
// directory would be wrong.
inline std::vector<std::string> NamesAroundASlash() {
  std::vector<std::string> names = {"test-/x",
                                    "test.txt",
                                    "test!/q",
                                    "test/a.b",
                                    "test/a/b",
                                    "test/a/b.c/d",
                                    "test/a0",
                                    "test/z",
                                    "test0",
                                    "test2/a/c",
                                    "tes",
                                    "u/v/w/x",
                                    "A",
                                    "zzz",
                                    "\xC3\xA9/y",
                                    "test1",
                                    "deep/1/2/3/4/5/6/7/8/9"};
  std::ranges::sort(names);
  return names;
}

TEST_P(ObjectStoreSuite, ListsInPathOrderAtEveryDepth) {
  const std::vector<std::string> names = NamesAroundASlash();
  for (const std::string& name : names) {
    ASSERT_THAT(Put(name, name), IsOk());
  }
  EXPECT_EQ(ListNames(""), names);
  EXPECT_THAT(ListNames("test/"),
              ::testing::ElementsAre("test/a.b", "test/a/b", "test/a/b.c/d", "test/a0", "test/z"));
  EXPECT_THAT(ListNames("test/a/"), ::testing::ElementsAre("test/a/b", "test/a/b.c/d"));
  EXPECT_THAT(ListNames("test2/"), ::testing::ElementsAre("test2/a/c"));
}

TEST_P(ObjectStoreSuite, ListsTheSameWhateverThePageSize) {
  const std::vector<std::string> names = NamesAroundASlash();
  for (const std::string& name : names) {
    ASSERT_THAT(Put(name, name), IsOk());
  }
  for (std::size_t limit = 1; limit <= names.size() + 1; ++limit) {
    EXPECT_EQ(ListNames("", limit), names) << limit;
  }
}

TEST_P(ObjectStoreSuite, ListsWhatSortsAfterAnyText) {
  const std::vector<std::string> names = NamesAroundASlash();
  for (const std::string& name : names) {
    ASSERT_THAT(Put(name, name), IsOk());
  }
  std::vector<std::string> texts = {"", "/", "zzzz", Path(""), Path("test"), Path("test/")};
  for (const std::string& name : names) {
    const std::string path = Path(name);
    for (std::size_t length = Path("").size(); length <= path.size(); ++length) {
      texts.push_back(path.substr(0, length));
    }
    texts.push_back(path + '\0');
    texts.push_back(path + "/");
    texts.push_back(path + "0");
    texts.push_back(path.substr(0, path.size() - 1) + "\xFF");
  }
  for (const std::string& after : texts) {
    std::vector<std::string> expected;
    std::ranges::copy_if(names, std::back_inserter(expected),
                         [&](const std::string& name) { return Path(name) > after; });
    EXPECT_EQ(ListNames("", 3, after), expected) << after;
  }
}

TEST_P(ObjectStoreSuite, ListsSizeAndTime) {
  ASSERT_THAT(Put("d/a", "12345"), IsOk());
  const Result<ObjectPage> page = store().List(Path("d/"), "", 10, Later());
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->objects.size(), 1U);
  EXPECT_FALSE(page->next.has_value());
  EXPECT_THAT(store().Stat(Path("d/a"), Later()), IsOkAnd(page->objects[0]));
}

TEST_P(ObjectStoreSuite, ListsAMissingPlaceAsEmpty) {
  ASSERT_THAT(Put("object", "x"), IsOk());
  EXPECT_THAT(ListNames("none/"), ::testing::IsEmpty());
  EXPECT_THAT(ListNames("none/none/"), ::testing::IsEmpty());
  EXPECT_THAT(ListNames("obj/"), ::testing::IsEmpty());
  EXPECT_THAT(ListNames("object/"), ::testing::IsEmpty());
  EXPECT_THAT(ListNames("object/below/"), ::testing::IsEmpty());
}

TEST_P(ObjectStoreSuite, ListsOnlyByAWholeDirectoryName) {
  const std::string without_slash = Path("x");
  EXPECT_THAT(store().List(without_slash, "", 10, Later()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().List("", "", 10, Later()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().List(Path(""), "", 0, Later()), IsError(ErrorCode::kInvalidArgument));
}

TEST_P(ObjectStoreSuite, ListsWhatStaysWhileOthersComeAndGo) {
  std::vector<std::string> stays;
  for (int i = 0; i < 30; ++i) {
    stays.push_back("d/" + std::to_string(100 + i) + "/stays");
    ASSERT_THAT(Put(stays.back(), "x"), IsOk());
  }
  std::atomic<bool> stop = false;
  Thread changer("changer", [&] {
    for (int i = 0; !stop; ++i) {
      const std::string name = "d/" + std::to_string(100 + i % 30) + "/" + (i % 2 == 0 ? "a" : "z");
      EXPECT_THAT(Put(name, "x"), IsOk());
      EXPECT_THAT(Delete({name}), IsOk());
    }
  });
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> listed = ListNames("d/", 7);
    EXPECT_TRUE(std::ranges::is_sorted(listed));
    std::erase_if(listed, [](const std::string& name) { return !name.ends_with("/stays"); });
    EXPECT_EQ(listed, stays);
  }
  stop = true;
}

// Law 4.
TEST_P(ObjectStoreSuite, DeletesOnceAndAgain) {
  ASSERT_THAT(Put("a", "x"), IsOk());
  ASSERT_THAT(Put("d/b", "x"), IsOk());
  ASSERT_THAT(Put("d/kept", "x"), IsOk());
  EXPECT_THAT(Delete({}), IsOk());
  EXPECT_THAT(Delete({"a", "d/b", "none", "none/none", "a", "a/below"}), IsOk());
  EXPECT_THAT(Delete({"a", "d/b"}), IsOk());
  EXPECT_THAT(Get("a"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(Get("d/b"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(ListNames(""), ::testing::ElementsAre("d/kept"));
}

TEST_P(ObjectStoreSuite, DeletesObjectsAndNoDirectories) {
  ASSERT_THAT(Put("d/e/a", "x"), IsOk());
  EXPECT_THAT(Delete({"d", "d/e"}), IsOk());
  EXPECT_THAT(Get("d/e/a"), IsOkAnd("x"));
}

TEST_P(ObjectStoreSuite, PutsAgainWhereSomethingWasDeleted) {
  ASSERT_THAT(Put("d/a", "old"), IsOk());
  ASSERT_THAT(Delete({"d/a"}), IsOk());
  ASSERT_THAT(Put("d/a", "new"), IsOk());
  EXPECT_THAT(Get("d/a"), IsOkAnd("new"));
}

TEST_P(ObjectStoreSuite, DeletesNothingIfOnePathIsWrong) {
  ASSERT_THAT(Put("a", "x"), IsOk());
  EXPECT_THAT(store().Delete({Path("a"), Path("../b")}, Later()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Get("a"), IsOkAnd("x"));
}

TEST_P(ObjectStoreSuite, TakesNamesLiterally) {
  const std::vector<std::string> names = {"a b",
                                          "a%20b",
                                          "a+b",
                                          "a%2Fb",
                                          "%2E%2E",
                                          "ts=2024-01-01T00%3A00",
                                          "ts=2024-01-01T00:00",
                                          "a?b",
                                          "a#b",
                                          "a\\b",
                                          "a*b",
                                          "a'b",
                                          "a\"b",
                                          "a$HOME",
                                          "a`b",
                                          "a\nb",
                                          "a\tb",
                                          "\x01",
                                          "-rf",
                                          "~",
                                          "...",
                                          "..a",
                                          ".a",
                                          "a.",
                                          " ",
                                          "|",
                                          "\xC3\xA9",
                                          "e\xCC\x81",
                                          "A",
                                          "a",
                                          "\xF0\x9F\x90\x9F",
                                          std::string(255, 'n')};
  for (const std::string& name : names) {
    EXPECT_THAT(Put(name, "object " + name), IsOk()) << name;
    EXPECT_THAT(Put(name + ".d/" + name, "below " + name),
                name.size() < 254
                    ? ::testing::Matcher<const Status&>(IsOk())
                    : ::testing::Matcher<const Status&>(IsError(ErrorCode::kInvalidArgument)))
        << name;
  }
  for (const std::string& name : names) {
    EXPECT_THAT(Get(name), IsOkAnd("object " + name));
  }
  std::vector<std::string> listed = ListNames("");
  std::erase_if(listed,
                [](const std::string& name) { return name.find('/') != std::string::npos; });
  EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(names));
  EXPECT_THAT(Delete(names), IsOk());
  for (const std::string& name : names) {
    EXPECT_THAT(Get(name), IsError(ErrorCode::kNotFound)) << name;
  }
}

TEST_P(ObjectStoreSuite, RefusesPathsThatAreNotNormalised) {
  std::vector<std::string> paths = {"",
                                    "relative",
                                    "unknown://b/x",
                                    Path(""),
                                    Path("a/"),
                                    Path("/a"),
                                    Path("a//b"),
                                    Path("."),
                                    Path(".."),
                                    Path("a/.."),
                                    Path("../a"),
                                    Path("./a"),
                                    Path("a/./b"),
                                    Path("a/../b"),
                                    Path(std::string(256, 'n')),
                                    Path(std::string("a\0b", 3))};
  std::string too_long = Path("x");
  while (too_long.size() < 5000) {
    too_long += "/x";
  }
  paths.push_back(too_long);
  const auto refused = IsError(ErrorCode::kInvalidArgument);
  for (const std::string& path : paths) {
    EXPECT_THAT(store().PutIfAbsent(path, "x", Later()), refused) << path;
    EXPECT_THAT(store().StartWrite(path, Later()), refused) << path;
    EXPECT_THAT(store().Get(path, kAnySize, Later()), refused) << path;
    EXPECT_THAT(store().GetRange(path, 0, 1, Later()), refused) << path;
    EXPECT_THAT(store().Stat(path, Later()), refused) << path;
    EXPECT_THAT(store().Delete({path}, Later()), refused) << path;
  }
  EXPECT_THAT(store().List(Path("a/../"), "", 10, Later()), refused);
  EXPECT_THAT(store().List(Path("/"), "", 10, Later()), refused);
}

TEST_P(ObjectStoreSuite, DoesNothingWhenNoTimeIsLeft) {
  ASSERT_THAT(Put("there", "x"), IsOk());
  const auto late = IsError(ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(store().PutIfAbsent(Path("a"), "x", Passed()), late);
  EXPECT_THAT(store().StartWrite(Path("a"), Passed()), late);
  EXPECT_THAT(store().Get(Path("there"), kAnySize, Passed()), late);
  EXPECT_THAT(store().GetRange(Path("there"), 0, 1, Passed()), late);
  EXPECT_THAT(store().Stat(Path("there"), Passed()), late);
  EXPECT_THAT(store().List(Path(""), "", 10, Passed()), late);
  EXPECT_THAT(store().Delete({Path("there")}, Passed()), late);
  EXPECT_THAT(ListNames(""), ::testing::ElementsAre("there"));
}

TEST_P(ObjectStoreSuite, KeepsObjectsAndDirectoriesApartWhereThereAreDirectories) {
  ASSERT_THAT(Put("d/object", "x"), IsOk());
  ASSERT_THAT(Put("object", "x"), IsOk());
  if (GetParam().has_directories) {
    EXPECT_THAT(Put("d", "y"), IsError(ErrorCode::kAlreadyExists));
    EXPECT_THAT(Put("object/below", "y"), IsError(ErrorCode::kInvalidArgument));
    EXPECT_THAT(Put("object/below/deeper", "y"), IsError(ErrorCode::kInvalidArgument));
    EXPECT_THAT(ListNames(""), ::testing::ElementsAre("d/object", "object"));
  } else {
    EXPECT_THAT(Put("d", "y"), IsOk());
    EXPECT_THAT(Put("object/below", "y"), IsOk());
    EXPECT_THAT(ListNames(""), ::testing::ElementsAre("d", "d/object", "object", "object/below"));
  }
}

}  // namespace lake::testing
