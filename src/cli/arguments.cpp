#include "cli/arguments.hpp"

#include "app/find.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/problem.hpp"
#include "cli/short_id.hpp"
#include "cli/terminal.hpp"
#include "model/labels.hpp"
#include "model/validate.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace hapax::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Stops reading once the text is over the limit.
std::string read_all(std::FILE* file, const std::string& name, std::string_view field, std::size_t most) {
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (text.size() <= most) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file);
    text.append(buffer.data(), got);
    if (got < buffer.size()) { break; }
  }
  if (std::ferror(file) != 0) { throw MissingFile("cannot read " + name + ": " + std::strerror(errno)); }
  if (text.size() > most) { throw PayloadTooLarge(std::string(field), text.size(), most); }
  return text;
}

}  // namespace

std::string read_payload(const std::string& argument, std::string_view field, std::size_t most) {
  if (argument == "-") { return read_all(stdin, "standard input", field, most); }
  if (argument.starts_with("@")) {
    const std::string path = argument.substr(1);
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
    if (!file) { throw MissingFile("cannot read " + base::echo(path) + ": " + std::strerror(errno)); }
    return read_all(file.get(), base::echo(path), field, most);
  }
  return argument;
}

void add_filter(CLI::App& command, Filter& filter, bool with_status) {
  if (with_status) {
    command.add_option("--status", filter.statuses, "pending, running, completed, failed, cancelled or timed_out")
        ->type_name("S")
        ->delimiter(',')
        ->allow_extra_args(false);
  }
  command.add_option("--queue", filter.queue, "Only executions of this queue")->type_name("Q");
  command.add_option("--task", filter.task, "Only executions of this task")->type_name("NAME");
  command.add_option("--tag", filter.tag, "Only executions with this tag")->type_name("T");
  command.add_option("--metadata", filter.metadata, "Only with this metadata; if repeated, with all")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

model::ListQuery Filter::query(const Shell& shell) const {
  model::ListQuery query;
  query.namespace_name = shell.namespace_name();
  for (const std::string& text : statuses) { query.statuses.push_back(require_status(text)); }
  const auto checked = [](const std::optional<std::string>& name, std::string_view field) {
    if (name) { model::check_name(*name, field); }
    return name;
  };
  query.queue = checked(queue, "queue");
  query.task = checked(task, "task");
  query.tag = checked(tag, "tag");
  for (const std::string& one : metadata) { query.metadata.push_back(model::parse_metadata_match(one)); }
  model::check_metadata_matches(query.metadata);
  return query;
}

void Filter::require_known(Shell& shell) const {
  Backend& backend = shell.backend();
  if (queue) { (void)backend.queue(*queue); }
  if (!task) { return; }
  const std::vector<std::string> known = backend.known_names().tasks;
  if (std::ranges::find(known, *task) != known.end()) { return; }
  Listing of_task;
  of_task.query.task = task;
  of_task.query.payloads = false;
  of_task.query.limit = 1;
  if (!backend.list(of_task).empty()) { return; }
  throw NotFound("no task '" + *task + "': no catalogue entry, worker or execution names it" +
                 base::did_you_mean(*task, known, '\''));
}

void add_selection(CLI::App& command, Selection& selection, bool with_status) {
  command.add_option("id", selection.ids, "Execution IDs; or use the filters below")->type_name("ID")->expected(0, -1);
  add_filter(command, selection.filter, with_status);
  command.add_flag("--all", selection.all, "All in the namespace, if no filter is given");
  command.add_flag("--yes", selection.yes, "Act without asking for confirmation");
}

void each_execution(Backend& backend, Listing listing, std::int64_t limit,
                    const std::function<bool(const std::string& document)>& fn) {
  std::int64_t left = limit;
  while (left > 0) {
    listing.query.limit = static_cast<int>(std::min<std::int64_t>(left, limits::list_page));
    const std::vector<std::string> page = backend.list(listing);
    for (const std::string& document : page) {
      if (!fn(document)) { return; }
    }
    // A page with payloads may end at limits::list_bytes, so only an empty page is certainly the last.
    const bool is_short = std::ssize(page) < listing.query.limit;
    if (page.empty() || (is_short && !listing.query.payloads)) { return; }
    left -= std::ssize(page);
    listing.query.after = JsonView(page.back()).uuid("id");
  }
}

bool can_ask() { return isatty(STDIN_FILENO) == 1 && error_terminal().is_tty; }

bool confirmed(const Shell& shell, const std::string& what) {
  if (shell.json() || !can_ask()) { return true; }
  std::fprintf(stderr, "This will %s. Go on? [y/N] ", what.c_str());
  std::array<char, 16> answer{};
  if (std::fgets(answer.data(), static_cast<int>(answer.size()), stdin) == nullptr) { return false; }
  return answer[0] == 'y' || answer[0] == 'Y';
}

std::vector<Uuid> selected(Shell& shell, const Selection& selection, const std::string& what,
                           const std::function<void(model::ListQuery&)>& adjust) {
  const bool by_filter = !selection.filter.empty() || selection.all;
  if (by_filter == !selection.ids.empty()) {
    throw BadUsage(by_filter ? "give ids or filters, not both"
                             : "say which: ids, a filter (--queue, --task, --tag, --metadata, --status) or --all");
  }
  if (!by_filter) {
    model::ListQuery acted_on;
    adjust(acted_on);
    const Among among = acted_on.dead_only ? Among::dead_letters : Among::all;
    std::vector<Uuid> ids;
    for (const std::string& text : selection.ids) { ids.push_back(find_id(shell, text, among)); }
    for (const Uuid& id : ids) {
      shell.backend().check(id);  // throws NotFound, also for another namespace's execution
    }
    return ids;
  }
  model::ListQuery query = selection.filter.query(shell);
  query.payloads = false;
  adjust(query);
  std::vector<Uuid> ids;
  each_execution(shell.backend(), {.query = query, .activity = {}}, INT64_MAX, [&ids](const std::string& document) {
    if (const std::optional<Uuid> id = JsonView(document).uuid("id")) { ids.push_back(*id); }
    return true;
  });
  if (ids.empty()) { selection.filter.require_known(shell); }
  if (ids.empty() || selection.yes) { return ids; }
  if (!confirmed(shell, what + " " + std::to_string(ids.size()) + (ids.size() == 1 ? " execution" : " executions"))) {
    ids.clear();
  }
  return ids;
}

}  // namespace hapax::cli
