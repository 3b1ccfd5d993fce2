#include <fmt/format.h>

#include "lake/cli/commands.h"
#include "lake/cli/print_internal.h"
#include "lake/cli/version.h"
#include "lake/server/data_dir.h"

namespace lake::cli {

Outcome Run(const Version& /*command*/, Context& context) {
  if (context.options.json) {
    LAKE_TRY_VOID(PrintJson(
        context.out, {{"version", LakeVersion()}, {"data_dir_format", server::kDataDirFormat}}));
    return {};
  }
  LAKE_TRY_VOID(context.out.Write(
      fmt::format("lake {} (data directory format {})\n", LakeVersion(), server::kDataDirFormat)));
  return {};
}

}  // namespace lake::cli
