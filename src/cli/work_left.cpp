#include "cli/work_left.hpp"

#include <hapax/error.hpp>

#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/arguments.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace hapax::cli {

namespace {

constexpr int pages_most = 10;
constexpr std::size_t kinds_listed = 5;
constexpr Duration look_first = std::chrono::seconds(1);
constexpr Duration look_last = std::chrono::seconds(4);

class Looking {
 public:
  Looking(Backend& backend, const WorkPlan& plan) : backend_(backend), plan_(plan) {}

  WorkLeft run() {
    for (const model::QueueRef& queue : plan_.worker.queues) {
      look(queue.name);
      if (left_.own) { return std::move(left_); }
    }
    describe();
    return std::move(left_);
  }

 private:
  void look(const std::string& queue) {
    Listing listing;
    listing.query.queue = queue;
    listing.query.statuses = {Status::pending, Status::running};
    listing.query.payloads = false;
    listing.query.limit = limits::list_page;
    for (int pages = 0; pages < pages_most; ++pages) {
      const std::vector<std::string> page = backend_.list(listing);
      for (const std::string& document : page) {
        count(JsonView(document));
        if (left_.own) { return; }
      }
      if (std::ssize(page) < listing.query.limit) { return; }
      listing.query.after = parse_id(JsonView(page.back()).text("id"));
    }
    left_.own = true;
  }

  void count(const JsonView& execution) {
    const std::string kind = execution.text("kind");
    const std::string task = execution.text("task");
    const std::vector<std::string>& tasks = plan_.worker.tasks;
    const bool named = tasks.empty() || std::ranges::find(tasks, task) != tasks.end();
    if (kind == "task" && named) {
      left_.own = true;
      return;
    }
    ++left_.others;
    auto& [number, id] = kinds_[kind + " '" + task + "'"];
    ++number;
    id = execution.text("id");
  }

  void describe() {
    std::size_t listed = 0;
    for (const auto& [what, some] : kinds_) {
      if (listed++ == kinds_listed) {
        left_.text += ", and others";
        return;
      }
      const auto& [number, id] = some;
      left_.text += (left_.text.empty() ? "" : ", ") + what +
                    (number == 1 ? " (" : " (" + std::to_string(number) + ", such as ") + id + ")";
    }
  }

  Backend& backend_;
  const WorkPlan& plan_;
  std::map<std::string, std::pair<std::int64_t, std::string>> kinds_;  // by kind and task: the count and the ID of one
  WorkLeft left_;
};

}  // namespace

WorkLeft look_at_left(Backend& backend, const WorkPlan& plan) { return Looking(backend, plan).run(); }

bool wait_for_the_end(const WorkWatch& watch) {
  std::string said;
  Duration look = look_first;
  while (!watch.stopping) {
    if (watch.worker.wait_until_empty(look)) { return true; }
    const engine::WorkerStats stats = watch.worker.stats();
    if (watch.stopping || stats.running + stats.queued > 0) {
      look = look_first;
      continue;
    }
    look = std::min(2 * look, look_last);
    WorkLeft left;
    try {
      left = look_at_left(watch.backend, watch.plan);
    } catch (const StoreUnavailable&) { continue; }  // the worker reports the unavailable store
    if (left.own || left.others == 0) { continue; }
    if (watch.plan.until_idle) { return true; }
    if (left.text == said) { continue; }
    said = left.text;
    watch.remark("waits for what this worker does not run: " + said + "; --until-idle ends without it");
  }
  return false;
}

}  // namespace hapax::cli
