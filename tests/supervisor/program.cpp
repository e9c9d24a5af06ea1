// A program with worker processes that uses the public API alone; tests/supervisor/supervisor_test.py starts and kills
// it.
//
//   supervised STORE_URL PROCESSES [--lease D] [--grace D] [--patience D] [--threads N] [--restart-after D] [--fail CODE]
//
// Each task is a way to behave. When a task starts, it writes its process's ID to the file that its input names.
#include <hapax/hapax.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// Writes a line with one call, because several processes write.
void say(const std::string& text) {
  const std::string line = text + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void mark(const json& input) {
  if (!input.contains("file")) { return; }
  const std::string path = input.at("file");
  std::ofstream(path + ".part") << getpid() << "\n";
  std::rename((path + ".part").c_str(), path.c_str());
}

// Waits until the test creates the file `gate`.
void wait_for(const std::string& gate) {
  while (access(gate.c_str(), F_OK) != 0) { std::this_thread::sleep_for(5ms); }
}

void add_handlers(hapax::App& app) {
  app.handle_json({.name = "quick", .options = {}}, [](hapax::TaskContext&, const std::string& input) {
    mark(json::parse(input));
    return std::to_string(getpid());
  });
  app.handle_json({.name = "gated", .options = {}}, [](hapax::TaskContext&, const std::string& input) {
    const json parsed = json::parse(input);
    mark(parsed);
    wait_for(parsed.at("gate"));
    return std::to_string(getpid());
  });
  app.handle_json({.name = "crash", .options = {}}, [](hapax::TaskContext&, const std::string& input) -> std::string {
    mark(json::parse(input));
    std::abort();
  });
  // Never checks whether it should stop.
  app.handle_json({.name = "stuck", .options = {}}, [](hapax::TaskContext&, const std::string& input) -> std::string {
    mark(json::parse(input));
    while (true) { std::this_thread::sleep_for(1h); }
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) { return 64; }
  const std::string url = argv[1];
  std::map<std::string, std::string> flags;
  for (int i = 3; i + 1 < argc; i += 2) { flags[argv[i]] = argv[i + 1]; }
  const auto duration = [&flags](const std::string& name, hapax::Duration usual) {
    return flags.contains(name) ? hapax::parse_duration(flags[name], name) : usual;
  };

  hapax::SupervisorOptions options;
  options.processes = std::stoi(argv[2]);
  options.grace = duration("--grace", 10s);
  options.kill_after = duration("--kill-after", 5s);
  options.patience = duration("--patience", 1s);
  options.restart_after = duration("--restart-after", 20ms);
  options.on_log = [](hapax::LogLevel, std::string_view text, const hapax::LogFields&) { say(std::string(text)); };

  const hapax::SupervisorReport report = hapax::supervise(options, [&](hapax::SupervisedProcess& process) {
    if (flags.contains("--fail")) { return std::stoi(flags["--fail"]); }
    hapax::App app = hapax::open(url);
    add_handlers(app);
    hapax::Worker worker = app.work({.threads = flags.contains("--threads") ? std::stoi(flags["--threads"]) : 2,
                                     .lease = duration("--lease", 2s),
                                     .name = "place-" + std::to_string(process.number())});
    say("process " + std::to_string(process.number()) + " works as " + std::to_string(getpid()));
    process.run(worker);
    return 0;
  });
  const hapax::SupervisorCounts& counts = report.counts;
  std::cout << json{{"exit_code", report.exit_code},    {"completed", counts.work.completed},
                    {"failed", counts.work.failed},     {"retried", counts.work.retried},
                    {"released", counts.work.released}, {"cancelled", counts.work.cancelled},
                    {"started", counts.started},        {"restarts", counts.restarts},
                    {"killed", counts.killed}}
                   .dump()
            << std::endl;
  return report.exit_code;
}
