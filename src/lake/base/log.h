#pragma once

#include <string_view>

namespace lake {

// How much a message matters, from little to much.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Writes one line to standard error: `lake: level: message`. Thread-safe.
void Log(LogLevel level, std::string_view message);

// Drops messages below `level` from now on. The default is kWarning.
void SetLogLevel(LogLevel level);

}  // namespace lake
