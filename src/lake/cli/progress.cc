#include "lake/cli/progress.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace lake::cli {
namespace {

constexpr std::size_t kBarWidth = 30;

}  // namespace

Progress::~Progress() {
  Clear();
}

bool Progress::IsDue() {
  if (out_ == nullptr) {
    return false;
  }
  const Instant now = clock_.Now();
  if (visible_ && now < next_draw_) {
    return false;
  }
  next_draw_ = now + kRedrawInterval;
  visible_ = true;
  return true;
}

void Progress::Count(std::string_view what, std::uint64_t count) {
  if (IsDue()) {
    Draw(fmt::format("{}: {}", what, count));
  }
}

void Progress::Show(std::string_view what, double fraction) {
  if (!IsDue()) {
    return;
  }
  const double done = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(done * static_cast<double>(kBarWidth));
  Draw(fmt::format("{} [{}{}] {:3.0f} %", what, std::string(filled, '#'),
                   std::string(kBarWidth - filled, '.'), done * 100));
}

void Progress::Clear() {
  if (visible_) {
    visible_ = false;
    Draw("");
  }
}

void Progress::Draw(std::string_view text) {
  // To the line's start, and erase what stands there.
  const Status written = out_->Write(fmt::format("\r\x1B[K{}", text));
  if (!written.has_value() || !out_->Flush().has_value()) {
    // A terminal that is gone is no reason to stop the work.
    out_ = nullptr;
    visible_ = false;
  }
}

}  // namespace lake::cli
