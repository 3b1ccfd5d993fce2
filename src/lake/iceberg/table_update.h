#pragma once

#include <string>
#include <variant>

#include "lake/iceberg/snapshot.h"

namespace lake::iceberg {

// Changes of a table as data; table_update_apply.h says what they do.

// Adds a snapshot to the table. It becomes visible when a ref names it.
struct AddSnapshot {
  Snapshot snapshot;

  bool operator==(const AddSnapshot&) const = default;
};

// Makes a branch or tag, or changes one. Setting "main" makes its snapshot the current one.
struct SetSnapshotRef {
  std::string name;
  SnapshotRef ref;

  bool operator==(const SetSnapshotRef&) const = default;
};

// Any change.
using TableUpdate = std::variant<AddSnapshot, SetSnapshotRef>;

}  // namespace lake::iceberg
