// The herd: many processes send the same requests, and the controller checks the outcome. Without --role the program is
// the controller; options.cpp describes the command line.
#include "herd/linear.hpp"
#include "herd/options.hpp"
#include "herd/roles.hpp"
#include "herd/scenes.hpp"
#include "herd/timeline.hpp"

#include "torture/roles.hpp"

#include <cstdio>
#include <cstring>
#include <exception>

namespace hapax::herd {
namespace {

using std::chrono::seconds;

int or_else(int value, int otherwise) { return value > 0 ? value : otherwise; }

int run_role(int argc, char** argv) {
  const torture::Options options = torture::parse_options(argc, argv);
  torture::prepare_child();
  if (options.role == "asker" || options.role == "winner") return run_asker(options);
  if (options.role == "holder") return run_holder(options);
  if (options.role == "worker") return run_worker(options);
  if (options.role == "player") return run_player(options);
  if (options.role == "claimer") return run_claimer(options);
  if (options.role.starts_with("build-")) return run_build(options);
  if (options.role == "ticker") return run_ticker(options);
  if (options.role == "sender") return run_sender(options);
  if (options.role == "feeder") return run_feeder(options);
  std::fprintf(stderr, "herd: unknown role %s\n", options.role.c_str());
  return 64;
}

void play(Stage& stage) {
  const Options& options = stage.options();
  const bool all = options.mode == "all";
  const bool of_fifty_too = all && options.requests != 50;
  if (of_fifty_too) thundering(stage, 50, or_else(options.processes, 8));
  if (all || options.mode == "thundering") thundering(stage, options.requests, or_else(options.processes, 8));
  if (all || options.mode == "starts") starts(stage, or_else(options.processes, 50));
  if (all || options.mode == "history") {
    history(stage, {.keys = options.keys, .processes = or_else(options.processes, 4)});
  }
  if (all || options.mode == "deploy") deploy(stage);
  if (all || options.mode == "tickers") {
    TickersSize size{.processes = or_else(options.processes, 8)};
    if (options.slice) size = {.processes = 4, .activities = 25, .how_long = seconds(6)};
    tickers(stage, size);
  }
  if (all || options.mode == "events") events(stage, options.slice ? 10'000 : 100'000, or_else(options.processes, 8));
  if (all || options.mode == "limits") limits(stage, seconds(or_else(options.seconds, 15)));
}

int run(const Options& options) {
  check_the_history_checker();
  check_the_timeline_checker();
  const auto begun = torture::Ticks::now();
  std::printf("herd %s on %s, seed %llu\n", options.mode.c_str(), options.store.c_str(),
              static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  Stage stage(options);
  play(stage);
  stage.findings().print();
  const bool passed = stage.findings().violations() == 0;
  stage.close();
  std::printf("%s: herd %s on %s, seed %llu, %lld s\n", passed ? "PASSED" : "FAILED", options.mode.c_str(),
              options.store.c_str(), static_cast<unsigned long long>(options.seed),
              static_cast<long long>(std::chrono::duration_cast<seconds>(torture::Ticks::now() - begun).count()));
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace hapax::herd

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], "--role") == 0) return hapax::herd::run_role(argc, argv);
    return hapax::herd::run(hapax::herd::parse_options(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "herd: %s\n", error.what());
    return 1;
  }
}
