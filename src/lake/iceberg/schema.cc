#include "lake/iceberg/schema.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool AlwaysDefaultsToNull(TypeKind kind) {
  return kind == TypeKind::kUnknown || kind == TypeKind::kVariant || kind == TypeKind::kGeometry ||
         kind == TypeKind::kGeography;
}

}  // namespace

// The lookup structures of a schema. Full names are not stored: a hostile schema could make them
// quadratic in its size. They live in a trie whose edges are the parts between dots, whether a dot
// separates levels or belongs to a name, so that two fields have the same full name exactly when
// they end in the same node.
struct Schema::Index {
  struct Entry {
    const NestedField* field;
    std::size_t parent;  // Position in `entries`, or kNone for a column.
    std::size_t node;
  };

  explicit Index(Parts the_parts) : parts(std::move(the_parts)) {}

  Status Build() {
    field_at_node.push_back(kNone);
    LAKE_TRY_VOID(Add(parts.fields, kNone, 1));
    by_id.reserve(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      by_id.emplace_back(entries[i].field->id, i);
    }
    std::ranges::sort(by_id);
    for (std::size_t i = 1; i < by_id.size(); ++i) {
      if (by_id[i].first == by_id[i - 1].first) {
        return InvalidArgument(fmt::format("schema: fields {} and {} have the same id {}",
                                           Quoted(entries[by_id[i - 1].second].field->name),
                                           Quoted(entries[by_id[i].second].field->name),
                                           std::to_underlying(by_id[i].first)));
      }
    }
    for (const FieldId id : parts.identifier_field_ids) {
      LAKE_TRY_VOID(CheckIdentifier(id));
    }
    return {};
  }

  std::size_t Find(FieldId id) const {
    const auto found =
        std::ranges::lower_bound(by_id, id, {}, [](const auto& e) { return e.first; });
    return found == by_id.end() || found->first != id ? kNone : found->second;
  }

  std::string FullName(std::size_t entry) const {
    std::string name = entries[entry].field->name;
    for (std::size_t at = entries[entry].parent; at != kNone; at = entries[at].parent) {
      name.insert(0, entries[at].field->name + ".");
    }
    return name;
  }

  const Parts parts;  // Never moves: entries and nodes point into it.
  std::vector<Entry> entries;
  std::vector<const NestedField*> fields;
  std::vector<std::pair<FieldId, std::size_t>> by_id;
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> edges;  // (node, part) → node.
  std::vector<std::size_t> field_at_node;  // Position in `entries` or kNone.

 private:
  Status Add(const std::vector<NestedField>& children, std::size_t parent, std::size_t depth) {
    for (const NestedField& field : children) {
      LAKE_TRY_VOID(CheckField(field));
      if (field.type.is_nested() && depth >= kTypeDepthMax) {
        return InvalidArgument(
            fmt::format("schema: types nest deeper than {} levels", kTypeDepthMax));
      }
      const std::size_t node = AddName(parent == kNone ? 0 : entries[parent].node, field.name);
      const std::size_t position = entries.size();
      if (field_at_node[node] != kNone) {
        return InvalidArgument(
            fmt::format("schema: two fields have the name {}, ids {} and {}", Quoted(field.name),
                        std::to_underlying(entries[field_at_node[node]].field->id),
                        std::to_underlying(field.id)));
      }
      field_at_node[node] = position;
      entries.push_back({.field = &field, .parent = parent, .node = node});
      fields.push_back(&field);
      LAKE_TRY_VOID(Add(field.type.fields(), position, depth + 1));
    }
    return {};
  }

  static Status CheckField(const NestedField& field) {
    if (std::to_underlying(field.id) < 0) {
      return InvalidArgument(fmt::format("schema: field {} has the negative id {}",
                                         Quoted(field.name), std::to_underlying(field.id)));
    }
    if (field.required && field.type.kind() == TypeKind::kUnknown) {
      return InvalidArgument(fmt::format(
          "schema: field {} of type unknown is required; it must be optional", Quoted(field.name)));
    }
    if (AlwaysDefaultsToNull(field.type.kind()) &&
        (field.initial_default.has_value() || field.write_default.has_value())) {
      return InvalidArgument(fmt::format("schema: field {} of type {} cannot have a default",
                                         Quoted(field.name), field.type.ToString()));
    }
    return {};
  }

  std::size_t AddName(std::size_t node, std::string_view name) {
    while (true) {
      const std::size_t dot = name.find('.');
      const auto [edge, added] =
          edges.try_emplace({node, name.substr(0, dot)}, field_at_node.size());
      if (added) {
        field_at_node.push_back(kNone);
      }
      node = edge->second;
      if (dot == std::string_view::npos) {
        return node;
      }
      name.remove_prefix(dot + 1);
    }
  }

  Status CheckIdentifier(FieldId id) const {
    const std::size_t entry = Find(id);
    if (entry == kNone) {
      return InvalidArgument(
          fmt::format("schema: identifier field {} does not exist", std::to_underlying(id)));
    }
    const NestedField& field = *entries[entry].field;
    const auto refuse = [&](std::string_view why) {
      return InvalidArgument(
          fmt::format("schema: identifier field {} {}", Quoted(field.name), why));
    };
    if (!field.type.is_primitive()) {
      return refuse("is not primitive");
    }
    if (!field.required) {
      return refuse("is optional");
    }
    if (field.type.kind() == TypeKind::kFloat || field.type.kind() == TypeKind::kDouble) {
      return refuse("is a floating-point number");
    }
    for (std::size_t at = entries[entry].parent; at != kNone; at = entries[at].parent) {
      const NestedField& parent = *entries[at].field;
      if (parent.type.kind() != TypeKind::kStruct || !parent.required) {
        return refuse("is inside a list, a map or an optional struct");
      }
    }
    return {};
  }
};

Schema::Schema() {
  static const std::shared_ptr<const Index> kEmpty = [] {
    auto index = std::make_shared<Index>(Parts{});
    LAKE_CHECK(index->Build().has_value(), "an empty schema is valid");
    return index;
  }();
  index_ = kEmpty;
}

Schema::Schema(std::shared_ptr<const Index> index) : index_(std::move(index)) {}

Result<Schema> Schema::Make(Parts parts) {
  auto index = std::make_shared<Index>(std::move(parts));
  LAKE_TRY_VOID(index->Build());
  return Schema(std::move(index));
}

const Schema::Parts& Schema::body() const {
  return index_->parts;
}

const NestedField* Schema::FindField(FieldId id) const {
  const std::size_t entry = index_->Find(id);
  return entry == kNone ? nullptr : index_->entries[entry].field;
}

const NestedField* Schema::FindField(std::string_view full_name) const {
  std::size_t node = 0;
  while (true) {
    const std::size_t dot = full_name.find('.');
    const auto edge = index_->edges.find({node, full_name.substr(0, dot)});
    if (edge == index_->edges.end()) {
      return nullptr;
    }
    node = edge->second;
    if (dot == std::string_view::npos) {
      const std::size_t entry = index_->field_at_node[node];
      return entry == kNone ? nullptr : index_->entries[entry].field;
    }
    full_name.remove_prefix(dot + 1);
  }
}

std::optional<std::string> Schema::FindName(FieldId id) const {
  const std::size_t entry = index_->Find(id);
  if (entry == kNone) {
    return std::nullopt;
  }
  return index_->FullName(entry);
}

const std::vector<const NestedField*>& Schema::all_fields() const {
  return index_->fields;
}

FieldId Schema::highest_field_id() const {
  return index_->by_id.empty() ? FieldId{0} : index_->by_id.back().first;
}

Schema Schema::WithId(SchemaId id) const {
  if (id == schema_id()) {
    return *this;
  }
  Parts parts = body();
  parts.schema_id = id;
  Result<Schema> schema = Make(std::move(parts));
  LAKE_CHECK(schema.has_value(), "the id of a schema does not make it invalid");
  return *std::move(schema);
}

bool Schema::SameAs(const Schema& other) const {
  if (index_ == other.index_) {
    return true;
  }
  std::vector<FieldId> mine = identifier_field_ids();
  std::vector<FieldId> theirs = other.identifier_field_ids();
  std::ranges::sort(mine);
  std::ranges::sort(theirs);
  return mine == theirs && fields() == other.fields() && unknown() == other.unknown();
}

bool Schema::operator==(const Schema& other) const {
  return index_ == other.index_ || body() == other.body();
}

Status CheckFormatVersion(const Schema& schema, std::int32_t format_version) {
  for (const NestedField* field : schema.all_fields()) {
    const int needed =
        std::max(MinFormatVersion(field->type.kind()), field->initial_default.has_value() ? 3 : 1);
    if (needed > format_version) {
      return InvalidArgument(fmt::format(
          "schema: field {} ({}) needs format version {}, and the table has {}",
          Quoted(schema.FindName(field->id).value_or(field->name)),
          field->initial_default.has_value() ? "an initial default" : field->type.ToString(),
          needed, format_version));
    }
  }
  return {};
}

}  // namespace lake::iceberg
