#pragma once

#include "cli/shell.hpp"

namespace hapax::cli {

// Prints audit lines, for `hapax audit` and `hapax config audit`. Throws InvalidArgument for a limit out of range.
int show_audit(Shell& shell, const model::AuditQuery& query);

}  // namespace hapax::cli
