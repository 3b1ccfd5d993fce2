#include <avro.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/avro_container.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/column_map.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_decode_internal.h"
#include "lake/iceberg/manifest_examples_internal.h"
#include "lake/iceberg/manifest_list.h"
#include "lake/iceberg/manifest_partition.h"
#include "lake/iceberg/value.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

// Our Avro codec against avro-c, a reader and writer that shares nothing with it: what either
// writes, the other reads, with equal values.
namespace lake::iceberg {
namespace {

using ::lake::testing::IsOk;
using ::lake::testing::SeededRandom;

// Those that avro-c has.
constexpr AvroCodec kSharedCodecs[] = {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy};

// A generic value of avro-c, seen through its unions.
class Peek {
 public:
  explicit Peek(avro_value_t value) : value_(value) {
    if (avro_value_get_type(&value_) == AVRO_UNION) {
      avro_value_t branch;
      LAKE_CHECK(avro_value_get_current_branch(&value_, &branch) == 0, "a union has a branch");
      value_ = branch;
    }
  }

  Peek operator[](const char* name) const {
    avro_value_t member;
    LAKE_CHECK(avro_value_get_by_name(&value_, name, &member, nullptr) == 0, name);
    return Peek(member);
  }

  Peek operator[](std::size_t index) const {
    avro_value_t member;
    LAKE_CHECK(avro_value_get_by_index(&value_, index, &member, nullptr) == 0, "index in range");
    return Peek(member);
  }

  std::size_t size() const {
    std::size_t size = 0;
    LAKE_CHECK(avro_value_get_size(&value_, &size) == 0, "it has members");
    return size;
  }

  bool is_null() const { return avro_value_get_type(&value_) == AVRO_NULL; }

  std::int64_t Number() const {
    if (avro_value_get_type(&value_) == AVRO_INT32) {
      std::int32_t number = 0;
      LAKE_CHECK(avro_value_get_int(&value_, &number) == 0, "it is an int");
      return number;
    }
    std::int64_t number = 0;
    LAKE_CHECK(avro_value_get_long(&value_, &number) == 0, "it is a long");
    return number;
  }

  std::optional<std::int64_t> OptionalNumber() const {
    return is_null() ? std::nullopt : std::optional(Number());
  }

  std::string Bytes() const {
    const void* bytes = nullptr;
    std::size_t size = 0;
    const char* text = nullptr;
    switch (avro_value_get_type(&value_)) {
      case AVRO_BYTES:
        LAKE_CHECK(avro_value_get_bytes(&value_, &bytes, &size) == 0, "it is bytes");
        return {static_cast<const char*>(bytes), size};
      case AVRO_FIXED:
        LAKE_CHECK(avro_value_get_fixed(&value_, &bytes, &size) == 0, "it is fixed");
        return {static_cast<const char*>(bytes), size};
      default:
        // The size of a string counts its terminator.
        LAKE_CHECK(avro_value_get_string(&value_, &text, &size) == 0, "it is a string");
        return {text, size - 1};
    }
  }

  std::optional<std::string> OptionalBytes() const {
    return is_null() ? std::nullopt : std::optional(Bytes());
  }

  // The value as our variant has it; decimals as the bytes they are stored in.
  Value AsValue() const {
    int boolean = 0;
    float single = 0;
    double twofold = 0;
    switch (avro_value_get_type(&value_)) {
      case AVRO_NULL:
        return {};
      case AVRO_BOOLEAN:
        LAKE_CHECK(avro_value_get_boolean(&value_, &boolean) == 0, "it is a boolean");
        return boolean != 0;
      case AVRO_INT32:
        return static_cast<std::int32_t>(Number());
      case AVRO_INT64:
        return Number();
      case AVRO_FLOAT:
        LAKE_CHECK(avro_value_get_float(&value_, &single) == 0, "it is a float");
        return single;
      case AVRO_DOUBLE:
        LAKE_CHECK(avro_value_get_double(&value_, &twofold) == 0, "it is a double");
        return twofold;
      default:
        return Bytes();
    }
  }

  const avro_value_t& value() const { return value_; }

 private:
  avro_value_t value_;
};

// avro-c reading a container from memory.
class AvroCReader {
 public:
  explicit AvroCReader(std::string file) : file_(std::move(file)) {
    std::FILE* stream = fmemopen(file_.data(), file_.size(), "r");
    LAKE_CHECK(stream != nullptr, "memory can be opened");
    LAKE_CHECK(avro_file_reader_fp(stream, "memory", 1, &reader_) == 0, avro_strerror());
    schema_ = avro_file_reader_get_writer_schema(reader_);
    class_ = avro_generic_class_from_schema(schema_);
    LAKE_CHECK(avro_generic_value_new(class_, &value_) == 0, avro_strerror());
  }

  AvroCReader(const AvroCReader&) = delete;
  AvroCReader& operator=(const AvroCReader&) = delete;

  ~AvroCReader() {
    avro_value_decref(&value_);
    avro_value_iface_decref(class_);
    avro_schema_decref(schema_);
    avro_file_reader_close(reader_);
  }

  // The next value, or nothing at the end of the file. It lives until the next call.
  std::optional<Peek> Next() {
    avro_value_reset(&value_);
    const int outcome = avro_file_reader_read_value(reader_, &value_);
    if (outcome == EOF) {
      return std::nullopt;
    }
    LAKE_CHECK(outcome == 0, avro_strerror());
    return Peek(value_);
  }

 private:
  std::string file_;
  avro_file_reader_t reader_ = nullptr;
  avro_schema_t schema_ = nullptr;
  avro_value_iface_t* class_ = nullptr;
  avro_value_t value_{};
};

// avro-c writing a container into memory.
class AvroCWriter {
 public:
  AvroCWriter(std::string_view schema, AvroCodec codec) {
    LAKE_CHECK(avro_schema_from_json_length(schema.data(), schema.size(), &schema_) == 0,
               avro_strerror());
    class_ = avro_generic_class_from_schema(schema_);
    LAKE_CHECK(avro_generic_value_new(class_, &value_) == 0, avro_strerror());
    std::FILE* stream = open_memstream(&bytes_, &size_);
    LAKE_CHECK(stream != nullptr, "memory can be opened");
    // Blocks so small that a few entries take several.
    constexpr std::size_t kBlockBytes = 4096;
    LAKE_CHECK(avro_file_writer_create_with_codec_fp(stream, "memory", 1, schema_, &writer_,
                                                     std::string(AvroCodecName(codec)).c_str(),
                                                     kBlockBytes) == 0,
               avro_strerror());
  }

  AvroCWriter(const AvroCWriter&) = delete;
  AvroCWriter& operator=(const AvroCWriter&) = delete;

  ~AvroCWriter() {
    avro_value_decref(&value_);
    avro_value_iface_decref(class_);
    avro_schema_decref(schema_);
    std::free(bytes_);  // open_memstream allocates with malloc.
  }

  // The value to fill before Append.
  avro_value_t& value() { return value_; }

  void Append(avro_value_t value) {
    LAKE_CHECK(avro_file_writer_append_value(writer_, &value) == 0, avro_strerror());
  }

  std::string Finish() {
    LAKE_CHECK(avro_file_writer_close(writer_) == 0, avro_strerror());
    return {bytes_, size_};
  }

 private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
  avro_schema_t schema_ = nullptr;
  avro_value_iface_t* class_ = nullptr;
  avro_value_t value_{};
  avro_file_writer_t writer_ = nullptr;
};

// Two's complement, big-endian, in so many bytes.
std::string BigEndian(Int128 number, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = size; i > 0; --i) {
    bytes[i - 1] = static_cast<char>(number & 0xFF);
    number >>= 8;
  }
  return bytes;
}

void ExpectEqual(const Peek& stored, const ColumnMap<std::int64_t>& map) {
  if (stored.is_null()) {
    EXPECT_TRUE(map.empty());
    return;
  }
  ASSERT_EQ(stored.size(), map.size());
  std::size_t i = 0;
  for (const auto& [id, number] : map) {
    EXPECT_EQ(stored[i]["key"].Number(), std::to_underlying(id));
    EXPECT_EQ(stored[i]["value"].Number(), number);
    ++i;
  }
}

void ExpectEqual(const Peek& stored, const ColumnMap<std::string>& map) {
  if (stored.is_null()) {
    EXPECT_TRUE(map.empty());
    return;
  }
  ASSERT_EQ(stored.size(), map.size());
  std::size_t i = 0;
  for (const auto& [id, bytes] : map) {
    EXPECT_EQ(stored[i]["key"].Number(), std::to_underlying(id));
    EXPECT_EQ(stored[i]["value"].Bytes(), bytes);
    ++i;
  }
}

template <typename Number>
std::vector<std::int64_t> Numbers(const std::vector<Number>& list) {
  std::vector<std::int64_t> numbers;
  for (const Number number : list) {
    numbers.push_back(static_cast<std::int64_t>(number));
  }
  return numbers;
}

std::vector<std::int64_t> Numbers(const Peek& stored) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; !stored.is_null() && i < stored.size(); ++i) {
    numbers.push_back(stored[i].Number());
  }
  return numbers;
}

void ExpectEqual(const Peek& stored, const ManifestEntry& entry) {
  EXPECT_EQ(stored["status"].Number(), std::to_underlying(entry.status));
  EXPECT_EQ(stored["snapshot_id"].Number(), std::to_underlying(entry.snapshot_id.value()));
  EXPECT_EQ(stored["sequence_number"].OptionalNumber(), entry.sequence_number);
  EXPECT_EQ(stored["file_sequence_number"].OptionalNumber(), entry.file_sequence_number);
  const DataFile& file = entry.data_file;
  const Peek data_file = stored["data_file"];
  EXPECT_EQ(data_file["content"].Number(), std::to_underlying(file.content));
  EXPECT_EQ(data_file["file_path"].Bytes(), file.file_path);
  EXPECT_EQ(data_file["file_format"].Bytes(), FileFormatName(file.file_format));
  EXPECT_EQ(data_file["record_count"].Number(), file.record_count);
  EXPECT_EQ(data_file["file_size_in_bytes"].Number(), file.file_size_in_bytes);
  ExpectEqual(data_file["column_sizes"], file.column_sizes);
  ExpectEqual(data_file["value_counts"], file.value_counts);
  ExpectEqual(data_file["null_value_counts"], file.null_value_counts);
  ExpectEqual(data_file["nan_value_counts"], file.nan_value_counts);
  ExpectEqual(data_file["lower_bounds"], file.lower_bounds);
  ExpectEqual(data_file["upper_bounds"], file.upper_bounds);
  EXPECT_EQ(data_file["key_metadata"].OptionalBytes(), file.key_metadata);
  EXPECT_EQ(Numbers(data_file["split_offsets"]), file.split_offsets);
  EXPECT_EQ(Numbers(data_file["equality_ids"]), Numbers(file.equality_ids));
  EXPECT_EQ(data_file["sort_order_id"].OptionalNumber(),
            file.sort_order_id.has_value() ? std::optional(std::to_underlying(*file.sort_order_id))
                                           : std::nullopt);
  EXPECT_EQ(data_file["referenced_data_file"].OptionalBytes(), file.referenced_data_file);
  const Peek partition = data_file["partition"];
  ASSERT_EQ(partition.size(), file.partition.size());
  for (std::size_t i = 0; i < file.partition.size(); ++i) {
    const Value value = partition[i].AsValue();
    if (const auto* decimal = std::get_if<Decimal>(&file.partition[i])) {
      const auto& bytes = std::get<std::string>(value);
      EXPECT_EQ(bytes, BigEndian(decimal->unscaled, bytes.size())) << i;
    } else {
      EXPECT_EQ(value, file.partition[i]) << i;
    }
  }
}

// Entries that between them have every field and every type of partition value, and null for each.
std::vector<ManifestEntry> Entries() {
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 40; ++i) {
    ManifestEntry& entry = entries.emplace_back(ExampleEntry(i));
    entry.data_file.partition = ExamplePartition();
    entry.data_file.partition[static_cast<std::size_t>(i) % entry.data_file.partition.size()] = {};
    if (i % 3 == 0) {
      entry.status = ManifestEntryStatus::kExisting;
      entry.sequence_number = (std::int64_t{1} << 33) + i;
      entry.file_sequence_number = -1 - i;
    }
    if (i % 4 == 0) {
      DataFile plain{.file_path = entry.data_file.file_path,
                     .file_format = FileFormat::kOrc,
                     .partition = std::move(entry.data_file.partition)};
      entry.data_file = std::move(plain);
    }
  }
  return entries;
}

std::string WrittenBy(AvroCodec codec) {
  return WriteExample(ExampleOptions(2, ExampleSpec(), ManifestContent::kData, codec), Entries())
      .file;
}

TEST(AvroCrossCheck, AvroCReadsOurManifests) {
  const std::vector<ManifestEntry> entries = Entries();
  for (const AvroCodec codec : kSharedCodecs) {
    SCOPED_TRACE(AvroCodecName(codec));
    AvroCReader reader(WrittenBy(codec));
    for (const ManifestEntry& entry : entries) {
      const std::optional<Peek> stored = reader.Next();
      ASSERT_TRUE(stored.has_value());
      ExpectEqual(*stored, entry);
    }
    EXPECT_FALSE(reader.Next().has_value());
  }
}

TEST(AvroCrossCheck, AvroCReadsOurDeleteManifests) {
  ManifestEntry entry = ExampleEntry(1);
  entry.data_file.content = FileContent::kEqualityDeletes;
  entry.data_file.equality_ids = {FieldId{3}, FieldId{11}};
  entry.data_file.referenced_data_file.reset();
  for (const AvroCodec codec : kSharedCodecs) {
    SCOPED_TRACE(AvroCodecName(codec));
    AvroCReader reader(
        WriteExample(ExampleOptions(2, {}, ManifestContent::kDeletes, codec), {entry}).file);
    const std::optional<Peek> stored = reader.Next();
    ASSERT_TRUE(stored.has_value());
    ExpectEqual(*stored, entry);
  }
}

TEST(AvroCrossCheck, WeReadTheManifestsThatAvroCWrites) {
  const std::vector<ManifestEntry> entries = Entries();
  const std::string ours = WrittenBy(AvroCodec::kNull);
  // avro-c drops the attributes it does not know: field ids and logical types are in our schema.
  const auto original = AvroContainerReader::Open(ours);
  ASSERT_THAT(original, IsOk());
  const auto schema = AvroSchema::Parse(original->schema());
  ASSERT_THAT(schema, IsOk());
  const auto decoder = ManifestEntryDecoder::Plan(
      schema->root(), PartitionType(ExampleSpec(), ExampleSchema()).value(),
      std::vector<bool>(ExampleSpec().fields.size(), false));
  ASSERT_THAT(decoder, IsOk());
  for (const AvroCodec codec : kSharedCodecs) {
    SCOPED_TRACE(AvroCodecName(codec));
    AvroCWriter writer(original->schema(), codec);
    AvroCReader reader(ours);
    while (const std::optional<Peek> entry = reader.Next()) {
      writer.Append(entry->value());
    }
    const std::string theirs = writer.Finish();

    auto container = AvroContainerReader::Open(theirs);
    ASSERT_THAT(container, IsOk());
    EXPECT_EQ(container->codec(), codec);
    EXPECT_THAT(AvroSchema::Parse(container->schema()), IsOk());
    std::size_t read = 0;
    std::size_t blocks = 0;
    for (; container->NextBlock().value(); ++blocks) {
      AvroInput in(container->block());
      for (std::uint64_t i = 0; i < container->block_objects(); ++i, ++read) {
        ManifestEntry entry;
        decoder->Decode(in, entry);
        ASSERT_TRUE(in.ok()) << in.failure();
        ASSERT_LT(read, entries.size());
        EXPECT_EQ(entry, entries[read]) << read;
      }
      EXPECT_EQ(in.remaining(), 0U);
    }
    EXPECT_EQ(read, entries.size());
    EXPECT_GT(blocks, 1U);
  }
}

ManifestFile ExampleManifestFile(int i) {
  ManifestFile manifest{.manifest_path = fmt::format("s3://b/m{}.avro", i),
                        .manifest_length = 7000 + i,
                        .partition_spec_id = PartitionSpecId{i % 2},
                        .content = i % 2 == 0 ? ManifestContent::kData : ManifestContent::kDeletes,
                        .sequence_number = 5 + i,
                        .min_sequence_number = 3,
                        .added_snapshot_id = kExampleSnapshot,
                        .added_files_count = i,
                        .existing_files_count = 1,
                        .deleted_files_count = 2,
                        .added_rows_count = std::int64_t{1} << (i + 20),
                        .existing_rows_count = 10,
                        .deleted_rows_count = 20};
  if (i % 3 == 0) {
    manifest.key_metadata = std::string("\0k", 2);
    manifest.partitions = {{.contains_null = true},
                           {.contains_nan = false, .lower_bound = "", .upper_bound = "z"}};
  }
  return manifest;
}

TEST(AvroCrossCheck, AvroCReadsOurManifestLists) {
  ManifestList list{.format_version = 2, .snapshot_id = kExampleSnapshot, .sequence_number = 9};
  for (int i = 0; i < 10; ++i) {
    list.manifests.push_back(ExampleManifestFile(i));
  }
  for (const AvroCodec codec : kSharedCodecs) {
    SCOPED_TRACE(AvroCodecName(codec));
    SeededRandom random(1);
    AvroCReader reader(WriteManifestList(list, codec, random).value());
    for (const ManifestFile& manifest : list.manifests) {
      const std::optional<Peek> next = reader.Next();
      ASSERT_TRUE(next.has_value());
      const Peek& stored = *next;
      EXPECT_EQ(stored["manifest_path"].Bytes(), manifest.manifest_path);
      EXPECT_EQ(stored["manifest_length"].Number(), manifest.manifest_length);
      EXPECT_EQ(stored["partition_spec_id"].Number(),
                std::to_underlying(manifest.partition_spec_id));
      EXPECT_EQ(stored["content"].Number(), std::to_underlying(manifest.content));
      EXPECT_EQ(stored["sequence_number"].Number(), manifest.sequence_number);
      EXPECT_EQ(stored["min_sequence_number"].Number(), manifest.min_sequence_number);
      EXPECT_EQ(stored["added_snapshot_id"].Number(),
                std::to_underlying(manifest.added_snapshot_id));
      EXPECT_EQ(stored["added_files_count"].Number(), manifest.added_files_count);
      EXPECT_EQ(stored["existing_files_count"].Number(), manifest.existing_files_count);
      EXPECT_EQ(stored["deleted_files_count"].Number(), manifest.deleted_files_count);
      EXPECT_EQ(stored["added_rows_count"].Number(), manifest.added_rows_count);
      EXPECT_EQ(stored["existing_rows_count"].Number(), manifest.existing_rows_count);
      EXPECT_EQ(stored["deleted_rows_count"].Number(), manifest.deleted_rows_count);
      EXPECT_EQ(stored["key_metadata"].OptionalBytes(), manifest.key_metadata);
      const Peek partitions = stored["partitions"];
      ASSERT_EQ(partitions.is_null() ? 0 : partitions.size(), manifest.partitions.size());
      for (std::size_t i = 0; i < manifest.partitions.size(); ++i) {
        const FieldSummary& summary = manifest.partitions[i];
        EXPECT_EQ(partitions[i]["contains_null"].AsValue(), Value(summary.contains_null));
        EXPECT_EQ(partitions[i]["contains_nan"].AsValue(),
                  summary.contains_nan.has_value() ? Value(*summary.contains_nan) : Value());
        EXPECT_EQ(partitions[i]["lower_bound"].OptionalBytes(), summary.lower_bound);
        EXPECT_EQ(partitions[i]["upper_bound"].OptionalBytes(), summary.upper_bound);
      }
    }
    EXPECT_FALSE(reader.Next().has_value());
  }
}

// Every kind of Avro, also those that manifests of ours do not use.
constexpr std::string_view kEverything = R"({"type":"record","name":"all","fields":[
  {"name":"nothing","type":"null"},{"name":"flag","type":"boolean"},{"name":"small","type":"int"},
  {"name":"large","type":"long"},{"name":"single","type":"float"},{"name":"twofold","type":"double"},
  {"name":"bytes","type":"bytes"},{"name":"text","type":"string"},
  {"name":"fixed","type":{"type":"fixed","name":"f","size":5}},
  {"name":"choice","type":{"type":"enum","name":"e","symbols":["A","B","C"]}},
  {"name":"list","type":{"type":"array","items":{"type":"array","items":"long"}}},
  {"name":"map","type":{"type":"map","values":["null","string"]}},
  {"name":"any","type":["null","long","string",{"type":"record","name":"inner","fields":[
     {"name":"x","type":"double"}]}]},
  {"name":"again","type":["null","inner"]}]})";

// Fills a value of avro-c with chance.
void Fill(avro_value_t& value, SeededRandom& random) {
  // Of every length.
  const std::uint64_t magnitude = random.Below(std::uint64_t{1} << (1 + random.Below(63)));
  std::string bytes = std::to_string(magnitude);
  const auto number = static_cast<std::int64_t>(magnitude);
  avro_value_t inner;
  int outcome = 0;
  switch (avro_value_get_type(&value)) {
    case AVRO_NULL:
      outcome = avro_value_set_null(&value);
      break;
    case AVRO_BOOLEAN:
      outcome = avro_value_set_boolean(&value, static_cast<int>(random.Below(2)));
      break;
    case AVRO_INT32:
      outcome = avro_value_set_int(&value, static_cast<std::int32_t>(number));
      break;
    case AVRO_INT64:
      outcome = avro_value_set_long(&value, random.Below(2) == 0 ? number : ~number);
      break;
    case AVRO_FLOAT:
      outcome = avro_value_set_float(&value, static_cast<float>(number) / 7);
      break;
    case AVRO_DOUBLE:
      outcome = avro_value_set_double(&value, static_cast<double>(number) / 7);
      break;
    case AVRO_BYTES:
      outcome = avro_value_set_bytes(&value, bytes.data(), bytes.size());
      break;
    case AVRO_STRING:
      outcome = avro_value_set_string(&value, bytes.c_str());
      break;
    case AVRO_FIXED:
      bytes.resize(5, '\0');
      outcome = avro_value_set_fixed(&value, bytes.data(), bytes.size());
      break;
    case AVRO_ENUM:
      outcome = avro_value_set_enum(&value, static_cast<int>(random.Below(3)));
      break;
    case AVRO_ARRAY:
      for (std::uint64_t left = random.Below(4); left > 0 && outcome == 0; --left) {
        outcome = avro_value_append(&value, &inner, nullptr);
        Fill(inner, random);
      }
      break;
    case AVRO_MAP:
      for (std::uint64_t left = random.Below(4); left > 0 && outcome == 0; --left) {
        const std::string key = fmt::format("{}{}", bytes, left);
        outcome = avro_value_add(&value, key.c_str(), &inner, nullptr, nullptr);
        Fill(inner, random);
      }
      break;
    case AVRO_UNION: {
      const std::size_t branches = avro_schema_union_size(avro_value_get_schema(&value));
      outcome = avro_value_set_branch(&value, static_cast<int>(random.Below(branches)), &inner);
      Fill(inner, random);
      break;
    }
    case AVRO_RECORD: {
      std::size_t size = 0;
      outcome = avro_value_get_size(&value, &size);
      for (std::size_t i = 0; i < size && outcome == 0; ++i) {
        outcome = avro_value_get_by_index(&value, i, &inner, nullptr);
        Fill(inner, random);
      }
      break;
    }
    default:
      FAIL() << "a kind that the schema does not have";
  }
  ASSERT_EQ(outcome, 0) << avro_strerror();
}

// Reads a value with our reader beside the one that avro-c holds.
void ExpectSame(AvroInput& in, const AvroNode& node, avro_value_t held) {
  if (node.kind == AvroKind::kUnion) {
    ExpectSame(in, ReadAvroBranch(in, node), Peek(held).value());
    return;
  }
  const Peek peek(held);
  int choice = 0;
  switch (node.kind) {
    case AvroKind::kNull:
      EXPECT_TRUE(peek.is_null());
      return;
    case AvroKind::kBoolean:
      EXPECT_EQ(Value(in.ReadBoolean()), peek.AsValue());
      return;
    case AvroKind::kInt:
      EXPECT_EQ(Value(in.ReadInt()), peek.AsValue());
      return;
    case AvroKind::kLong:
      EXPECT_EQ(Value(in.ReadLong()), peek.AsValue());
      return;
    case AvroKind::kFloat:
      EXPECT_EQ(Value(in.ReadFloat()), peek.AsValue());
      return;
    case AvroKind::kDouble:
      EXPECT_EQ(Value(in.ReadDouble()), peek.AsValue());
      return;
    case AvroKind::kBytes:
    case AvroKind::kString:
      EXPECT_EQ(in.ReadBytes(), peek.Bytes());
      return;
    case AvroKind::kFixed:
      EXPECT_EQ(in.ReadFixed(node.fixed_bytes), peek.Bytes());
      return;
    case AvroKind::kEnum:
      ASSERT_EQ(avro_value_get_enum(&held, &choice), 0);
      EXPECT_EQ(in.ReadLong(), choice);
      return;
    case AvroKind::kRecord:
      for (const AvroField& field : node.fields) {
        SCOPED_TRACE(field.name);
        ExpectSame(in, *field.type, peek[field.name.c_str()].value());
      }
      return;
    case AvroKind::kArray: {
      std::size_t i = 0;
      ReadAvroItems(in, 1, [&] { ExpectSame(in, node.item(), peek[i++].value()); });
      EXPECT_EQ(i, peek.size());
      return;
    }
    case AvroKind::kMap: {
      std::size_t entries = 0;
      ReadAvroItems(in, 1, [&] {
        const std::string key(in.ReadBytes());
        ExpectSame(in, node.item(), peek[key.c_str()].value());
        ++entries;
      });
      EXPECT_EQ(entries, peek.size());
      return;
    }
    case AvroKind::kUnion:
      return;  // Seen above.
  }
}

TEST(AvroCrossCheck, WeReadAnyValueThatAvroCWrites) {
  constexpr int kValues = 500;
  for (const AvroCodec codec : kSharedCodecs) {
    SCOPED_TRACE(AvroCodecName(codec));
    SeededRandom random(7);
    AvroCWriter writer(kEverything, codec);
    for (int i = 0; i < kValues; ++i) {
      avro_value_reset(&writer.value());
      Fill(writer.value(), random);
      writer.Append(writer.value());
    }
    const std::string file = writer.Finish();

    auto container = AvroContainerReader::Open(file);
    ASSERT_THAT(container, IsOk());
    const auto schema = AvroSchema::Parse(container->schema());
    ASSERT_THAT(schema, IsOk());
    AvroCReader reader(file);
    int values = 0;
    while (container->NextBlock().value()) {
      AvroInput in(container->block());
      AvroInput skipped(container->block());
      for (std::uint64_t i = 0; i < container->block_objects(); ++i, ++values) {
        const std::optional<Peek> held = reader.Next();
        ASSERT_TRUE(held.has_value());
        ExpectSame(in, schema->root(), held->value());
        SkipAvro(skipped, schema->root());
        ASSERT_TRUE(in.ok() && skipped.ok());
        ASSERT_EQ(in.offset(), skipped.offset());
      }
      EXPECT_EQ(in.remaining(), 0U);
    }
    EXPECT_EQ(values, kValues);
  }
}

}  // namespace
}  // namespace lake::iceberg
