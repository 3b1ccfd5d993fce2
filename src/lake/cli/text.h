#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lake/base/time.h"

namespace lake::cli {

// Returns `text` with every control character and every byte that is not UTF-8 made visible (\n, \t, \x1B), so that it stays
// on its line and cannot command a terminal.
std::string Printable(std::string_view text);

// Whether `text` is UTF-8 as RFC 3629 defines it.
bool IsUtf8(std::string_view text);

// Returns how many columns of a terminal valid, printable UTF-8 takes: two for a wide character, none for a combining one.
std::size_t DisplayWidth(std::string_view text);

// Returns a name in double quotes, with its own doubled, as SQL writes identifiers.
std::string DoubleQuoted(std::string_view name);

// Returns what the operating system calls the error `number`, an errno.
std::string Reason(int number);

// Returns a moment as "2026-01-31T23:59:58.123Z".
std::string TimeText(WallTime time);

// Returns a number with its noun: "1 row", "3,000,000 rows".
std::string Count(std::uint64_t number, std::string_view noun);

// Returns a size in bytes for people: "512 B", "13.5 MB".
std::string SizeText(std::uint64_t bytes);

}  // namespace lake::cli
