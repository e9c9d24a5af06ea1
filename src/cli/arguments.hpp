// Arguments that several commands share, read in one place.
#pragma once

#include "base/limits.hpp"
#include "cli/backend.hpp"
#include "cli/commands.hpp"
#include "cli/shell.hpp"
#include "model/execution.hpp"
#include "wire/words.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// What a payload flag names: JSON text itself, @FILE, or - for standard input. Throws MissingFile, PayloadTooLarge for
// more than `most`. The JSON is not checked here.
[[nodiscard]] std::string read_payload(const std::string& argument, std::string_view field,
                                       std::size_t most = limits::payload_usual);

// Filters of list, cancel, retry and dlq.
struct Filter {
  std::vector<std::string> statuses;
  std::optional<std::string> queue;
  std::optional<std::string> task;
  std::optional<std::string> tag;
  std::vector<std::string> metadata;  // KEY=VALUE

  [[nodiscard]] bool empty() const { return statuses.empty() && !queue && !task && !tag && metadata.empty(); }
  [[nodiscard]] model::ListQuery query(const Shell& shell) const;
  // After a filter that met nothing: throws NotFound, with the nearest name, when its queue or task is not known at all.
  void require_known(Shell& shell) const;
};
void add_filter(CLI::App& command, Filter& filter, bool with_status = true);

// Ids given one by one, or by a filter: what cancel, retry and the dead-letter commands act on.
struct Selection {
  std::vector<std::string> ids;
  Filter filter;
  bool all = false;
  bool yes = false;
};
void add_selection(CLI::App& command, Selection& selection, bool with_status);

// Pages through what is listed, newest first, until `limit` or `fn`, which is given the documents, returns false.
void each_execution(Backend& backend, Listing listing, std::int64_t limit,
                    const std::function<bool(const std::string& document)>& fn);

// Whether somebody is there to answer.
[[nodiscard]] bool can_ask();
// Asks on a terminal whether to `what` ("cancel 3 executions"). Elsewhere, and with --json, a script is at work, which has
// said what it wants: true.
[[nodiscard]] bool confirmed(const Shell& shell, const std::string& what);

// The ids of a selection. By filter: asks first, as confirmed() does, unless --yes is given. `what` is the verb for the
// question ("cancel"). `adjust` narrows the query to what the verb can act on.
[[nodiscard]] std::vector<Uuid> selected(Shell& shell, const Selection& selection, const std::string& what,
                                         const std::function<void(model::ListQuery&)>& adjust);

}  // namespace hapax::cli
