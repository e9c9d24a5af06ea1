// The audit: a line for each change of settings, written in the transaction that makes it.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/statement.hpp"

namespace hapax::store::postgres {

[[nodiscard]] Call audit_call(const model::AuditLine& line, std::int64_t offset_us);

}  // namespace hapax::store::postgres
