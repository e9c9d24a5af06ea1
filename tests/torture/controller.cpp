#include "torture/controller.hpp"

#include "torture/faults.hpp"
#include "torture/plan.hpp"
#include "torture/roles.hpp"
#include "torture/self_test.hpp"

#include <hapax/error.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace hapax::torture {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

Controller::Controller(const Options& options)
    : options_(options), place_(make_place(options.store, "torture")), random_(options.seed) {
  store_ = store::open(place_.url, {.migrate = store::Migrate::yes});
  writes_ = own_writes(*store_, place_.url);
  writes_->make_tables();
  children_ = std::make_unique<Children>(options_, place_.url, place_.folder);
}

Controller::~Controller() = default;

int Controller::run() {
  std::printf("torture on %s: %d kills, seed %llu, folder %s\n", options_.store.c_str(), options_.kills,
              static_cast<unsigned long long>(options_.seed), place_.folder.c_str());
  std::fflush(stdout);
  check_the_checker(place_.folder);
  chaos();
  settle();
  scenes();
  check_at_the_end(
      {.store = *store_, .writes = *writes_, .folder = place_.folder, .schema_prefix = place_.schema_prefix},
      findings_);
  findings_.count("kills", kills_);
  if (kills_ < options_.kills) findings_.violation("too few kills", std::to_string(kills_) + " in the time given");
  findings_.print();
  const auto second = findings_.violations("second outcome") + findings_.violations("two rows");
  std::printf(
      "%s: kills %d, acknowledged %lld, lost %lld, second outcomes %lld, not terminal %lld, stale refused %lld, "
      "seed %llu, %lld s\n",
      findings_.violations() == 0 ? "PASSED" : "FAILED", kills_,
      static_cast<long long>(findings_.counted("acknowledged")),
      static_cast<long long>(findings_.violations("acknowledged enqueue lost")), static_cast<long long>(second),
      static_cast<long long>(findings_.violations("not terminal")),
      static_cast<long long>(findings_.counted("stale outcomes refused")),
      static_cast<unsigned long long>(options_.seed),
      static_cast<long long>(std::chrono::duration_cast<seconds>(Ticks::now() - begun_).count()));
  const bool passed = findings_.violations() == 0;
  store_.reset();
  if (passed && !options_.keep) std::filesystem::remove_all(place_.folder);
  if (!passed) std::printf("logs and store are kept in %s\n", place_.folder.c_str());
  return passed ? 0 : 1;
}

void Controller::chaos() {
  const auto until = Ticks::now() + seconds(options_.seconds);
  auto next_hurt = Ticks::now() + seconds(1);
  auto next_restart = Ticks::now() + seconds(4);
  while (kills_ < options_.kills && Ticks::now() < until) {
    note_ended(children_->reap());
    keep_up_numbers(true);
    children_->resume_due(false);
    if (Ticks::now() >= next_hurt) {
      hurt_somebody();
      next_hurt = Ticks::now() + milliseconds(20 + below(random_, 280));
    }
    if (place_.server && Ticks::now() >= next_restart) {
      restart_server();
      next_restart = Ticks::now() + seconds(6 + below(random_, 15));
    }
    look();
    progress("hurting", false);
    std::this_thread::sleep_for(milliseconds(5));
  }
}

void Controller::hurt_somebody() {
  const int draw = below(random_, 100);
  if (place_.server && draw < 8) {
    try {
      findings_.count("backends terminated", place_.server->terminate_backends(1 + below(random_, 4)));
    } catch (const std::exception&) { findings_.count("server away when asked"); }
    return;
  }
  const auto candidates = those(draw < 75 ? "worker" : "producer");
  if (candidates.empty()) return;
  Child& child = *candidates[static_cast<std::size_t>(below(random_, static_cast<int>(candidates.size())))];
  // Three in four stopped children are spared, so that they come back as zombies.
  if (child.stopped && !one_in(random_, 4)) return;
  if (draw >= 55 && draw < 75) {
    if (child.stopped) return;
    children_->stop(child, lease + milliseconds(100 + below(random_, 1500)));
    findings_.count("stopped beyond the lease");
    return;
  }
  children_->kill(child);
}

void Controller::restart_server() {
  place_.server->stop_immediately();
  std::this_thread::sleep_for(milliseconds(below(random_, 400)));
  place_.server->start();
  findings_.count("server stopped and started");
}

// A dead child is replaced by a new one of its role; one in three has a crash point armed.
void Controller::keep_up_numbers(bool with_faults) {
  const auto keep = [&](const std::string& role, int wanted) {
    while (children_->count(role) < wanted) {
      const bool armed = with_faults && one_in(random_, 3);
      children_->start({.role = role,
                        .fault = armed ? random_fault(random_, options_.store, role) : "",
                        .queues = role.ends_with("worker") ? chaos_queues() : std::vector<std::string>{}});
    }
  };
  const int engine_workers = options_.raw ? 0 : options_.workers / 2;
  keep("engine-worker", engine_workers);
  keep("worker", options_.workers - engine_workers);
  if (!with_faults) return;
  const int engine_producers = options_.raw ? 0 : options_.producers / 2;
  keep("engine-producer", engine_producers);
  keep("producer", options_.producers - engine_producers);
}

void Controller::settle() {
  tell_to_be_quiet(place_.folder);
  for (const std::string role : {"producer", "engine-producer"}) end_children(role);
  children_->resume_due(true);
  const bool idle = wait_until(seconds(120), [&] {
    keep_up_numbers(false);
    progress("settling", false);
    return is_idle(chaos_queues());
  });
  if (!idle) findings_.violation("does not settle", "work is left after 120 s");
  for (const std::string role : {"worker", "engine-worker"}) end_children(role);
  // Sessions of killed children end when their lease runs out.
  (void)wait_until(seconds(10), [&] {
    (void)store_->sweep({});
    return store_->sessions().empty();
  });
  progress("settled", true);
}

void Controller::end_children(const std::string& role) {
  for (auto& child : children_->living()) {
    if (child.role == role) children_->terminate(child);
  }
  note_ended(children_->wait_for_end(role, seconds(20)));
}

void Controller::note_ended(const std::vector<Ended>& ended) {
  for (const auto& one : ended) {
    if (one.by_kill && !one.failed) {
      ++kills_;
      findings_.count(one.child.killed                                     ? "killed by the controller"
                      : one.child.fault.find("=kill") != std::string::npos ? "killed at a crash point or by a handler"
                                                                           : "killed by a handler");
    }
    if (!one.failed) continue;
    const std::string name = one.child.role + "-" + std::to_string(one.child.number);
    findings_.violation("a child failed", name + " " + one.how + " (" + one.child.fault + ") " +
                                              first_lines(place_.folder + "/" + name + ".err"));
  }
}

std::vector<Child*> Controller::those(const std::string& role_ending) {
  std::vector<Child*> result;
  for (auto& child : children_->living()) {
    if (child.role.ends_with(role_ending)) result.push_back(&child);
  }
  return result;
}

void Controller::look() {
  if (Ticks::now() - last_look_ < milliseconds(700)) return;
  last_look_ = Ticks::now();
  try {
    check_while_running(*store_, place_.schema_prefix, findings_);
  } catch (const StoreUnavailable&) { findings_.count("server away when asked"); }
}

void Controller::progress(const char* phase, bool now) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (!now && Ticks::now() - last_progress_ < (terminal ? Duration(milliseconds(500)) : Duration(seconds(5)))) return;
  last_progress_ = Ticks::now();
  std::int64_t left = -1;
  try {
    left = 0;
    for (const auto& queue : store_->queues("default")) left += queue.ready + queue.delayed + queue.running;
  } catch (const StoreUnavailable&) { left = -1; }
  std::printf("%s%-9s %4lld s, kills %d of %d, live %lld%s", terminal ? "\r" : "", phase,
              static_cast<long long>(std::chrono::duration_cast<seconds>(Ticks::now() - begun_).count()), kills_,
              options_.kills, static_cast<long long>(left), terminal && !now ? "   " : "\n");
  std::fflush(stdout);
}

}  // namespace hapax::torture
