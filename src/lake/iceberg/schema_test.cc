#include "lake/iceberg/schema.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

NestedField Required(std::int32_t id, std::string name, Type type) {
  return {.id = FieldId{id}, .name = std::move(name), .required = true, .type = std::move(type)};
}

NestedField Optionally(std::int32_t id, std::string name, Type type) {
  return {.id = FieldId{id}, .name = std::move(name), .type = std::move(type)};
}

Result<Schema> Make(std::vector<NestedField> fields,
                    std::vector<FieldId> identifier_field_ids = {}) {
  return Schema::Make(
      {.fields = std::move(fields), .identifier_field_ids = std::move(identifier_field_ids)});
}

// id, location {latitude, longitude}, tags [element {name}], attributes {key: value {score}}
Schema Places() {
  return Make({Required(1, "id", Type::Long()),
               Required(2, "location",
                        Type::Struct({Required(5, "latitude", Type::Int()),
                                      Optionally(6, "longitude", Type::Double())})),
               Optionally(3, "tags",
                          Type::List(FieldId{7},
                                     Type::Struct({Required(8, "name", Type::String())}), true)),
               Optionally(4, "attributes",
                          Type::Map(FieldId{9}, Type::String(), FieldId{10},
                                    Type::Struct({Required(11, "score", Type::Int())}), false))},
              {FieldId{1}, FieldId{5}})
      .value();
}

// A struct nested in structs, `levels` fields deep.
Type Nest(std::int32_t levels) {
  Type type = Type::Int();
  for (std::int32_t level = 1; level < levels; ++level) {
    type = Type::Struct({Optionally(level, "a", type)});
  }
  return type;
}

TEST(Schema, FindsFieldsAtAnyDepthByIdAndFullName) {
  const Schema schema = Places();
  const std::vector<std::pair<std::int32_t, std::string_view>> all{{1, "id"},
                                                                   {2, "location"},
                                                                   {5, "location.latitude"},
                                                                   {6, "location.longitude"},
                                                                   {3, "tags"},
                                                                   {7, "tags.element"},
                                                                   {8, "tags.element.name"},
                                                                   {4, "attributes"},
                                                                   {9, "attributes.key"},
                                                                   {10, "attributes.value"},
                                                                   {11, "attributes.value.score"}};
  ASSERT_EQ(schema.all_fields().size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [id, name] = all[i];
    EXPECT_EQ(schema.all_fields()[i]->id, FieldId{id}) << "parents come first, in order";
    ASSERT_NE(schema.FindField(FieldId{id}), nullptr) << name;
    EXPECT_EQ(schema.FindField(FieldId{id}), schema.FindField(name)) << name;
    EXPECT_THAT(schema.FindName(FieldId{id}), Optional(std::string(name)));
  }
  EXPECT_EQ(schema.highest_field_id(), FieldId{11});
}

TEST(Schema, FindsNothingWhereThereIsNothing) {
  const Schema schema = Places();
  EXPECT_EQ(schema.FindField(FieldId{12}), nullptr);
  EXPECT_EQ(schema.FindName(FieldId{12}), std::nullopt);
  for (const std::string_view name :
       {"", ".", "Id", "id.", ".id", "location.latitude.x", "latitude", "tags.name"}) {
    EXPECT_EQ(schema.FindField(name), nullptr) << name;
  }
}

TEST(Schema, ANameMayContainDots) {
  const Schema schema = Make({Required(1, "a.b", Type::Struct({Required(2, "c.d", Type::Int())})),
                              Required(3, "a", Type::Struct({Required(4, "c", Type::Int())}))})
                            .value();
  EXPECT_EQ(schema.FindField(std::string_view("a.b"))->id, FieldId{1});
  EXPECT_EQ(schema.FindField(std::string_view("a.b.c.d"))->id, FieldId{2});
  EXPECT_EQ(schema.FindField(std::string_view("a.c"))->id, FieldId{4});
  EXPECT_EQ(schema.FindField(std::string_view("a.b.c")), nullptr);
}

TEST(Schema, RefusesTwoFieldsOfOneFullNameHoweverItsDotsCameAbout) {
  EXPECT_THAT(Make({Required(1, "a", Type::Int()), Required(2, "a", Type::Int())}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'a'")));
  EXPECT_THAT(Make({Required(1, "a.b", Type::Int()),
                    Required(2, "a", Type::Struct({Required(3, "b", Type::Int())}))}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'b'")));
  EXPECT_THAT(Make({Required(1, "a.b", Type::Struct({Required(2, "c", Type::Int())})),
                    Required(3, "a", Type::Struct({Required(4, "b.c", Type::Int())}))}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("ids 2 and 4")));
}

TEST(Schema, RefusesIdsThatAreNegativeOrUsedTwice) {
  EXPECT_THAT(Make({Required(-1, "a", Type::Int())}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("negative")));
  EXPECT_THAT(Make({Required(1, "a", Type::Int()), Required(1, "b", Type::Int())}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'a' and 'b' have the same id 1")));
  EXPECT_THAT(Make({Required(1, "a", Type::List(FieldId{1}, Type::Int(), true))}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("same id")));
}

TEST(Schema, RefusesTypesThatNestTooDeeply) {
  const auto levels = static_cast<std::int32_t>(kTypeDepthMax);
  EXPECT_THAT(Make({Required(1000, "a", Nest(levels))}), IsOk());
  EXPECT_THAT(Make({Required(1000, "a", Nest(levels + 1))}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("64")));
}

TEST(Schema, IdentifierFieldsAreRequiredPrimitivesOutsideListsAndMaps) {
  const Schema places = Places();
  const auto with = [&](std::int32_t id) {
    return Schema::Make({.fields = places.fields(), .identifier_field_ids = {FieldId{id}}});
  };
  EXPECT_THAT(with(99), IsError(ErrorCode::kInvalidArgument, HasSubstr("99 does not exist")));
  EXPECT_THAT(with(2), IsError(ErrorCode::kInvalidArgument, HasSubstr("not primitive")));
  EXPECT_THAT(with(6), IsError(ErrorCode::kInvalidArgument, HasSubstr("optional")));
  EXPECT_THAT(with(8), IsError(ErrorCode::kInvalidArgument, HasSubstr("list")));
  EXPECT_THAT(with(9), IsError(ErrorCode::kInvalidArgument, HasSubstr("map")));
  EXPECT_THAT(Make({Required(1, "f", Type::Float())}, {FieldId{1}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("floating")));
  EXPECT_THAT(
      Make({Optionally(1, "s", Type::Struct({Required(2, "i", Type::Int())}))}, {FieldId{2}}),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("optional struct")));
}

TEST(Schema, TypesThatAreAlwaysNullAreOptionalAndHaveNoDefault) {
  EXPECT_THAT(Make({Required(1, "u", Type())}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("required")));
  EXPECT_THAT(Make({Optionally(1, "u", Type())}), IsOk());
  NestedField variant = Optionally(1, "v", Type::Of(TypeKind::kVariant));
  variant.write_default = JsonText{"1"};
  EXPECT_THAT(Make({variant}), IsError(ErrorCode::kInvalidArgument, HasSubstr("default")));
}

TEST(Schema, SameAsLooksAtEverythingButTheId) {
  const Schema one = Places();
  const Schema two = one.WithId(SchemaId{7});
  EXPECT_EQ(two.schema_id(), SchemaId{7});
  EXPECT_TRUE(one.SameAs(two));
  EXPECT_NE(one, two);
  EXPECT_EQ(one, two.WithId(SchemaId{0}));
  EXPECT_FALSE(one.SameAs(Make(one.fields(), {FieldId{1}}).value()));
  EXPECT_TRUE(one.SameAs(Make(one.fields(), {FieldId{5}, FieldId{1}}).value()));
}

TEST(Schema, LookupsSurviveTheFirstCopy) {
  const NestedField* field = nullptr;
  std::optional<Schema> copy;
  {
    const Schema original = Places();
    field = original.FindField(FieldId{8});
    copy = original;
  }
  EXPECT_EQ(copy->FindField(FieldId{8}), field);
  EXPECT_EQ(field->name, "name");
}

TEST(Schema, AWideSchemaOfLongSharedNamesStaysLinear) {
  // If full names were stored, they would take 400 MB.
  const std::string long_name(20'000, 'n');
  std::vector<NestedField> children;
  for (std::int32_t id = 2; id < 20'000; ++id) {
    children.push_back(Optionally(id, std::to_string(id), Type::Int()));
  }
  const Result<Schema> schema = Make({Required(1, long_name, Type::Struct(std::move(children)))});
  ASSERT_THAT(schema, IsOk());
  EXPECT_EQ(schema->FindField(long_name + ".77")->id, FieldId{77});
}

TEST(CheckFormatVersion, NamesTheFieldThatNeedsALaterVersion) {
  const Schema nanos =
      Make({Required(1, "s", Type::Struct({Optionally(2, "t", Type::TimestampNs())}))}).value();
  EXPECT_THAT(CheckFormatVersion(nanos, 3), IsOk());
  EXPECT_THAT(CheckFormatVersion(nanos, 2),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'s.t' (timestamp_ns)")));
  NestedField with_default = Required(1, "d", Type::Int());
  with_default.write_default = JsonText{"1"};
  EXPECT_THAT(CheckFormatVersion(Make({with_default}).value(), 2), IsOk());
  with_default.initial_default = JsonText{"1"};
  EXPECT_THAT(CheckFormatVersion(Make({with_default}).value(), 2),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("initial default")));
}

}  // namespace
}  // namespace lake::iceberg
