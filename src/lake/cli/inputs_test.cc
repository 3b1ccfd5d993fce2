#include "lake/cli/inputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "lake/base/hash.h"
#include "lake/base/thread.h"
#include "lake/testing/matchers.h"
#include "lake/testing/temp_dir.h"

namespace lake::cli {
namespace {

using engine::InputFormat;
using lake::testing::IsError;
using lake::testing::IsOk;
using lake::testing::IsOkAnd;
using lake::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A pipe that holds `text` and is closed at the other end.
class ClosedPipe {
 public:
  explicit ClosedPipe(std::string_view text) {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(ends_[1]);
  }

  ~ClosedPipe() { close(ends_[0]); }

  ClosedPipe(const ClosedPipe&) = delete;
  ClosedPipe& operator=(const ClosedPipe&) = delete;

  int read_end() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{-1, -1};
};

constexpr int kNoStandardInput = -1;
const Inputs::OnProgress kIgnore = [](double) {};

TEST(Inputs, DigestsEachInputInOrder) {
  const TempDir dir;
  WriteFile(dir.Join("a.csv"), "one");
  WriteFile(dir.Join("b.csv"), "two");
  const Result<Inputs> inputs =
      Inputs::Open({{dir.Join("b.csv"), InputFormat::kCsv}, {dir.Join("a.csv"), InputFormat::kCsv}},
                   kNoStandardInput);
  ASSERT_THAT(inputs, IsOk());
  double last = 0;
  EXPECT_THAT(inputs->Digest([&](double fraction) { last = fraction; }),
              IsOkAnd(ElementsAre(Sha256Hex("two"), Sha256Hex("one"))));
  EXPECT_EQ(last, 1.0);
  ASSERT_EQ(inputs->ToStage().size(), 2);
  EXPECT_EQ(inputs->ToStage()[0].path, dir.Join("b.csv"));
}

TEST(Inputs, OneMissingFileIsFoundBeforeStandardInputIsRead) {
  const TempDir dir;
  const ClosedPipe pipe("data");
  EXPECT_THAT(
      Inputs::Open({{kStandardInput, InputFormat::kCsv}, {dir.Join("gone.csv"), InputFormat::kCsv}},
                   pipe.read_end()),
      IsError(ErrorCode::kNotFound, HasSubstr("gone.csv")));
  std::array<char, 8> buffer{};
  EXPECT_EQ(read(pipe.read_end(), buffer.data(), buffer.size()), 4);
}

TEST(Inputs, ADirectoryIsRefused) {
  const TempDir dir;
  EXPECT_THAT(Inputs::Open({{dir.path(), InputFormat::kCsv}}, kNoStandardInput),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("directory")));
}

TEST(Inputs, StandardInputIsKeptInAFileThatGoesWithThem) {
  const ClosedPipe pipe("a,b\n1,2\n");
  std::string path;
  {
    const Result<Inputs> inputs =
        Inputs::Open({{kStandardInput, InputFormat::kCsv}}, pipe.read_end());
    ASSERT_THAT(inputs, IsOk());
    EXPECT_THAT(inputs->Digest(kIgnore), IsOkAnd(ElementsAre(Sha256Hex("a,b\n1,2\n"))));
    path = inputs->ToStage().at(0).path;
    EXPECT_THAT(path, EndsWith(".csv"));
    EXPECT_EQ(ReadFile(path), "a,b\n1,2\n");
    EXPECT_THAT(inputs->CheckUnchanged(), IsOk());
    const Error error = inputs->InPersonsWords(
        Error(ErrorCode::kInvalidArgument, path + ": line 1 of " + path + " is damaged"));
    EXPECT_EQ(error, Error(ErrorCode::kInvalidArgument,
                           "standard input: line 1 of standard input is damaged"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Inputs, ANamedPipeIsReadOnceAndKept) {
  const TempDir dir;
  ASSERT_EQ(mkfifo(dir.Join("p.json").c_str(), 0600), 0);
  Thread writer("writer", [&] { WriteFile(dir.Join("p.json"), "{}"); });
  const Result<Inputs> inputs =
      Inputs::Open({{dir.Join("p.json"), InputFormat::kJson}}, kNoStandardInput);
  writer.Join();
  ASSERT_THAT(inputs, IsOk());
  EXPECT_THAT(inputs->Digest(kIgnore), IsOkAnd(ElementsAre(Sha256Hex("{}"))));
  EXPECT_THAT(inputs->ToStage().at(0).path, AllOf(EndsWith(".json"), Not(HasSubstr("/p.json"))));
}

TEST(Inputs, AFileThatChangesMeanwhileIsNoticed) {
  const TempDir dir;
  WriteFile(dir.Join("a.csv"), "one");
  const Result<Inputs> inputs =
      Inputs::Open({{dir.Join("a.csv"), InputFormat::kCsv}}, kNoStandardInput);
  ASSERT_THAT(inputs, IsOk());
  EXPECT_THAT(inputs->CheckUnchanged(), IsOk());
  WriteFile(dir.Join("a.csv"), "one more");
  EXPECT_THAT(inputs->CheckUnchanged(), IsError(ErrorCode::kConflict, HasSubstr("a.csv")));
}

TEST(Inputs, AFileThatIsReplacedMeanwhileIsNoticed) {
  const TempDir dir;
  WriteFile(dir.Join("a.csv"), "one");
  WriteFile(dir.Join("b.csv"), "two");
  const Result<Inputs> inputs =
      Inputs::Open({{dir.Join("a.csv"), InputFormat::kCsv}}, kNoStandardInput);
  ASSERT_THAT(inputs, IsOk());
  std::filesystem::rename(dir.Join("b.csv"), dir.Join("a.csv"));
  EXPECT_THAT(inputs->CheckUnchanged(), IsError(ErrorCode::kConflict));
  std::filesystem::remove(dir.Join("a.csv"));
  EXPECT_THAT(inputs->CheckUnchanged(), IsError(ErrorCode::kConflict));
}

}  // namespace
}  // namespace lake::cli
