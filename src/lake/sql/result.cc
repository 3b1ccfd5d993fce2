#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/result_internal.h"

namespace lake::sql {
namespace {

ValueKind KindOf(const duckdb::LogicalType& type) {
  if (type.id() == duckdb::LogicalTypeId::BOOLEAN) {
    return ValueKind::kBoolean;
  }
  if (type.IsNumeric()) {
    return ValueKind::kNumber;
  }
  return type.IsNested() ? ValueKind::kNested : ValueKind::kText;
}

// Returns the next rows; null at the end.
Result<duckdb::unique_ptr<duckdb::DataChunk>> Fetch(duckdb::QueryResult& result) {
  duckdb::unique_ptr<duckdb::DataChunk> chunk;
  duckdb::ErrorData error;
  if (!result.TryFetch(chunk, error)) {
    // What went wrong is thrown or noted in the result.
    return std::unexpected(ToError(error.HasError() ? error : result.GetErrorObject()));
  }
  return chunk;
}

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
        break;
    }
  }
  out += '"';
}

void AppendScalar(ValueKind kind, std::string_view text, std::string& out) {
  const bool finite = text.find_first_of("nN") == std::string_view::npos;  // inf, nan
  if (kind == ValueKind::kBoolean || (kind == ValueKind::kNumber && finite)) {
    out += text;
  } else {
    AppendQuoted(text, out);
  }
}

void AppendValue(const duckdb::Value& value, std::string& out);

void AppendMap(const duckdb::Value& map, std::string& out) {
  const bool text_keys = KindOf(duckdb::MapType::KeyType(map.type())) == ValueKind::kText;
  const auto& entries = duckdb::MapValue::GetChildren(map);
  out += text_keys ? '{' : '[';
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = duckdb::StructValue::GetChildren(entries[i]);
    out += i == 0 ? "" : ",";
    if (text_keys) {
      AppendQuoted(entry[0].ToString(), out);
      out += ':';
      AppendValue(entry[1], out);
    } else {
      out += "{\"key\":";
      AppendValue(entry[0], out);
      out += ",\"value\":";
      AppendValue(entry[1], out);
      out += '}';
    }
  }
  out += text_keys ? '}' : ']';
}

void AppendList(const duckdb::vector<duckdb::Value>& elements, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < elements.size(); ++i) {
    out += i == 0 ? "" : ",";
    AppendValue(elements[i], out);
  }
  out += ']';
}

void AppendValue(const duckdb::Value& value, std::string& out) {
  if (value.IsNull()) {
    out += "null";
    return;
  }
  switch (value.type().id()) {
    case duckdb::LogicalTypeId::LIST:
      AppendList(duckdb::ListValue::GetChildren(value), out);
      return;
    case duckdb::LogicalTypeId::ARRAY:
      AppendList(duckdb::ArrayValue::GetChildren(value), out);
      return;
    case duckdb::LogicalTypeId::MAP:
      AppendMap(value, out);
      return;
    case duckdb::LogicalTypeId::STRUCT: {
      const auto& types = duckdb::StructType::GetChildTypes(value.type());
      const auto& fields = duckdb::StructValue::GetChildren(value);
      out += '{';
      for (std::size_t i = 0; i < fields.size(); ++i) {
        out += i == 0 ? "" : ",";
        AppendQuoted(types[i].first, out);
        out += ':';
        AppendValue(fields[i], out);
      }
      out += '}';
      return;
    }
    default:
      AppendScalar(KindOf(value.type()), value.ToString(), out);
      return;
  }
}

}  // namespace

RowBatch::RowBatch(std::unique_ptr<Data> data) : data_(std::move(data)) {}

RowBatch::~RowBatch() = default;
RowBatch::RowBatch(RowBatch&& other) noexcept = default;
RowBatch& RowBatch::operator=(RowBatch&& other) noexcept = default;

std::size_t RowBatch::row_count() const {
  return data_->chunk->size();
}

bool RowBatch::IsNull(std::size_t row, std::size_t column) const {
  return duckdb::FlatVector::IsNull(data_->texts[column], row);
}

std::string_view RowBatch::Text(std::size_t row, std::size_t column) const {
  LAKE_DCHECK(!IsNull(row, column), "null has no text");
  const auto& text = duckdb::FlatVector::GetData<duckdb::string_t>(data_->texts[column])[row];
  return {text.GetData(), text.GetSize()};
}

void RowBatch::AppendJson(std::size_t row, std::size_t column, std::string& out) const {
  if (IsNull(row, column)) {
    out += "null";
  } else if (data_->kinds[column] == ValueKind::kNested) {
    AppendValue(data_->chunk->GetValue(column, row), out);
  } else {
    AppendScalar(data_->kinds[column], Text(row, column), out);
  }
}

QueryResult::Stream::Stream(duckdb::shared_ptr<duckdb::ClientContext> client,
                            duckdb::unique_ptr<duckdb::QueryResult> answer)
    : context(std::move(client)), result(std::move(answer)) {
  has_rows = result->properties.return_type == duckdb::StatementReturnType::QUERY_RESULT;
  for (std::size_t i = 0; i < result->names.size(); ++i) {
    columns.push_back({.name = result->names[i],
                       .type = result->types[i].ToString(),
                       .kind = KindOf(result->types[i])});
  }
}

QueryResult::QueryResult(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

QueryResult::~QueryResult() = default;
QueryResult::QueryResult(QueryResult&& other) noexcept = default;
QueryResult& QueryResult::operator=(QueryResult&& other) noexcept = default;

bool QueryResult::has_rows() const {
  return stream_->has_rows;
}

const std::vector<ResultColumn>& QueryResult::columns() const {
  return stream_->columns;
}

Result<std::optional<RowBatch>> QueryResult::Next() {
  if (stream_->result == nullptr) {
    return std::nullopt;
  }
  auto batch = CatchDuckDb([&]() -> Result<std::optional<RowBatch>> {
    auto data = std::make_unique<RowBatch::Data>();
    LAKE_TRY(data->chunk, Fetch(*stream_->result));
    if (data->chunk == nullptr || data->chunk->size() == 0) {
      return std::nullopt;
    }
    duckdb::DataChunk& chunk = *data->chunk;
    for (std::size_t i = 0; i < chunk.ColumnCount(); ++i) {
      duckdb::Vector text(duckdb::LogicalType::VARCHAR, chunk.size());
      duckdb::VectorOperations::Cast(*stream_->context, chunk.data[i], text, chunk.size());
      text.Flatten(chunk.size());
      data->texts.push_back(std::move(text));
      data->kinds.push_back(stream_->columns[i].kind);
    }
    return RowBatch(std::move(data));
  });
  if (!batch.has_value() || !batch->has_value()) {
    stream_->result.reset();
  }
  return batch;
}

Status Drain(duckdb::QueryResult& result) {
  while (true) {
    LAKE_TRY(const auto chunk, Fetch(result));
    if (chunk == nullptr || chunk->size() == 0) {
      return {};
    }
  }
}

}  // namespace lake::sql
