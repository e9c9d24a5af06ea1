#include "herd/roles.hpp"
#include "herd/stage.hpp"

#include "torture/roles.hpp"

#include <hapax/app.hpp>
#include <hapax/error.hpp>

#include <atomic>
#include <thread>

namespace hapax::herd {
namespace {

using torture::Event;

constexpr auto patience = std::chrono::seconds(40);

class Asker {
 public:
  explicit Asker(const torture::Options& options)
      : options_(options),
        plan_(read_plan(options.folder)),
        gate_(options.folder),
        log_(options.folder, options.role, options.number),
        app_(hapax::open(options.url)),
        task_(task_of(plan_.at("task"), plan_.at("queue"))) {
    if (const std::string key = plan_.at("key"); !key.empty()) { key_ = key; }
  }

  int run() {
    std::vector<std::jthread> threads;
    const int requests = share();
    for (int index = 0; index < requests; ++index) {
      threads.emplace_back([this, index] { ask_at_the_gate(index); });
    }
    // Requests with other identities in the same batches: an open transaction on the herd's identity must not delay
    // them.
    if (plan_.at("bystanders").get<bool>() && options_.role == "asker") {
      threads.emplace_back([this] { stand_by({}); });
      threads.emplace_back([this] { stand_by("bystander-" + std::to_string(options_.number)); });
    }
    threads.clear();
    return failed_.load() ? 1 : 0;
  }

 private:
  int share() {
    if (options_.role == "winner") return 1;
    const int requests = plan_.at("requests");
    const int processes = plan_.at("processes");
    return requests / processes + (gate_.take() < requests % processes ? 1 : 0);
  }

  bool pass_gate() { return options_.role == "winner" || gate_.wait(); }

  void ask_at_the_gate(int index) {
    try {
      if (!pass_gate()) return;
      const AnyHandle handle = ask(task_, key_, spelled_input(plan_.at("queue"), index));
      if (handle.created()) {
        log_.write(Event::acknowledged, handle.id(), task_.name, "", handle.run());
      } else {
        const auto from = handle.deduplicated_from();
        log_.write(Event::duplicate, handle.id(), from ? from->time_since_epoch().count() : std::int64_t{0});
      }
      if (!plan_.at("results").get<bool>()) return;
      log_.write(Event::observed, handle.id(), "completed", handle.result_json_for(patience));
    } catch (const std::exception& error) {
      failed_.store(true);
      std::fprintf(stderr, "thread %d: %s\n", index, error.what());
    }
  }

  // Repeats a request whose connection was cut before the answer.
  AnyHandle ask(const TaskSpec& task, const std::optional<std::string>& key, const std::string& input) {
    const auto until = torture::Ticks::now() + patience;
    while (true) {
      try {
        if (task.name == workflow_name) return app_.start_json(task, input, {.workflow_id = key.value()});
        return app_.enqueue_json(task, input, {.task_id = key});
      } catch (const StoreUnavailable& error) {
        log_.write(Event::note, error.name());
        if (torture::Ticks::now() > until) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
  }

  void stand_by(const std::optional<std::string>& key) {
    if (!pass_gate()) return;
    try {
      (void)ask({.name = "bystander", .options = {.queue = "bystanders"}}, key, "1");
      log_.write(Event::note, "bystander");
    } catch (const std::exception& error) {
      failed_.store(true);
      std::fprintf(stderr, "bystander: %s\n", error.what());
    }
  }

  const torture::Options& options_;
  nlohmann::json plan_;
  Gate gate_;
  torture::Log log_;
  App app_;
  TaskSpec task_;
  std::optional<std::string> key_;
  std::atomic<bool> failed_{false};
};

}  // namespace

TaskSpec task_of(const std::string& name, const std::string& queue) {
  TaskSpec task{.name = name, .options = {.queue = queue}};
  if (name == "strict") task.options.identity_strategy = IdentityStrategy::strict;
  if (name == "unique") task.options.identity_strategy = IdentityStrategy::always_unique;
  return task;
}

std::string spelled_input(const std::string& order, int spelling) {
  switch (spelling % 3) {
    case 0: return R"({"order":")" + order + R"(","amount":99.5})";
    case 1: return R"({"amount":99.50,"order":")" + order + R"("})";
    default: return R"({ "order" : ")" + order + R"(", "amount" : 9.95e1 })";
  }
}

int run_asker(const torture::Options& options) { return Asker(options).run(); }

}  // namespace hapax::herd
