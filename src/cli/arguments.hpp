// Arguments and filters that several commands share.
#pragma once

#include "api/parse_values.hpp"
#include "base/limits.hpp"
#include "cli/backend.hpp"
#include "cli/commands.hpp"
#include "cli/shell.hpp"
#include "model/execution.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// Reads a payload argument: JSON text, @FILE, or - for standard input. Throws MissingFile, and PayloadTooLarge for a
// file or standard input of more than `most` bytes. The JSON is not checked here.
[[nodiscard]] std::string read_payload(const std::string& argument, std::string_view field,
                                       std::size_t most = limits::payload_default);

// The filters of list, cancel, retry and dlq.
struct Filter {
  std::vector<std::string> statuses;
  std::optional<std::string> queue;
  std::optional<std::string> task;
  std::optional<std::string> tag;
  std::vector<std::string> metadata;  // KEY=VALUE

  [[nodiscard]] bool empty() const { return statuses.empty() && !queue && !task && !tag && metadata.empty(); }
  [[nodiscard]] model::ListQuery query(const Shell& shell) const;
  // Call this when the filter matched nothing: throws NotFound, with the nearest name, if the queue or task of the
  // filter does not exist.
  void require_known(Shell& shell) const;
};
void add_filter(CLI::App& command, Filter& filter, bool with_status = true);

// The executions that cancel, retry and the dead-letter commands act on: named by ID, or matched by a filter.
struct Selection {
  std::vector<std::string> ids;
  Filter filter;
  bool all = false;
  bool yes = false;
};
void add_selection(CLI::App& command, Selection& selection, bool with_status);

// Calls `fn` with the document of each listed execution, newest first, until `limit` is reached or `fn` returns false.
// Reads page by page.
void each_execution(Backend& backend, Listing listing, std::int64_t limit,
                    const std::function<bool(const std::string& document)>& fn);

// Whether standard input and standard error are terminals, so that a question can be asked.
[[nodiscard]] bool can_ask();
// Asks on a terminal whether to `what` ("cancel 3 executions"). Without a terminal, and with --json, returns true
// without asking, because the caller is a script.
[[nodiscard]] bool confirmed(const Shell& shell, const std::string& what);

// The IDs of a selection. With a filter, asks first, as confirmed() does, unless --yes is given, and returns no IDs if
// the user declines. `what` is the verb for the question ("cancel"). `adjust` narrows the query to executions that the
// verb can act on.
[[nodiscard]] std::vector<Uuid> selected(Shell& shell, const Selection& selection, const std::string& what,
                                         const std::function<void(model::ListQuery&)>& adjust);

}  // namespace hapax::cli
