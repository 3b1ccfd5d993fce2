#include "lake/engine/metadata_cache.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::engine {
namespace {

std::shared_ptr<const iceberg::TableMetadata> SomeMetadata() {
  return std::make_shared<const iceberg::TableMetadata>();
}

TEST(MetadataCache, ReturnsWhatItWasGiven) {
  MetadataCache cache(100);
  const auto metadata = SomeMetadata();
  cache.Insert("/a", metadata, 10);
  EXPECT_EQ(cache.Find("/a"), metadata);
  EXPECT_EQ(cache.Find("/b"), nullptr);
}

TEST(MetadataCache, KeepsTheFirstOfTwoForOneLocation) {
  MetadataCache cache(100);
  const auto first = SomeMetadata();
  cache.Insert("/a", first, 10);
  cache.Insert("/a", SomeMetadata(), 10);
  EXPECT_EQ(cache.Find("/a"), first);
}

TEST(MetadataCache, DropsWhatWasNotAskedForLongestWhenItIsFull) {
  MetadataCache cache(30);
  cache.Insert("/a", SomeMetadata(), 10);
  cache.Insert("/b", SomeMetadata(), 10);
  cache.Insert("/c", SomeMetadata(), 10);
  EXPECT_NE(cache.Find("/a"), nullptr);
  cache.Insert("/d", SomeMetadata(), 10);
  EXPECT_EQ(cache.Find("/b"), nullptr);
  EXPECT_NE(cache.Find("/a"), nullptr);
  EXPECT_NE(cache.Find("/c"), nullptr);
  EXPECT_NE(cache.Find("/d"), nullptr);
}

TEST(MetadataCache, DropsAsManyAsALargeOneNeeds) {
  MetadataCache cache(30);
  cache.Insert("/a", SomeMetadata(), 10);
  cache.Insert("/b", SomeMetadata(), 10);
  cache.Insert("/c", SomeMetadata(), 25);
  EXPECT_EQ(cache.Find("/a"), nullptr);
  EXPECT_EQ(cache.Find("/b"), nullptr);
  EXPECT_NE(cache.Find("/c"), nullptr);
}

TEST(MetadataCache, DoesNotKeepOneThatIsLargerThanTheWhole) {
  MetadataCache cache(30);
  cache.Insert("/a", SomeMetadata(), 10);
  cache.Insert("/b", SomeMetadata(), 31);
  EXPECT_EQ(cache.Find("/b"), nullptr);
  EXPECT_NE(cache.Find("/a"), nullptr);
}

TEST(MetadataCache, WhatItGaveOutOutlivesItsPlace) {
  MetadataCache cache(10);
  cache.Insert("/a", SomeMetadata(), 10);
  const auto kept = cache.Find("/a");
  cache.Insert("/b", SomeMetadata(), 10);
  EXPECT_EQ(cache.Find("/a"), nullptr);
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace lake::engine
