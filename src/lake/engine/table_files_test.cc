#include "lake/engine/table_files.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/table_files_test_internal.h"

namespace lake::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::FaultyObjectStore;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::Not;
using ::testing::SizeIs;
using Kind = TableFileKind;
using Missing = TableFileWalk::Missing;

class TableFilesTest : public WrittenTable {
 protected:
  TableFileWalk Walk(TableFileWalk::Options options) {
    return {objects_, Metadata(), kMetadataLocation, std::move(options)};
  }

  // Returns the pages to the end.
  Result<std::vector<std::vector<TableFile>>> Pages(TableFileWalk::Options options) {
    TableFileWalk walk = Walk(std::move(options));
    std::vector<std::vector<TableFile>> pages;
    while (true) {
      LAKE_TRY(std::vector<TableFile> page, walk.Next(Soon()));
      if (page.empty()) {
        return pages;
      }
      pages.push_back(std::move(page));
    }
  }

  static std::set<std::string> PathsOf(const std::vector<std::vector<TableFile>>& pages) {
    std::set<std::string> paths;
    for (const auto& page : pages) {
      for (const TableFile& file : page) {
        paths.insert(file.path);
      }
    }
    return paths;
  }
};

TEST_F(TableFilesTest, EveryFileThatTheTableReachesComes) {
  FillTable();
  const auto pages = Pages({}).value();
  EXPECT_EQ(PathsOf(pages), Stored());
  std::map<std::string, TableFile> files;
  for (const auto& page : pages) {
    for (const TableFile& file : page) {
      files[file.path.substr(std::string("/w/t/").size())] = file;
    }
  }
  EXPECT_EQ(files["data/1"].kind, Kind::kDataFile);
  EXPECT_EQ(files["data/1"].size, 4U);
  EXPECT_EQ(files["data/p"].kind, Kind::kDeleteFile);
  EXPECT_EQ(files["data/e"].kind, Kind::kDeleteFile);
  EXPECT_EQ(files["metadata/a.avro"].kind, Kind::kManifest);
  EXPECT_EQ(files["metadata/snap-1.avro"].kind, Kind::kManifestList);
  EXPECT_EQ(files["metadata/2.stats"].kind, Kind::kStatistics);
  EXPECT_EQ(files["metadata/3.partition-stats"].kind, Kind::kPartitionStatistics);
  EXPECT_EQ(files["metadata/1.metadata.json"].kind, Kind::kEarlierMetadata);
  EXPECT_EQ(files["metadata/3.metadata.json"].kind, Kind::kMetadata);
}

TEST_F(TableFilesTest, AFileComesAfterEveryFileThatItNamesAndInAnotherPage) {
  FillTable();
  for (const std::size_t files_max : {1, 2, 3, 1000}) {
    for (const std::size_t reads_max : {1, 2, 64}) {
      SCOPED_TRACE(fmt::format("{} files, {} reads", files_max, reads_max));
      std::map<std::string, std::size_t> first_page;
      const auto pages = Pages({.page_files_max = files_max, .page_reads_max = reads_max}).value();
      for (std::size_t page = 0; page < pages.size(); ++page) {
        EXPECT_LE(pages[page].size(), files_max);
        for (const TableFile& file : pages[page]) {
          first_page.try_emplace(file.path.substr(std::string("/w/t/").size()), page);
        }
      }
      const std::vector<std::pair<std::string, std::string>> names = {
          {"metadata/a.avro", "data/1"},
          {"metadata/a.avro", "data/2"},
          {"metadata/b.avro", "data/3"},
          {"metadata/c.avro", "data/p"},
          {"metadata/c.avro", "data/e"},
          {"metadata/d.avro", "data/4"},
          {"metadata/snap-1.avro", "metadata/a.avro"},
          {"metadata/snap-2.avro", "metadata/a.avro"},
          {"metadata/snap-2.avro", "metadata/b.avro"},
          {"metadata/snap-2.avro", "metadata/c.avro"},
          {"metadata/snap-3.avro", "metadata/d.avro"},
          {"metadata/3.metadata.json", "metadata/snap-3.avro"},
          {"metadata/3.metadata.json", "metadata/2.stats"},
          {"metadata/3.metadata.json", "metadata/1.metadata.json"}};
      for (const auto& [above, below] : names) {
        EXPECT_GT(first_page.at(above), first_page.at(below)) << above << " names " << below;
      }
      EXPECT_THAT(pages.back(), ElementsAre(Field(&TableFile::kind, Kind::kMetadata)));
    }
  }
}

TEST_F(TableFilesTest, ASharedManifestIsReadOnce) {
  FillTable();
  ASSERT_THAT(Pages({}), IsOk());
  std::map<std::string, int> reads;
  for (const auto& request : objects_.requests()) {
    ++reads[request.path];
  }
  EXPECT_THAT(reads, SizeIs(7)) << "three lists and four manifests";
  EXPECT_THAT(reads, Each(Field(&std::pair<const std::string, int>::second, 1)));
}

TEST_F(TableFilesTest, AnEntryMarkedAsDeletedIsNotReached) {
  AddSnapshot(1,
              {PutManifest("a.avro", {Added("1"), Entry("2", iceberg::FileContent::kData,
                                                        iceberg::ManifestEntryStatus::kDeleted)})});
  const std::set<std::string> paths = PathsOf(Pages({}).value());
  EXPECT_TRUE(paths.contains("/w/t/data/1"));
  EXPECT_FALSE(paths.contains("/w/t/data/2"));
}

TEST_F(TableFilesTest, AFilterLeavesOutTheOtherSnapshotsAndTheirStatistics) {
  FillTable();
  const std::set<std::string> paths =
      PathsOf(Pages({.include = [](const iceberg::Snapshot& snapshot) {
                return snapshot.snapshot_id == iceberg::SnapshotId{2};
              }}).value());
  std::set<std::string> expected = Stored();
  for (const char* left_out : {"data/4", "metadata/d.avro", "metadata/snap-1.avro",
                               "metadata/snap-3.avro", "metadata/3.partition-stats"}) {
    EXPECT_EQ(expected.erase(std::string("/w/t/") + left_out), 1U);
  }
  EXPECT_EQ(paths, expected);
}

TEST_F(TableFilesTest, ASnapshotThatNamesItsManifestsItselfIsWalked) {
  PutManifest("a.avro", {Added("1")});
  metadata_.snapshots.push_back(
      {.snapshot_id = iceberg::SnapshotId{1}, .manifests = {"/w/t/metadata/a.avro"}});
  Put("metadata/3.metadata.json", "{}");
  EXPECT_EQ(PathsOf(Pages({}).value()), Stored());
}

TEST_F(TableFilesTest, ADamagedManifestOrListEndsTheWalkAndDoesNotShortenIt) {
  FillTable();
  for (const std::string path :
       {"/w/t/metadata/a.avro", "/w/t/metadata/d.avro", "/w/t/metadata/snap-2.avro"}) {
    const std::string bytes = under_.Get(path, 1 << 20, Soon()).value();
    for (const std::string& damaged : {std::string(), bytes.substr(0, bytes.size() - 1)}) {
      ASSERT_THAT(under_.Delete({path}, Soon()), IsOk());
      ASSERT_THAT(under_.PutIfAbsent(path, damaged, Soon()), IsOk());
      for (const Missing missing : {Missing::kDamage, Missing::kRemoved}) {
        TableFileWalk walk = Walk({.missing = missing});
        Result<std::vector<TableFile>> page = walk.Next(Soon());
        while (page.has_value() && !page->empty()) {
          EXPECT_THAT(*page, Not(Each(Field(&TableFile::kind, Kind::kMetadata))));
          page = walk.Next(Soon());
        }
        EXPECT_THAT(page, IsError(ErrorCode::kCorruption, HasSubstr(path)));
        EXPECT_THAT(walk.Next(Soon()), IsError(ErrorCode::kCorruption, HasSubstr(path)));
      }
    }
    ASSERT_THAT(under_.Delete({path}, Soon()), IsOk());
    ASSERT_THAT(under_.PutIfAbsent(path, bytes, Soon()), IsOk());
  }
}

TEST_F(TableFilesTest, AMissingManifestIsDamageUnlessAnEarlierWalkMayHaveRemovedIt) {
  FillTable();
  for (const std::string path : {"/w/t/metadata/a.avro", "/w/t/metadata/snap-2.avro"}) {
    const std::string bytes = under_.Get(path, 1 << 20, Soon()).value();
    ASSERT_THAT(under_.Delete({path}, Soon()), IsOk());
    EXPECT_THAT(Pages({}), IsError(ErrorCode::kCorruption, HasSubstr(path + " is missing")));
    EXPECT_THAT(Pages({.missing = Missing::kRemoved}), IsOk());
    ASSERT_THAT(under_.PutIfAbsent(path, bytes, Soon()), IsOk());
  }
}

// Deletes page after page and is interrupted after the first, then after the second, …: whatever is left is found again.
TEST_F(TableFilesTest, AWalkThatDeletesLosesNothingWhereverItIsInterrupted) {
  FillTable();
  const std::set<std::string> all = Stored();
  std::map<std::string, std::string> contents;
  for (const std::string& path : all) {
    contents[path] = under_.Get(path, 1 << 20, Soon()).value();
  }
  for (const std::size_t files_max : {1, 2, 1000}) {
    const TableFileWalk::Options options{
        .missing = Missing::kRemoved, .page_files_max = files_max, .page_reads_max = 2};
    const std::size_t pages = Pages(options)->size();
    for (std::size_t stop = 0; stop <= pages; ++stop) {
      SCOPED_TRACE(fmt::format("{} files, stopped after {} pages", files_max, stop));
      for (const auto& [path, bytes] : contents) {
        IgnoreError(under_.PutIfAbsent(path, bytes, Soon()), "what is there is right");
      }
      TableFileWalk interrupted = Walk(options);
      for (std::size_t page = 0; page < stop; ++page) {
        const std::vector<TableFile> files = interrupted.Next(Soon()).value();
        for (const TableFile& file : files) {
          ASSERT_THAT(under_.Delete({file.path}, Soon()), IsOk());
        }
      }
      const auto rest = Pages(options).value();
      for (const auto& page : rest) {
        for (const TableFile& file : page) {
          ASSERT_THAT(under_.Delete({file.path}, Soon()), IsOk());
        }
      }
      EXPECT_THAT(Stored(), IsEmpty());
    }
  }
}

TEST_F(TableFilesTest, AWalkGoesOnWhereTheStoreFailedIt) {
  FillTable();
  for (std::size_t n = 1;; ++n) {
    const std::size_t before = objects_.requests().size();
    objects_.FailNth(n, FaultyObjectStore::Fault::kRefuse);
    TableFileWalk walk = Walk({.page_files_max = 2});
    std::set<std::string> paths;
    std::size_t failures = 0;
    while (true) {
      const Result<std::vector<TableFile>> page = walk.Next(Soon());
      if (!page.has_value()) {
        ASSERT_THAT(page, IsError(ErrorCode::kUnavailable, HasSubstr("/w/t/metadata/")));
        ++failures;
        continue;
      }
      if (page->empty()) {
        break;
      }
      for (const TableFile& file : *page) {
        paths.insert(file.path);
      }
    }
    EXPECT_EQ(paths, Stored());
    if (failures == 0) {
      EXPECT_EQ(n, 8U);
      break;
    }
    EXPECT_EQ(failures, 1U);
    EXPECT_EQ(objects_.requests().size() - before, 8U);
  }
}

TEST_F(TableFilesTest, AVisitEndsWithTheFirstRefusal) {
  FillTable();
  std::set<std::string> visited;
  const auto metadata = Metadata();
  const auto visit = [&](const TableFile& file) -> Status {
    visited.insert(file.path);
    return {};
  };
  EXPECT_THAT(VisitTableFiles(objects_, metadata, kMetadataLocation, {}, Soon(), visit), IsOk());
  EXPECT_EQ(visited, Stored());
  EXPECT_THAT(VisitTableFiles(objects_, metadata, kMetadataLocation, {}, Soon(),
                              [](const TableFile& file) -> Status {
                                return file.kind == Kind::kManifest ? Cancelled("enough")
                                                                    : Status();
                              }),
              IsError(ErrorCode::kCancelled));
}

}  // namespace
}  // namespace lake::engine
