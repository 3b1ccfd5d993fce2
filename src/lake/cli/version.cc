#include "lake/cli/version.h"

namespace lake::cli {

std::string_view LakeVersion() {
  return LAKE_VERSION;
}

}  // namespace lake::cli
