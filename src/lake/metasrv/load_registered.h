#pragma once

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/catalog/names.h"
#include "lake/catalog/records.h"
#include "lake/engine/table_engine.h"

namespace lake::metasrv {

// Returns the metadata of the version that `registration` names. A registration always names a file that exists (invariant
// I4): a missing file is kCorruption here, never kNotFound. Otherwise as TableEngine::Load; messages name the table.
Result<engine::MetadataPtr> LoadRegistered(engine::TableEngine& engine,
                                           const catalog::TableName& name,
                                           const catalog::Registration& registration,
                                           Deadline deadline);

}  // namespace lake::metasrv
