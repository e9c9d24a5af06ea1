#include "cli/retrying.hpp"

#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/terminal.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr std::size_t verdicts_printed = 20;  // the most executions that are printed one by one

}  // namespace

int retry_executions(Shell& shell, std::span<const Uuid> ids, const Retrying& how) {
  std::int64_t retried = 0;
  std::int64_t refused = 0;
  std::vector<std::string> items;
  for (std::size_t at = 0; at < ids.size(); at += limits::list_page) {
    const std::size_t count = std::min<std::size_t>(limits::list_page, ids.size() - at);
    // The backend throws if a single named ID is refused. The last batch of many IDs may hold a single ID and must not
    // throw.
    const Retrying as{.options = how.options, .named = how.named && ids.size() == 1};
    const std::string document = shell.backend().retry(ids.subspan(at, count), as);
    const JsonView view(document);
    retried += view.integer("retried");
    refused += view.integer("refused");
    for (const std::string_view item : view.items("executions")) { items.emplace_back(item); }
  }
  if (shell.json()) {
    JsonObject object;
    object.number("retried", retried).number("refused", refused).raw("executions", json_array(items));
    print(object.str());
  } else {
    for (const std::string& item : items) {
      if (ids.size() > verdicts_printed) { break; }
      const JsonView view(item);
      print(view.text("id") + (view.has("new_id")
                                   ? " → " + view.text("new_id") + " (run " + std::to_string(view.integer("run")) + ")"
                                   : " not retried: " + view.text("verdict")));
    }
    print(plural(retried, "execution") + " retried" + (refused > 0 ? ", " + std::to_string(refused) + " not" : ""));
  }
  return refused > 0 && how.named ? exit_conflict : exit_ok;
}

}  // namespace hapax::cli
