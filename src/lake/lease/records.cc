#include "lake/lease/records.h"

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/json_internal.h"

namespace lake::lease {
namespace {

namespace bj = boost::json;

constexpr std::array<std::string_view, 6> kTermMembers = {"format",  "epoch",   "node",
                                                          "session", "address", "state"};
constexpr std::array<std::string_view, 5> kHeartbeatMembers = {"format", "epoch", "session", "beat",
                                                               "ttl_ms"};
constexpr std::string_view kHeld = "held";
constexpr std::string_view kReleased = "released";

// Epochs and beats use the whole of u64, which the shared accessors do not.
Result<std::uint64_t> GetUint(const bj::object& object, std::string_view name) {
  const bj::value* value = object.if_contains(bj::string_view(name.data(), name.size()));
  if (value != nullptr && value->is_uint64()) {
    return value->get_uint64();
  }
  if (value != nullptr && value->is_int64() && value->get_int64() >= 0) {
    return static_cast<std::uint64_t>(value->get_int64());
  }
  return InvalidArgument(fmt::format("member '{}' is not an unsigned 64-bit integer", name));
}

Result<Uuid> GetUuid(const bj::object& object, std::string_view name) {
  LAKE_TRY(const std::string text, json::GetString(object, name));
  return Uuid::Parse(text);
}

Result<Epoch> GetEpoch(const bj::object& object) {
  LAKE_TRY(const std::uint64_t number, GetUint(object, "epoch"));
  if (number == 0) {
    return InvalidArgument("member 'epoch' is 0; the first epoch is 1");
  }
  return Epoch(number);
}

Result<TermRecord::State> GetState(const bj::object& object) {
  LAKE_TRY(const std::string text, json::GetString(object, "state"));
  if (text == kHeld) {
    return TermRecord::State::kHeld;
  }
  if (text == kReleased) {
    return TermRecord::State::kReleased;
  }
  return InvalidArgument("member 'state' is neither 'held' nor 'released'");
}

Status CheckFormat(const bj::object& object) {
  LAKE_TRY(const std::int64_t format, json::GetInt(object, "format"));
  if (format < 1) {
    return InvalidArgument("member 'format' is not positive");
  }
  if (format > kRecordFormat) {
    return Unimplemented(
        fmt::format("written in format {} by a newer version of lake, this one reads up to {}",
                    format, kRecordFormat));
  }
  return {};
}

std::string UnknownMembers(const bj::object& object, std::span<const std::string_view> known) {
  bj::object unknown;
  for (const auto& member : object) {
    const std::string_view name(member.key().data(), member.key().size());
    bool is_known = false;
    for (const std::string_view candidate : known) {
      is_known = is_known || candidate == name;
    }
    if (!is_known) {
      unknown.emplace(member.key(), member.value());
    }
  }
  return unknown.empty() ? std::string() : json::Write(unknown);
}

void AddUnknownMembers(std::string_view text, bj::object& object) {
  if (text.empty()) {
    return;
  }
  const Result<bj::value> unknown = json::Parse(text);
  LAKE_CHECK(unknown.has_value() && unknown->is_object(), "unknown members are a JSON object");
  for (const auto& member : unknown->get_object()) {
    LAKE_CHECK(object.emplace(member.key(), member.value()).second,
               "a known member is not unknown");
  }
}

Result<TermRecord> TermFrom(std::string_view bytes) {
  LAKE_TRY(const bj::value value, json::Parse(bytes));
  LAKE_TRY(const bj::object* object, json::AsObject(value, "the record"));
  LAKE_TRY_VOID(CheckFormat(*object));
  TermRecord record;
  LAKE_TRY(record.epoch, GetEpoch(*object));
  LAKE_TRY(record.node, json::GetString(*object, "node"));
  if (record.node.empty()) {
    return InvalidArgument("member 'node' is empty");
  }
  LAKE_TRY(record.session, GetUuid(*object, "session"));
  LAKE_TRY(record.address, json::GetString(*object, "address"));
  LAKE_TRY(record.state, GetState(*object));
  record.unknown_members = UnknownMembers(*object, kTermMembers);
  return record;
}

Result<HeartbeatRecord> HeartbeatFrom(std::string_view bytes) {
  LAKE_TRY(const bj::value value, json::Parse(bytes));
  LAKE_TRY(const bj::object* object, json::AsObject(value, "the record"));
  LAKE_TRY_VOID(CheckFormat(*object));
  HeartbeatRecord record;
  LAKE_TRY(record.epoch, GetEpoch(*object));
  LAKE_TRY(record.session, GetUuid(*object, "session"));
  LAKE_TRY(record.beat, GetUint(*object, "beat"));
  LAKE_TRY(const std::uint64_t ttl_ms, GetUint(*object, "ttl_ms"));
  if (ttl_ms == 0 || ttl_ms > static_cast<std::uint64_t>(kTtlMax.count())) {
    return InvalidArgument(
        fmt::format("member 'ttl_ms' is {}, which is not from 1 to {}", ttl_ms, kTtlMax.count()));
  }
  record.ttl = std::chrono::milliseconds(ttl_ms);
  record.unknown_members = UnknownMembers(*object, kHeartbeatMembers);
  return record;
}

// Bytes that came from the store and do not decode are damage, whatever is wrong with them.
template <typename T>
Result<T> AsStored(Result<T> record, std::string_view key) {
  if (record.has_value() || record.error().code() == ErrorCode::kUnimplemented) {
    return WithContext(std::move(record), key);
  }
  return Corruption(fmt::format("{}: {}", key, record.error().message()));
}

}  // namespace

std::string Encode(const TermRecord& record) {
  LAKE_CHECK(record.epoch > Epoch(), "nobody leads before the first epoch");
  bj::object object;
  object["format"] = kRecordFormat;
  object["epoch"] = record.epoch.value();
  object["node"] = record.node;
  object["session"] = record.session.ToString();
  object["address"] = record.address;
  object["state"] = record.state == TermRecord::State::kHeld ? kHeld : kReleased;
  AddUnknownMembers(record.unknown_members, object);
  return json::Write(object);
}

std::string Encode(const HeartbeatRecord& record) {
  LAKE_CHECK(record.epoch > Epoch(), "nobody leads before the first epoch");
  LAKE_CHECK(record.ttl.count() > 0 && record.ttl <= kTtlMax, "a heartbeat's ttl is in range");
  bj::object object;
  object["format"] = kRecordFormat;
  object["epoch"] = record.epoch.value();
  object["session"] = record.session.ToString();
  object["beat"] = record.beat;
  object["ttl_ms"] = record.ttl.count();
  AddUnknownMembers(record.unknown_members, object);
  return json::Write(object);
}

Result<TermRecord> DecodeTerm(std::string_view bytes) {
  return AsStored(TermFrom(bytes), kTermKey);
}

Result<HeartbeatRecord> DecodeHeartbeat(std::string_view bytes) {
  return AsStored(HeartbeatFrom(bytes), kHeartbeatKey);
}

}  // namespace lake::lease
