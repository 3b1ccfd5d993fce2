#include "lake/iceberg/avro_container.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::IsOkAnd;
using ::lake::testing::SeededRandom;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using namespace std::string_literals;

constexpr AvroCodec kCodecs[] = {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy,
                                 AvroCodec::kZstandard};

// Strings as objects of the schema "string".
std::string Write(AvroCodec codec, const std::vector<std::string>& objects,
                  std::size_t block_bytes_max = 64) {
  SeededRandom random(1);
  auto writer = AvroContainerWriter::Make({.schema = R"("string")",
                                           .metadata = {{"format-version", "2"}, {"empty", ""}},
                                           .codec = codec,
                                           .block_bytes_max = block_bytes_max},
                                          random);
  EXPECT_THAT(writer, IsOk());
  for (const std::string& object : objects) {
    std::string encoded;
    AvroPutBytes(encoded, object);
    EXPECT_THAT(writer->Append(encoded), IsOk());
  }
  return writer->Finish().value();
}

// Reads such a file, or says why not. Every block must hold exactly its objects.
Result<std::vector<std::string>> Read(std::string_view file) {
  LAKE_TRY(AvroContainerReader reader, AvroContainerReader::Open(file));
  std::vector<std::string> objects;
  while (true) {
    LAKE_TRY(const bool more, reader.NextBlock());
    if (!more) {
      return objects;
    }
    AvroInput in(reader.block());
    if (reader.block_objects() > in.remaining()) {
      return Corruption("more objects than bytes");
    }
    for (std::uint64_t i = 0; i < reader.block_objects(); ++i) {
      objects.emplace_back(in.ReadBytes());
    }
    if (!in.ok() || in.remaining() != 0) {
      return Corruption("the block does not hold its objects");
    }
  }
}

std::vector<std::string> ManyObjects() {
  std::vector<std::string> objects;
  for (int i = 0; i < 100; ++i) {
    objects.push_back(std::string(static_cast<std::size_t>(i % 7), 'x') + std::to_string(i));
  }
  return objects;
}

TEST(AvroContainer, ReturnsItsObjectsInOrder) {
  for (const AvroCodec codec : kCodecs) {
    EXPECT_THAT(Read(Write(codec, ManyObjects())), IsOkAnd(ManyObjects())) << AvroCodecName(codec);
    EXPECT_THAT(Read(Write(codec, {})), IsOkAnd(std::vector<std::string>()));
  }
}

TEST(AvroContainer, KeepsItsHeader) {
  const std::string file = Write(AvroCodec::kSnappy, {"a"});
  const auto reader = AvroContainerReader::Open(file);
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(reader->metadata(),
              UnorderedElementsAre(Pair("avro.codec", "snappy"), Pair("avro.schema", R"("string")"),
                                   Pair("format-version", "2"), Pair("empty", "")));
  EXPECT_EQ(reader->schema(), R"("string")");
  EXPECT_EQ(reader->codec(), AvroCodec::kSnappy);
}

TEST(AvroContainer, ClosesABlockOnceItIsLargeEnough) {
  const std::string file = Write(AvroCodec::kNull, {"12345", "67890", "abcde"}, 12);
  auto reader = AvroContainerReader::Open(file);
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(reader->NextBlock(), IsOkAnd(true));
  EXPECT_EQ(reader->block_objects(), 2U);
  EXPECT_THAT(reader->NextBlock(), IsOkAnd(true));
  EXPECT_EQ(reader->block_objects(), 1U);
  EXPECT_EQ(reader->block(),
            "\x0a"
            "abcde");
  EXPECT_THAT(reader->NextBlock(), IsOkAnd(false));
  EXPECT_THAT(reader->NextBlock(), IsOkAnd(false));
}

TEST(AvroContainer, RefusesReservedHeaderNames) {
  SeededRandom random(1);
  EXPECT_THAT(
      AvroContainerWriter::Make({.schema = "\"int\"", .metadata = {{"avro.codec", "x"}}}, random),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("avro.codec")));
}

std::string Header(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string file = "Obj\1";
  if (!entries.empty()) {
    AvroPutLong(file, static_cast<std::int64_t>(entries.size()));
    for (const auto& [key, value] : entries) {
      AvroPutBytes(file, key);
      AvroPutBytes(file, value);
    }
  }
  AvroPutLong(file, 0);
  return file + "0123456789abcdef";
}

TEST(AvroContainer, TakesAMissingCodecForNull) {
  std::string file = Header({{"avro.schema", "\"string\""}});
  AvroPutLong(file, 1);
  AvroPutBytes(file, "\2a");
  file += "0123456789abcdef";
  EXPECT_THAT(Read(file), IsOkAnd(ElementsAre("a")));
}

TEST(AvroContainer, ReadsHeadersInBlocksWithTheirSize) {
  std::string entry;
  AvroPutBytes(entry, "avro.schema");
  AvroPutBytes(entry, "\"string\"");
  std::string file = "Obj\1";
  AvroPutLong(file, -1);
  AvroPutLong(file, static_cast<std::int64_t>(entry.size()));
  file += entry;
  AvroPutLong(file, 0);
  file += "0123456789abcdef";
  EXPECT_THAT(Read(file), IsOkAnd(ElementsAre()));
}

TEST(AvroContainer, RefusesWhatItIsNot) {
  EXPECT_THAT(Read(""), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(Read("PAR1 and so on"), IsError(ErrorCode::kCorruption, HasSubstr("avro container")));
  EXPECT_THAT(Read(Header({})), IsError(ErrorCode::kCorruption, HasSubstr("avro.schema")));
  EXPECT_THAT(Read(Header({{"avro.schema", "\"string\""}, {"avro.codec", "xz"}})),
              IsError(ErrorCode::kUnimplemented, HasSubstr("xz")));
}

TEST(AvroContainer, RefusesDamagedBlocks) {
  const std::string header = Header({{"avro.schema", "\"string\""}});
  const std::string sync = "0123456789abcdef";
  EXPECT_THAT(Read(header + "\1\4\2a" + sync),
              IsError(ErrorCode::kCorruption, HasSubstr("objects")));
  EXPECT_THAT(Read(header + "\2\3\2a" + sync), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(Read(header + "\2\4\2a" + "0123456789abcdeX"),
              IsError(ErrorCode::kCorruption, HasSubstr("sync")));
  EXPECT_THAT(Read(header + "\2\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\2a" + sync),
              IsError(ErrorCode::kCorruption));
}

TEST(AvroContainer, IsRefusedOrEmptierWhenItIsCutAnywhere) {
  const std::vector<std::string> all = {"one", "two", "three", "four"};
  for (const AvroCodec codec : kCodecs) {
    const std::string file = Write(codec, all, 1);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const auto read = Read(std::string_view(file).substr(0, size));
      if (read.has_value()) {
        // Cut between two blocks: a container does not say how many it has.
        EXPECT_LT(read->size(), all.size());
        EXPECT_EQ(*read, std::vector<std::string>(all.begin(), all.begin() + std::ssize(*read)));
      }
    }
  }
}

TEST(AvroContainer, IsReadOrRefusedWhateverBitIsFlipped) {
  const std::vector<std::string> all = {"one", "two", "three", "four"};
  for (const AvroCodec codec : kCodecs) {
    const bool has_checksum = codec == AvroCodec::kSnappy || codec == AvroCodec::kZstandard;
    const std::string file = Write(codec, all);
    // The header ends with the first sync marker, which is also the end of the file.
    const std::size_t header = file.find(file.substr(file.size() - kAvroSyncBytes));
    for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::string flipped = file;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      const auto read = Read(flipped);
      if (read.has_value() && has_checksum && bit / 8 >= header) {
        EXPECT_EQ(*read, all) << AvroCodecName(codec) << " " << bit;
      }
    }
  }
}

}  // namespace
}  // namespace lake::iceberg
