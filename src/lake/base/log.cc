#include "lake/base/log.h"

#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace lake {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> kLogger = [] {
    auto logger = std::make_shared<spdlog::logger>(
        "lake", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_level(spdlog::level::warn);
    logger->set_pattern("lake: %^%l%$: %v");
    return logger;
  }();
  return *kLogger;
}

}  // namespace

void Log(LogLevel level, std::string_view message) {
  Logger().log(ToSpdlog(level), "{}", message);
}

void SetLogLevel(LogLevel level) {
  Logger().set_level(ToSpdlog(level));
}

}  // namespace lake
