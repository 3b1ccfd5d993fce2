#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/engine/table_uuid_internal.h"
#include "lake/iceberg/table_metadata_json.h"

namespace lake::engine {
namespace {

// How much of a metadata file is read to learn whose it is. Writers put the table's UUID at the beginning.
constexpr std::uint64_t kPrefixBytes = 4096;

// Goes through the tokens of JSON text as far as it reaches. Texts are views of what stands between the quotes.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  struct Token {
    char kind = 0;  // '{', '}', '[', ']', ':', ',', '"' for a string, 'x' for anything else.
    std::string_view text;
  };

  std::optional<Token> Next() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
    if (at_ == text_.size()) {
      return std::nullopt;
    }
    const char first = text_[at_];
    if (first == '"') {
      return String();
    }
    const std::size_t start = at_++;
    constexpr std::string_view kPunctuation = "{}[]:,";
    if (kPunctuation.contains(first)) {
      return Token{.kind = first};
    }
    while (at_ < text_.size() && text_[at_] != '"' && !kPunctuation.contains(text_[at_])) {
      ++at_;
    }
    return Token{.kind = 'x', .text = text_.substr(start, at_ - start)};
  }

 private:
  std::optional<Token> String() {
    const std::size_t start = at_ + 1;
    for (std::size_t end = start; end < text_.size(); ++end) {
      if (text_[end] == '\\') {
        ++end;
      } else if (text_[end] == '"') {
        at_ = end + 1;
        return Token{.kind = '"', .text = text_.substr(start, end - start)};
      }
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Uuid> TableUuidInPrefix(std::string_view prefix) {
  Tokens tokens(prefix);
  int depth = 0;
  bool is_name = false;  // The next string at the top level is a member's name.
  while (const std::optional<Tokens::Token> token = tokens.Next()) {
    switch (token->kind) {
      case '{':
      case '[':
        ++depth;
        is_name = depth == 1;
        break;
      case '}':
      case ']':
        --depth;
        break;
      case ',':
        is_name = depth == 1;
        break;
      case '"': {
        const bool found = is_name && token->text == "table-uuid";
        is_name = false;
        if (!found) {
          break;
        }
        const std::optional<Tokens::Token> colon = tokens.Next();
        const std::optional<Tokens::Token> value = tokens.Next();
        if (!colon.has_value() || colon->kind != ':' || !value.has_value() || value->kind != '"') {
          return std::nullopt;
        }
        const Result<Uuid> uuid = Uuid::Parse(value->text);
        return uuid.has_value() ? std::optional(*uuid) : std::nullopt;
      }
      default:
        break;
    }
  }
  return std::nullopt;
}

bool IsMetadataFile(std::string_view path) {
  return path.ends_with(".metadata.json") || path.ends_with(".metadata.json.gz");
}

Result<std::optional<Uuid>> ReadTableUuid(objstore::ObjectStore& objects,
                                          const objstore::ObjectInfo& file, Deadline deadline) {
  const std::string what = "metadata file " + file.path;
  LAKE_TRY(std::string bytes,
           WithContext(objects.GetRange(file.path, 0, std::min(file.size, kPrefixBytes), deadline),
                       what));
  if (const std::optional<Uuid> uuid = TableUuidInPrefix(bytes); uuid.has_value()) {
    return uuid;
  }
  LAKE_TRY(bytes,
           WithContext(objects.Get(file.path, iceberg::kTableMetadataBytesMax, deadline), what));
  const Result<iceberg::TableMetadata> metadata = iceberg::ParseTableMetadata(bytes);
  return metadata.has_value() ? std::optional(metadata->table_uuid) : std::nullopt;
}

}  // namespace lake::engine
