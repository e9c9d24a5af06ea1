// How a statement that admits compares the catalogues with those that its requests were made by.
#pragma once

#include "model/catalogue_version.hpp"
#include "store/postgres/params.hpp"

#include <string>

namespace hapax::store::postgres {

// The expression `draining` of a statement: the queues that take nothing, and catalogue_changed, which is no queue's number,
// when a catalogue is newer than its requests. One look at a table of a row for each namespace, in the same round trip. The
// two arrays of add_catalogue_params are the parameters after `last`.
[[nodiscard]] std::string draining_text(int last);
// The condition under which such a statement inserts.
inline constexpr const char* current_text = " AND NOT EXISTS (SELECT FROM draining WHERE id = 0)";
inline constexpr std::int32_t catalogue_changed = 0;

// The namespaces and the versions.
void add_catalogue_params(Params& params, const model::CatalogueVersions& made_by);
[[noreturn]] void throw_catalogue_changed();

}  // namespace hapax::store::postgres
