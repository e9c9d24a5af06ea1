#include "cli/short_id.hpp"

#include <hapax/error.hpp>

#include "api/parse_values.hpp"
#include "base/json_view.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/backend.hpp"
#include "cli/problem.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr std::size_t shown_digits = 12;
constexpr std::size_t whole_length = 36;
// How many executions are searched for the end of an ID, newest first. No index holds ends of IDs.
constexpr std::int64_t looked_through = 100'000;

bool is_end_of_id(std::string_view text) {
  if (text.size() < shown_digits || text.size() >= whole_length) { return false; }
  constexpr std::string_view shape = "00000000-0000-0000-0000-000000000000";
  return std::ranges::equal(text, shape.substr(whole_length - text.size()), [](char letter, char of) {
    return of == '-' ? letter == '-' : (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  });
}

}  // namespace

std::string shown_id(const Uuid& id) {
  const std::string whole = id.to_string();
  return output_terminal().is_tty ? whole.substr(whole.size() - shown_digits) : whole;
}

Uuid find_id(Shell& shell, const std::string& text, Among among) {
  const std::string end = base::lower(text);
  if (!is_end_of_id(end)) { return api::parse_id(text); }
  Listing listing;
  listing.query.namespace_name = shell.namespace_name();
  listing.query.payloads = false;
  listing.query.dead_only = among == Among::dead_letters;
  std::vector<std::string> found;
  each_execution(shell.backend(), std::move(listing), looked_through, [&](const std::string& document) {
    std::string id = base::JsonView(document).text("id");
    if (id.ends_with(end)) { found.push_back(std::move(id)); }
    return found.size() < 2;
  });
  if (found.empty()) {
    const std::string noun = among == Among::dead_letters ? "dead letter" : "execution";
    throw NotFound("no " + noun + " of namespace '" + shell.namespace_name() + "' has an id that ends with '" + end +
                   "', among the newest " + grouped(looked_through) + "; expected such an end or a whole id");
  }
  if (found.size() > 1) {
    throw BadUsage("the ids " + found[0] + " and " + found[1] + " end with '" + end + "'; expected one of them");
  }
  return api::parse_id(found.front());
}

}  // namespace hapax::cli
