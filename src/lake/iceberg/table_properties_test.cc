#include "lake/iceberg/table_properties.h"

#include <string>

#include <gtest/gtest.h>

namespace lake::iceberg {
namespace {

TEST(TableProperties, ATableOwnsItsFilesUnlessItSaysOtherwise) {
  TableMetadata metadata;
  EXPECT_TRUE(OwnsItsFiles(metadata));
  for (const std::string value : {"true", "True"}) {
    metadata.properties[kGarbageCollectionProperty] = value;
    EXPECT_TRUE(OwnsItsFiles(metadata)) << value;
  }
  for (const std::string value : {"false", "FALSE", "", "no"}) {
    metadata.properties[kGarbageCollectionProperty] = value;
    EXPECT_FALSE(OwnsItsFiles(metadata)) << value;
  }
}

}  // namespace
}  // namespace lake::iceberg
