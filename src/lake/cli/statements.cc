#include "lake/cli/statements.h"

#include <algorithm>
#include <cstddef>

namespace lake::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool IsIdentifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Walks over SQL text piece by piece. A piece is a quoted text, a comment, or one other character.
class Scanner {
 public:
  enum class Piece { kBlank, kComment, kSemicolon, kOther };

  explicit Scanner(std::string_view text) : text_(text) {}

  bool done() const { return at_ == text_.size(); }

  std::size_t at() const { return at_; }

  Piece Next() {
    const char c = text_[at_];
    if (StartsWith("--")) {
      SkipTo(text_.find('\n', at_), 0);
      return Piece::kComment;
    }
    if (StartsWith("/*")) {
      SkipBlockComment();
      return Piece::kComment;
    }
    if (c == '\'' || c == '"') {
      SkipQuoted(c);
      return Piece::kOther;
    }
    if (c == '$' && SkipDollarQuoted()) {
      return Piece::kOther;
    }
    ++at_;
    if (c == ';') {
      return Piece::kSemicolon;
    }
    return kBlanks.find(c) == std::string_view::npos ? Piece::kOther : Piece::kBlank;
  }

 private:
  bool StartsWith(std::string_view token) const { return text_.substr(at_).starts_with(token); }

  void SkipTo(std::size_t found, std::size_t length) {
    at_ = found == std::string_view::npos ? text_.size() : found + length;
  }

  // Block comments nest, as they do in PostgreSQL and DuckDB.
  void SkipBlockComment() {
    std::size_t depth = 0;
    do {
      if (StartsWith("/*")) {
        ++depth;
        at_ += 2;
      } else if (StartsWith("*/")) {
        --depth;
        at_ += 2;
      } else {
        ++at_;
      }
    } while (depth > 0 && !done());
  }

  // A doubled quote is two quoted texts side by side. Only an E'…' text has backslash escapes.
  void SkipQuoted(char quote) {
    const bool escapes = quote == '\'' && at_ > 0 &&
                         (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') &&
                         (at_ == 1 || !IsIdentifier(text_[at_ - 2]));
    ++at_;
    while (!done()) {
      const char c = text_[at_];
      at_ = std::min(at_ + (escapes && c == '\\' ? 2 : 1), text_.size());
      if (c == quote) {
        return;
      }
    }
  }

  // $tag$ … $tag$. A dollar inside a word, or before a digit ($1), starts nothing.
  bool SkipDollarQuoted() {
    if (at_ > 0 && IsIdentifier(text_[at_ - 1])) {
      return false;
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && IsIdentifier(text_[end])) {
      ++end;
    }
    const bool starts_with_digit = end > at_ + 1 && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9';
    if (end == text_.size() || text_[end] != '$' || starts_with_digit) {
      return false;
    }
    const std::string_view tag = text_.substr(at_, end + 1 - at_);
    SkipTo(text_.find(tag, end + 1), tag.size());
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Statements SplitStatements(std::string_view text) {
  Statements result;
  Scanner scanner(text);
  std::size_t begin = 0;
  bool has_content = false;
  while (!scanner.done()) {
    const std::size_t before = scanner.at();
    const Scanner::Piece piece = scanner.Next();
    if (piece == Scanner::Piece::kOther) {
      has_content = true;
    } else if (piece == Scanner::Piece::kSemicolon) {
      if (has_content) {
        result.complete.emplace_back(Trim(text.substr(begin, before - begin)));
      }
      begin = scanner.at();
      has_content = false;
    }
  }
  const std::string_view rest = Trim(text.substr(begin));
  // An open comment is not finished either, although it has no content yet.
  const bool open_comment = rest.starts_with("/*") && !rest.ends_with("*/");
  if (has_content || open_comment) {
    result.rest = rest;
  }
  return result;
}

}  // namespace lake::cli
