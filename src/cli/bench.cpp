#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "engine/engine.hpp"
#include "engine/worker.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace hapax::cli {
namespace {

constexpr const char* bench_examples =
    "Measures this machine and store quickly; the figures are not for comparisons.\n"
    "Measures single enqueues by several producers (each acknowledged after its\n"
    "commit), bulk enqueue, and one worker that drains the queue with an empty\n"
    "handler. The command uses a queue of its own, named bench-…, which keeps\n"
    "nothing.\n"
    "\n"
    "Example:\n"
    "  hapax bench --count 20000 --store sqlite:/var/tmp/bench.db --json";

struct BenchOptions {
  std::int64_t count = 10'000;
  int producers = 8;
  int threads = 0;
};

struct Figure {
  std::string name;
  std::int64_t count = 0;
  std::chrono::duration<double> took{};
};

using Steady = std::chrono::steady_clock;

class Bench {
 public:
  Bench(Shell& shell, const BenchOptions& options)
      : options_(options),
        engine_(std::make_shared<engine::Engine>(shell.shared_store())),
        queue_(shell.queue("bench-" + base::new_uuid7().to_string())) {
    shell.store().configure_queue(queue_,
                                  {.retention = Duration(0), .failed_retention = std::optional<Duration>(Duration(0))});
  }

  std::vector<Figure> run(ProgressLine& progress) {
    progress.show("enqueueing one by one …");
    std::vector<Figure> figures = {timed("enqueue", options_.count, [this] { enqueue_singly(); })};
    progress.show("enqueueing in bulk …");
    figures.push_back(timed("bulk enqueue", options_.count, [this] { enqueue_bulk(); }));
    progress.show("draining …");
    figures.push_back(timed("drain", 2 * options_.count, [this] { drain(); }));
    return figures;
  }

 private:
  template <class Function>
  static Figure timed(std::string name, std::int64_t count, Function work) {
    const Steady::time_point begun = Steady::now();
    work();
    return {std::move(name), count, Steady::now() - begun};
  }

  [[nodiscard]] model::NewExecution request() const {
    model::NewExecution made;
    made.id = base::new_uuid7();
    made.queue = queue_;
    made.task = "bench";
    made.input = R"({"order":456,"total":99.99})";
    return made;
  }

  void enqueue_singly() {
    std::atomic<std::int64_t> left{options_.count};
    std::exception_ptr trouble;
    std::mutex mutex;
    std::vector<std::jthread> producers;
    for (int i = 0; i < options_.producers; ++i) {
      producers.emplace_back([&] {
        try {
          while (left.fetch_sub(1) > 0) { (void)engine_->admit(request()); }
        } catch (...) {
          const std::lock_guard lock(mutex);
          trouble = std::current_exception();
          left = 0;
        }
      });
    }
    producers.clear();
    if (trouble) { std::rethrow_exception(trouble); }
  }

  void enqueue_bulk() {
    for (std::int64_t left = options_.count; left > 0;) {
      std::vector<model::NewExecution> batch(
          static_cast<std::size_t>(std::min<std::int64_t>(left, limits::bulk_batch)));
      std::generate(batch.begin(), batch.end(), [this] { return request(); });
      left -= static_cast<std::int64_t>(batch.size());
      (void)engine_->admit_bulk(batch);
    }
  }

  void drain() {
    engine::WorkerOptions settings;
    settings.queues = {queue_};
    settings.threads = options_.threads;
    settings.name = "bench";
    engine::Worker worker(engine_, settings, [](engine::Run&) { return engine::Ending::completed("null"); });
    (void)worker.wait_until_empty();
    worker.stop();
  }

  const BenchOptions& options_;
  std::shared_ptr<engine::Engine> engine_;
  model::QueueRef queue_;
};

int run_bench(Shell& shell, const BenchOptions& options) {
  if (options.count < 1 || options.count > 10'000'000) {
    throw InvalidArgument("count", std::to_string(options.count) + " is out of range; expected 1 to 10000000");
  }
  if (options.producers < 1 || options.producers > 256 || options.threads < 0 || options.threads > 256) {
    throw InvalidArgument("producers", "or threads is out of range; expected 1 to 256");
  }
  std::vector<Figure> figures;
  {
    ProgressLine progress(shell);
    figures = Bench(shell, options).run(progress);
  }
  const store::StoreInfo info = shell.store().info();
  Table table({{.title = "WHAT"},
               {.title = "EXECUTIONS", .numeric = true},
               {.title = "SECONDS", .numeric = true},
               {.title = "RATE", .numeric = true}});
  std::vector<std::string> items;
  for (const Figure& figure : figures) {
    const double rate = static_cast<double>(figure.count) / std::max(figure.took.count(), 1e-9);
    JsonObject item;
    item.text("name", figure.name).number("executions", figure.count).number("seconds", figure.took.count());
    items.push_back(item.number("per_second", rate).str());
    table.add({figure.name, grouped(figure.count), std::to_string(figure.took.count()).substr(0, 6),
               grouped(static_cast<std::int64_t>(rate)) + "/s"});
  }
  if (shell.json()) {
    JsonObject object;
    object.text("benchmark", "built-in, this machine only").text("backend", info.backend).text("version", info.version);
    print(object.raw("figures", json_array(items)).str());
  } else {
    print("built-in benchmark on " + info.backend + " " + info.version + ", " + std::to_string(options.producers) +
          " producers");
    table.print("");
  }
  return exit_ok;
}

}  // namespace

void add_bench(Commands& commands) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App& command = commands.add({"bench", "Measure this machine and store quickly", bench_examples});
  command.add_option("--count", options->count, "Executions per measurement")->type_name("N")->capture_default_str();
  command.add_option("--producers", options->producers, "Threads that enqueue")->type_name("N")->capture_default_str();
  command.add_option("--threads", options->threads, "Worker threads (default: the machine's cores)")->type_name("N");
  commands.run_with(command, [options](Shell& shell) { return run_bench(shell, *options); });
}

}  // namespace hapax::cli
