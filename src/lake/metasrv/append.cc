#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lake/catalog/publications.h"
#include "lake/metasrv/metasrv.h"

namespace lake::metasrv {
namespace {

RequestStatement StatementOf(const AppendRequest& request) {
  return {.kind = catalog::OperationKind::kAppend,
          .names = {request.name.ToString()},
          .content = request.content};
}

}  // namespace

Result<std::optional<TableResult>> Metasrv::FindAppend(const AppendRequest& request,
                                                       const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(Change change, Begin(StatementOf(request), options));
  LAKE_TRY(std::optional<TableResult> earlier, operations_.Replay(change, request.name));
  if (earlier.has_value()) {
    return earlier;
  }
  LAKE_TRY(const std::optional<catalog::PendingOperation> pending, reader_.ReadPending(change.id));
  if (!pending.has_value()) {
    return std::nullopt;
  }
  // In the table's turn: if this process is doing it, it has ended by then.
  const std::string turn = TableTurn(pending->record.tables.front().incarnation);
  const auto settled = std::make_shared<std::optional<TableResult>>();
  settler_.Note(*pending);
  LAKE_TRY_VOID(WithoutFalseCertainty(
      change.id, RunInTurn(turn, options.deadline,
                           [this, settled, change, name = request.name]() -> Result<TableResult> {
                             LAKE_TRY(*settled, FindEarlier(change, name));
                             return TableResult{};
                           })));
  return *settled;
}

Result<TableResult> Metasrv::Append(const AppendRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(const Change change, Begin(StatementOf(request), options));
  return WithoutFalseCertainty(change.id, appends_.Append(request, change, options.deadline));
}

}  // namespace lake::metasrv
