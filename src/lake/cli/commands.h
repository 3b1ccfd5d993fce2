#pragma once

#include "lake/cli/command.h"
#include "lake/cli/context.h"
#include "lake/cli/failure.h"

// What each command does.
namespace lake::cli {

// Each runs one command: writes its result to the context's output, or returns why not and what to do about it. A command that
// changes something has changed nothing when it fails, except where the failure says that the outcome is unknown.
Outcome Run(const NamespaceCreate& command, Context& context);
Outcome Run(const NamespaceList& command, Context& context);
Outcome Run(const NamespaceShow& command, Context& context);
Outcome Run(const NamespaceSet& command, Context& context);
Outcome Run(const NamespaceDrop& command, Context& context);
Outcome Run(const TableCreate& command, Context& context);
Outcome Run(const TableList& command, Context& context);
Outcome Run(const TableShow& command, Context& context);
Outcome Run(const TableHistory& command, Context& context);
Outcome Run(const TableRename& command, Context& context);
Outcome Run(const TableSet& command, Context& context);
Outcome Run(const TableRegister& command, Context& context);
Outcome Run(const TableDrop& command, Context& context);
Outcome Run(const TableUndrop& command, Context& context);
Outcome Run(const TableExpire& command, Context& context);
Outcome Run(const TableOrphans& command, Context& context);
Outcome Run(const Append& command, Context& context);
Outcome Run(const Sql& command, Context& context);
Outcome Run(const StatusCommand& command, Context& context);
Outcome Run(const Check& command, Context& context);
Outcome Run(const Maintain& command, Context& context);
Outcome Run(const OperationsList& command, Context& context);
Outcome Run(const OperationsShow& command, Context& context);
Outcome Run(const Version& command, Context& context);
Outcome Run(const Demo& command, Context& context);

}  // namespace lake::cli
