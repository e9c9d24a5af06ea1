// How an admitting statement compares the catalogues' versions with those that its requests were made by.
#pragma once

#include "model/catalogue_version.hpp"
#include "store/postgres/params.hpp"

#include <string>

namespace hapax::store::postgres {

// The CTE `draining` of an admitting statement: the ids of draining queues, and the id catalogue_changed, which no
// queue has, when a catalogue is newer than its requests. The check reads a table with one row for each namespace in
// the same round trip. The two arrays of add_catalogue_params() are the parameters after `last`.
[[nodiscard]] std::string draining_text(int last);
// The condition under which such a statement inserts.
inline constexpr const char* current_text = " AND NOT EXISTS (SELECT FROM draining WHERE id = 0)";
inline constexpr std::int32_t catalogue_changed = 0;

// Adds two arrays: the namespaces and their versions.
void add_catalogue_params(Params& params, const model::CatalogueVersions& made_by);
[[noreturn]] void throw_catalogue_changed();

}  // namespace hapax::store::postgres
