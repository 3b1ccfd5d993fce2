#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "lake/base/check.h"
#include "lake/base/uuid.h"
#include "lake/sql/column_statistics_internal.h"
#include "lake/sql/type_mapping_internal.h"

namespace lake::sql {
namespace {

using iceberg::TypeKind;

duckdb::Value DecimalValue(const iceberg::Type& type, iceberg::Int128 unscaled) {
  const auto width = static_cast<std::uint8_t>(type.precision());
  const auto scale = static_cast<std::uint8_t>(type.scale());
  // DuckDB keeps a decimal in the smallest integer that its width needs.
  switch (duckdb::LogicalType::DECIMAL(width, scale).InternalType()) {
    case duckdb::PhysicalType::INT16:
      return duckdb::Value::DECIMAL(static_cast<std::int16_t>(unscaled), width, scale);
    case duckdb::PhysicalType::INT32:
      return duckdb::Value::DECIMAL(static_cast<std::int32_t>(unscaled), width, scale);
    case duckdb::PhysicalType::INT64:
      return duckdb::Value::DECIMAL(static_cast<std::int64_t>(unscaled), width, scale);
    default:
      return duckdb::Value::DECIMAL(duckdb::hugeint_t(static_cast<std::int64_t>(unscaled >> 64),
                                                      static_cast<std::uint64_t>(unscaled)),
                                    width, scale);
  }
}

iceberg::Value UnscaledValue(const duckdb::Value& decimal) {
  const auto number = [&]() -> iceberg::Int128 {
    switch (decimal.type().InternalType()) {
      case duckdb::PhysicalType::INT16:
        return decimal.GetValueUnsafe<std::int16_t>();
      case duckdb::PhysicalType::INT32:
        return decimal.GetValueUnsafe<std::int32_t>();
      case duckdb::PhysicalType::INT64:
        return decimal.GetValueUnsafe<std::int64_t>();
      default: {
        const auto wide = decimal.GetValueUnsafe<duckdb::hugeint_t>();
        return (static_cast<iceberg::Int128>(wide.upper) << 64) | wide.lower;
      }
    }
  }();
  return iceberg::Decimal{number};
}

std::optional<iceberg::Value> ParseHexadecimal(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    std::uint8_t byte = 0;
    const char* end = text.data() + std::min(i + 2, text.size());
    const auto [stopped, error] = std::from_chars(text.data() + i, end, byte, 16);
    if (error != std::errc() || stopped != end || i + 2 > text.size()) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

duckdb::Value UuidValue(const std::string& bytes) {
  std::array<std::uint8_t, 16> raw{};
  LAKE_CHECK(bytes.size() == raw.size(), "a uuid has 16 bytes");
  std::copy(bytes.begin(), bytes.end(), raw.begin());
  return duckdb::Value::UUID(Uuid(raw).ToString());
}

std::optional<iceberg::Value> Decode(const iceberg::Type& type, const std::string* bound) {
  if (bound == nullptr) {
    return std::nullopt;
  }
  auto value = iceberg::DecodeValue(type, *bound);
  if (!value.has_value()) {
    IgnoreError(value, "a bound that cannot be read bounds nothing");
    return std::nullopt;
  }
  return std::move(*value);
}

// Whether bounds of the column also bound what they leave out: NaN, which compares as greatest.
bool HasNoNan(const iceberg::NestedField& field, const iceberg::DataFile& file) {
  if (field.type.kind() != TypeKind::kFloat && field.type.kind() != TypeKind::kDouble) {
    return true;
  }
  const std::int64_t* nans = file.nan_value_counts.Find(field.id);
  return nans != nullptr && *nans == 0;
}

void SetBounds(const iceberg::NestedField& field, const iceberg::DataFile& file,
               duckdb::BaseStatistics& stats) {
  const auto lower = Decode(field.type, file.lower_bounds.Find(field.id));
  const auto upper = Decode(field.type, file.upper_bounds.Find(field.id));
  if (!lower.has_value() || !upper.has_value() || !HasNoNan(field, file)) {
    return;
  }
  switch (stats.GetStatsType()) {
    case duckdb::StatisticsType::NUMERIC_STATS:
      duckdb::NumericStats::SetMin(stats, ToDuckDbValue(field.type, *lower));
      duckdb::NumericStats::SetMax(stats, ToDuckDbValue(field.type, *upper));
      break;
    case duckdb::StatisticsType::STRING_STATS:
      duckdb::StringStats::SetMin(stats, duckdb::string_t(std::get<std::string>(*lower)));
      duckdb::StringStats::SetMax(stats, duckdb::string_t(std::get<std::string>(*upper)));
      break;
    default:
      break;
  }
}

}  // namespace

duckdb::Value ToDuckDbValue(const iceberg::Type& type, const iceberg::Value& value) {
  LAKE_CHECK(iceberg::IsValueOf(type, value), "the value is of the type");
  if (iceberg::IsNull(value)) {
    const auto target = ToDuckDbType(type);
    return target.has_value() ? duckdb::Value(*target) : duckdb::Value();
  }
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return duckdb::Value::BOOLEAN(std::get<bool>(value));
    case TypeKind::kInt:
      return duckdb::Value::INTEGER(std::get<std::int32_t>(value));
    case TypeKind::kLong:
      return duckdb::Value::BIGINT(std::get<std::int64_t>(value));
    case TypeKind::kFloat:
      return duckdb::Value::FLOAT(std::get<float>(value));
    case TypeKind::kDouble:
      return duckdb::Value::DOUBLE(std::get<double>(value));
    case TypeKind::kDecimal:
      return DecimalValue(type, std::get<iceberg::Decimal>(value).unscaled);
    case TypeKind::kDate:
      return duckdb::Value::DATE(duckdb::date_t(std::get<std::int32_t>(value)));
    case TypeKind::kTime:
      return duckdb::Value::TIME(duckdb::dtime_t(std::get<std::int64_t>(value)));
    case TypeKind::kTimestamp:
      return duckdb::Value::TIMESTAMP(duckdb::timestamp_t(std::get<std::int64_t>(value)));
    case TypeKind::kTimestamptz:
      return duckdb::Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(std::get<std::int64_t>(value)));
    case TypeKind::kTimestampNs:
      return duckdb::Value::TIMESTAMPNS(duckdb::timestamp_ns_t(std::get<std::int64_t>(value)));
    case TypeKind::kString:
      return duckdb::Value(std::get<std::string>(value));
    case TypeKind::kUuid:
      return UuidValue(std::get<std::string>(value));
    case TypeKind::kFixed:
    case TypeKind::kBinary: {
      const auto& bytes = std::get<std::string>(value);
      return duckdb::Value::BLOB(duckdb::const_data_ptr_cast(bytes.data()), bytes.size());
    }
    default:
      LAKE_CHECK(false, "types without values never get here");
      return duckdb::Value();
  }
}

std::optional<iceberg::Value> ParseStatistic(const iceberg::Type& type, const std::string& text) {
  if (type.kind() == TypeKind::kString) {
    return text;
  }
  if (type.kind() == TypeKind::kBinary || type.kind() == TypeKind::kFixed) {
    return ParseHexadecimal(text);
  }
  if (type.kind() == TypeKind::kUuid) {
    const auto uuid = Uuid::Parse(text);
    if (!uuid.has_value()) {
      return std::nullopt;
    }
    return std::string(uuid->bytes().begin(), uuid->bytes().end());
  }
  const auto target = ToDuckDbType(type);
  duckdb::Value value;
  std::string why;
  if (!target.has_value() || type.is_nested() ||
      !duckdb::Value(text).DefaultTryCastAs(*target, value, &why, /*strict=*/true)) {
    return std::nullopt;
  }
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return duckdb::BooleanValue::Get(value);
    case TypeKind::kInt:
      return duckdb::IntegerValue::Get(value);
    case TypeKind::kLong:
      return duckdb::BigIntValue::Get(value);
    case TypeKind::kFloat:
      return duckdb::FloatValue::Get(value);
    case TypeKind::kDouble:
      return duckdb::DoubleValue::Get(value);
    case TypeKind::kDecimal:
      return UnscaledValue(value);
    case TypeKind::kDate:
      return duckdb::DateValue::Get(value).days;
    case TypeKind::kTime:
      return duckdb::TimeValue::Get(value).micros;
    case TypeKind::kTimestamp:
      return duckdb::TimestampValue::Get(value).value;
    case TypeKind::kTimestamptz:
      return duckdb::TimestampTZValue::Get(value).value;
    case TypeKind::kTimestampNs:
      return duckdb::TimestampNSValue::Get(value).value;
    default:
      return std::nullopt;
  }
}

duckdb::BaseStatistics StatisticsOf(const iceberg::NestedField& field,
                                    const iceberg::DataFile& file) {
  const auto type = ToDuckDbType(field.type);
  LAKE_CHECK(type.has_value(), "only tables with readable columns are scanned");
  auto stats = duckdb::BaseStatistics::CreateUnknown(*type);
  if (field.type.kind() == TypeKind::kStruct) {
    for (duckdb::idx_t i = 0; i < field.type.fields().size(); ++i) {
      duckdb::StructStats::SetChildStats(stats, i, StatisticsOf(field.type.fields()[i], file));
    }
    return stats;
  }
  if (field.type.is_nested()) {
    return stats;
  }
  SetBounds(field, file, stats);
  const std::int64_t* nulls = file.null_value_counts.Find(field.id);
  if (nulls != nullptr && *nulls == 0) {
    stats.Set(duckdb::StatsInfo::CANNOT_HAVE_NULL_VALUES);
  } else if (nulls != nullptr && *nulls == file.record_count) {
    stats.Set(duckdb::StatsInfo::CANNOT_HAVE_VALID_VALUES);
  }
  return stats;
}

bool Excludes(const iceberg::Schema& schema, const iceberg::DataFile& file,
              const duckdb::TableFilterSet& filters) {
  for (const auto& [column, filter] : filters.filters) {
    if (column >= schema.fields().size()) {
      continue;  // A virtual column.
    }
    auto stats = StatisticsOf(schema.fields()[column], file);
    if (filter->CheckStatistics(stats) == duckdb::FilterPropagateResult::FILTER_ALWAYS_FALSE) {
      return true;
    }
  }
  return false;
}

}  // namespace lake::sql
