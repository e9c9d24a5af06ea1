#include "torture/file_ledger.hpp"
#include "torture/roles.hpp"
#include "torture/workflows.hpp"

#include "workflow/interpreter.hpp"

#include <hapax/hapax.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace hapax::torture {
namespace {

constexpr std::array cache_sizes{0, 4, 1000};
// Prefix of base::FaultInjected's message; on_log passes only the message.
constexpr std::string_view injected = "fault injected at ";

// Generates programs from their seeds on first use.
class Programs {
 public:
  std::shared_ptr<const generated::Program> at(std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    auto& program = programs_[seed];
    if (!program) program = generated::generate(seed, program_size);
    return program;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const generated::Program>> programs_;
};

// The store may be busy or unavailable when a child starts.
template <class Fn>
auto patiently(const Fn& fn) {
  for (int left = 300;; --left) {
    try {
      return fn();
    } catch (const StoreUnavailable&) {
      if (left == 0 || told_to_end()) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace

int run_workflow_worker(const Options& options) {
  FileLedger ledger(options.folder, options.number);
  Programs programs;
  const OpenOptions open_options{.on_log = [&](LogLevel, std::string_view what, const LogFields&) {
    what.find(injected) != std::string_view::npos ? ledger.fault() : ledger.trouble();
    std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  }};
  App app = patiently([&] { return open(options.url, open_options); });
  const auto setting = std::make_shared<const generated::Setting>(
      generated::Setting{.ledger = ledger,
                         .find = [&](std::uint64_t seed) { return programs.at(seed); },
                         .tick = std::chrono::milliseconds(5),
                         .forever = std::chrono::hours(1000),
                         .retry = std::chrono::milliseconds(5),
                         .sturdy = true});
  generated::handle_programs(app, setting);
  const WorkerOptions worker_options{
      .queues = {"default", "other"},
      .threads = 2,
      .lease = options.lease,
      .heartbeat = heartbeat,
      .grace = std::chrono::seconds(5),
      .name = "workflow-" + std::to_string(options.number),
      .build = options.number % 2 == 0 ? "" : "odd",
      .workflow_cache = cache_sizes[static_cast<std::size_t>(options.number) % cache_sizes.size()]};
  Worker worker = patiently([&] { return app.work(worker_options); });
  while (!told_to_end()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  worker.stop();
  return 0;
}

}  // namespace hapax::torture
