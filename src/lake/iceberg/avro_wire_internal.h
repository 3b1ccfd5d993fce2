#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace lake::iceberg {

// A cursor over Avro's binary encoding, made for input that nobody vouches for. Every read is
// bounded by the bytes that are there. The first failure is remembered and ends the input, so that
// all later reads yield zero or nothing and every loop over a count ends; callers look at ok() once
// per item instead of after each read. Borrows the bytes.
class AvroInput {
 public:
  explicit AvroInput(std::string_view bytes)
      : begin_(bytes.data()), pos_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return failure_ == nullptr; }

  // Returns why the input failed; nullptr while it has not.
  const char* failure() const { return failure_; }

  // Returns where it failed, in bytes from the start.
  std::size_t failure_offset() const { return failure_offset_; }

  std::size_t offset() const { return static_cast<std::size_t>(pos_ - begin_); }

  std::size_t remaining() const { return static_cast<std::size_t>(end_ - pos_); }

  // Remembers a failure; `why` is a literal. Only the first one counts.
  void Fail(const char* why) {
    if (failure_ == nullptr) {
      failure_ = why;
      failure_offset_ = offset();
    }
    pos_ = end_;
  }

  std::int64_t ReadLong() {
    if (pos_ != end_ && static_cast<std::uint8_t>(*pos_) < 0x80) [[likely]] {
      return Unzigzag(static_cast<std::uint8_t>(*pos_++));
    }
    return ReadLongOfSeveralBytes();
  }

  std::int32_t ReadInt() {
    const std::int64_t value = ReadLong();
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) [[unlikely]] {
      Fail("a number does not fit 32 bits");
      return 0;
    }
    return static_cast<std::int32_t>(value);
  }

  bool ReadBoolean() {
    if (pos_ == end_) [[unlikely]] {
      Fail(kEnd);
      return false;
    }
    const char byte = *pos_++;
    if (byte != 0 && byte != 1) [[unlikely]] {
      Fail("a boolean is neither 0 nor 1");
      return false;
    }
    return byte != 0;
  }

  float ReadFloat() { return std::bit_cast<float>(ReadLittleEndian<std::uint32_t>()); }

  double ReadDouble() { return std::bit_cast<double>(ReadLittleEndian<std::uint64_t>()); }

  // Reads a string or bytes: a length and so many bytes.
  std::string_view ReadBytes() {
    const std::int64_t size = ReadLong();
    if (size < 0) [[unlikely]] {
      Fail("a length is negative");
      return {};
    }
    return ReadFixed(static_cast<std::uint64_t>(size));
  }

  std::string_view ReadFixed(std::uint64_t size) {
    if (size > remaining()) [[unlikely]] {
      Fail(kEnd);
      return {};
    }
    const std::string_view bytes(pos_, size);
    pos_ += size;
    return bytes;
  }

  void Skip(std::uint64_t size) { ReadFixed(size); }

 private:
  static constexpr const char* kEnd = "the bytes end too early";
  static constexpr int kVarintBytesMax = 10;

  static std::int64_t Unzigzag(std::uint64_t raw) {
    return static_cast<std::int64_t>((raw >> 1) ^ (0 - (raw & 1)));
  }

  std::int64_t ReadLongOfSeveralBytes() {
    std::uint64_t raw = 0;
    for (int i = 0; i < kVarintBytesMax; ++i) {
      if (pos_ == end_) {
        Fail(kEnd);
        return 0;
      }
      const auto byte = static_cast<std::uint8_t>(*pos_++);
      if (i == kVarintBytesMax - 1 && byte > 1) {
        break;
      }
      raw |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        return Unzigzag(raw);
      }
    }
    Fail("a number does not fit 64 bits");
    return 0;
  }

  template <typename Word>
  Word ReadLittleEndian() {
    const std::string_view bytes = ReadFixed(sizeof(Word));
    if (bytes.empty()) {
      return 0;
    }
    Word word = 0;
    std::memcpy(&word, bytes.data(), sizeof(Word));
    static_assert(std::endian::native == std::endian::little);
    return word;
  }

  const char* begin_;
  const char* pos_;
  const char* end_;
  const char* failure_ = nullptr;
  std::size_t failure_offset_ = 0;
};

// Walks an encoded array or map, calling `item` once per item; it must read the item. The count of
// a block is believed only as far as items of at least `item_bytes_min` (≥ 1) bytes fit the rest of
// the input, and a block that states its size must have it.
template <typename Item>
void ReadAvroItems(AvroInput& in, std::size_t item_bytes_min, Item&& item) {
  while (true) {
    const std::int64_t stated = in.ReadLong();
    if (stated == 0) {
      return;
    }
    std::uint64_t count = static_cast<std::uint64_t>(stated);
    std::int64_t size = -1;
    if (stated < 0) {
      count = 0 - count;
      size = in.ReadLong();
      if (size < 0 || static_cast<std::uint64_t>(size) > in.remaining()) {
        in.Fail("the size of a block is wrong");
        return;
      }
    }
    if (count > in.remaining() / item_bytes_min) {
      in.Fail("a block has more items than bytes");
      return;
    }
    const std::size_t begin = in.offset();
    for (std::uint64_t i = 0; i < count; ++i) {
      item();
      if (!in.ok()) {
        return;
      }
    }
    if (size >= 0 && in.offset() - begin != static_cast<std::uint64_t>(size)) {
      in.Fail("the size of a block is wrong");
      return;
    }
  }
}

// The encoders of the same values; each appends to `out`.

inline void AvroPutLong(std::string& out, std::int64_t value) {
  auto raw = (static_cast<std::uint64_t>(value) << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0);
  while (raw >= 0x80) {
    out.push_back(static_cast<char>(raw | 0x80));
    raw >>= 7;
  }
  out.push_back(static_cast<char>(raw));
}

inline void AvroPutBoolean(std::string& out, bool value) {
  out.push_back(value ? '\1' : '\0');
}

inline void AvroPutFloat(std::string& out, float value) {
  const auto raw = std::bit_cast<std::uint32_t>(value);
  char bytes[sizeof(raw)];
  std::memcpy(bytes, &raw, sizeof(raw));
  out.append(bytes, sizeof(raw));
}

inline void AvroPutDouble(std::string& out, double value) {
  const auto raw = std::bit_cast<std::uint64_t>(value);
  char bytes[sizeof(raw)];
  std::memcpy(bytes, &raw, sizeof(raw));
  out.append(bytes, sizeof(raw));
}

inline void AvroPutBytes(std::string& out, std::string_view bytes) {
  AvroPutLong(out, static_cast<std::int64_t>(bytes.size()));
  out.append(bytes);
}

}  // namespace lake::iceberg
