#include "lake/lease/lease_config.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lake/lease/records.h"

namespace lake::lease {
namespace {

Status CheckText(std::string_view text, std::string_view what) {
  if (text.size() > kIdentityBytesMax) {
    return InvalidArgument(
        fmt::format("lease identity: the {} has {} bytes, at most {} are allowed", what,
                    text.size(), kIdentityBytesMax));
  }
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (!printable) {
    return InvalidArgument(
        fmt::format("lease identity: the {} may hold only printable ASCII without spaces", what));
  }
  return {};
}

}  // namespace

Status LeaseConfig::Validate() const {
  const std::pair<std::string_view, std::chrono::milliseconds> times[] = {{"ttl", ttl},
                                                                          {"heartbeat", heartbeat},
                                                                          {"attempt", attempt},
                                                                          {"margin", margin},
                                                                          {"poll", poll}};
  for (const auto& [name, time] : times) {
    if (time.count() <= 0 || time > kTtlMax) {
      return InvalidArgument(fmt::format("lease times: {} is {} ms; it must be from 1 to {} ms",
                                         name, time.count(), kTtlMax.count()));
    }
  }
  if (heartbeat + 2 * attempt > ttl - margin) {
    return InvalidArgument(fmt::format(
        "lease times: heartbeat {} ms + 2 x attempt {} ms must be at most ttl {} ms - margin {} "
        "ms, so that one hung request does not cost the lease",
        heartbeat.count(), attempt.count(), ttl.count(), margin.count()));
  }
  return {};
}

Status LeaseIdentity::Validate() const {
  if (node.empty()) {
    return InvalidArgument("lease identity: the node has no name");
  }
  if (session.is_nil()) {
    return InvalidArgument("lease identity: the session is nil");
  }
  LAKE_TRY_VOID(CheckText(node, "node name"));
  return CheckText(address, "address");
}

}  // namespace lake::lease
