#include "lake/iceberg/value.h"

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOkAnd;
using ::testing::HasSubstr;

using namespace std::string_literals;

struct Example {
  Type type;
  Value value;
  std::string bytes;
};

Int128 PowerOfTen(int exponent) {
  Int128 power = 1;
  for (int i = 0; i < exponent; ++i) {
    power *= 10;
  }
  return power;
}

std::vector<Example> Examples() {
  const std::string uuid = "\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7";
  return {
      {Type::Boolean(), false, "\0"s},
      {Type::Boolean(), true, "\1"},
      {Type::Int(), std::int32_t{34}, "\x22\0\0\0"s},
      {Type::Int(), std::int32_t{-2}, "\xfe\xff\xff\xff"},
      {Type::Long(), std::int64_t{34}, "\x22\0\0\0\0\0\0\0"s},
      {Type::Long(), std::numeric_limits<std::int64_t>::min(), "\0\0\0\0\0\0\0\x80"s},
      {Type::Float(), 1.0F, "\0\0\x80\x3f"s},
      {Type::Float(), -0.0F, "\0\0\0\x80"s},
      {Type::Double(), 1.0, "\0\0\0\0\0\0\xf0\x3f"s},
      {Type::Date(), std::int32_t{17486}, "\x4e\x44\0\0"s},
      {Type::Time(), std::int64_t{81068000000}, "\x00\x83\x07\xe0\x12\0\0\0"s},
      {Type::Timestamp(), std::int64_t{1510871468000000}, "\x00\xc3\x26\x2d\x21\x5e\x05\0"s},
      {Type::Timestamptz(), std::int64_t{-1}, "\xff\xff\xff\xff\xff\xff\xff\xff"},
      {Type::TimestampNs(), std::int64_t{1}, "\1\0\0\0\0\0\0\0"s},
      {Type::TimestamptzNs(), std::int64_t{256}, "\0\1\0\0\0\0\0\0"s},
      {Type::String(), "iceberg", "iceberg"},
      {Type::String(), "", ""},
      {Type::Uuid(), uuid, uuid},
      {Type::Fixed(4), "\0\1\2\3"s, "\0\1\2\3"s},
      {Type::Binary(), "\0\xff"s, "\0\xff"s},
      {Type::Decimal(9, 2), Decimal{1420}, "\x05\x8c"},
      {Type::Decimal(9, 2), Decimal{0}, "\0"s},
      {Type::Decimal(9, 2), Decimal{-1}, "\xff"},
      {Type::Decimal(9, 2), Decimal{127}, "\x7f"},
      {Type::Decimal(9, 2), Decimal{128}, "\0\x80"s},
      {Type::Decimal(9, 2), Decimal{-128}, "\x80"},
      {Type::Decimal(9, 2), Decimal{-129}, "\xff\x7f"},
      {Type::Decimal(38, 0), Decimal{PowerOfTen(38) - 1},
       "\x4b\x3b\x4c\xa8\x5a\x86\xc4\x7a\x09\x8a\x22\x3f\xff\xff\xff\xff"},
      {Type::Decimal(38, 0), Decimal{1 - PowerOfTen(38)},
       "\xb4\xc4\xb3\x57\xa5\x79\x3b\x85\xf6\x75\xdd\xc0\0\0\0\1"s},
  };
}

TEST(Value, HasTheBinaryFormOfTheSpecification) {
  for (const Example& example : Examples()) {
    EXPECT_THAT(EncodeValue(example.type, example.value), IsOkAnd(example.bytes))
        << example.type.ToString();
  }
}

TEST(Value, IsReadBackFromItsBinaryForm) {
  for (const Example& example : Examples()) {
    EXPECT_THAT(DecodeValue(example.type, example.bytes), IsOkAnd(example.value))
        << example.type.ToString();
  }
}

TEST(Value, ReadsEveryDecimalOfMoreBytesThanNeeded) {
  EXPECT_THAT(DecodeValue(Type::Decimal(9, 2), "\0\0\0\x05\x8c"s), IsOkAnd(Value(Decimal{1420})));
  EXPECT_THAT(DecodeValue(Type::Decimal(9, 2), std::string(16, '\xff')),
              IsOkAnd(Value(Decimal{-1})));
}

TEST(Value, ReadsAnyNonZeroByteAsTrue) {
  EXPECT_THAT(DecodeValue(Type::Boolean(), "\x7f"), IsOkAnd(Value(true)));
}

TEST(Value, ReadsBoundsWrittenBeforeTheirColumnWasPromoted) {
  EXPECT_THAT(DecodeValue(Type::Long(), "\xfe\xff\xff\xff"), IsOkAnd(Value(std::int64_t{-2})));
  EXPECT_THAT(DecodeValue(Type::Double(), "\0\0\x80\x3f"s), IsOkAnd(Value(1.0)));
  EXPECT_THAT(DecodeValue(Type::Timestamp(), "\1\0\0\0"s),
              IsOkAnd(Value(std::int64_t{86'400'000'000})));
  EXPECT_THAT(DecodeValue(Type::TimestampNs(), "\xff\xff\xff\xff"),
              IsOkAnd(Value(std::int64_t{-86'400'000'000'000})));
}

TEST(Value, RefusesADateThatDoesNotFitThePromotedType) {
  EXPECT_THAT(DecodeValue(Type::TimestampNs(), "\xff\xff\xff\x7f"),
              IsError(ErrorCode::kCorruption, HasSubstr("timestamp_ns")));
}

TEST(Value, RefusesBytesOfAnotherLength) {
  const std::vector<Type> types = {Type::Boolean(),       Type::Int(),          Type::Long(),
                                   Type::Float(),         Type::Double(),       Type::Date(),
                                   Type::Time(),          Type::Timestamp(),    Type::Uuid(),
                                   Type::Timestamptz(),   Type::TimestampNs(),  Type::Time(),
                                   Type::Decimal(38, 10), Type::TimestamptzNs()};
  for (const Type& type : types) {
    EXPECT_THAT(DecodeValue(type, ""), IsError(ErrorCode::kCorruption)) << type.ToString();
    EXPECT_THAT(DecodeValue(type, std::string(17, 'x')),
                IsError(ErrorCode::kCorruption, HasSubstr(type.ToString())));
  }
  EXPECT_THAT(DecodeValue(Type::Timestamptz(), "1234"), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(DecodeValue(Type::Fixed(3), "1234"), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(DecodeValue(Type::Fixed(3), "12"), IsOkAnd(Value("12")));
}

TEST(Value, RefusesTypesWithoutValues) {
  const std::vector<Type> types = {Type(), Type::Of(TypeKind::kVariant), Type::Geometry(""),
                                   Type::Struct({}), Type::List(FieldId{1}, Type::Int(), true)};
  for (const Type& type : types) {
    EXPECT_THAT(DecodeValue(type, "1234"), IsError(ErrorCode::kUnimplemented));
    EXPECT_THAT(EncodeValue(type, std::int32_t{1}), IsError(ErrorCode::kUnimplemented));
  }
}

TEST(Value, RefusesToEncodeNullAndValuesOfAnotherType) {
  EXPECT_THAT(EncodeValue(Type::Int(), Value()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(EncodeValue(Type::Int(), std::int64_t{1}), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(EncodeValue(Type::Uuid(), "short"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(EncodeValue(Type::Fixed(2), "long"), IsError(ErrorCode::kInvalidArgument));
}

TEST(Value, IsOrderedWithinItsType) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<Type, std::vector<Value>>> ascending = {
      {Type::Boolean(), {Value(), false, true}},
      {Type::Int(), {Value(), std::int32_t{-5}, std::int32_t{3}}},
      {Type::Long(), {std::int64_t{-5}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max()}},
      {Type::Float(), {-1.0F, -0.0F, 0.0F, 1.0F, nan}},
      {Type::Double(), {-infinity, -1.0, -0.0, 0.0, 5e-324, infinity}},
      {Type::Decimal(38, 0), {Decimal{-PowerOfTen(30)}, Decimal{-1}, Decimal{PowerOfTen(30)}}},
      {Type::String(), {"", "a", "a\x7f", "a\u00e9", "b", "\uffff", "\U0001F600"}},
      {Type::Binary(), {"\0"s, "\0\0"s, "\x7f", "\x80", "\xff"}},
  };
  for (const auto& [type, values] : ascending) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = 0; j < values.size(); ++j) {
        EXPECT_EQ(CompareValues(type, values[i], values[j]), i <=> j)
            << type.ToString() << " " << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace lake::iceberg
