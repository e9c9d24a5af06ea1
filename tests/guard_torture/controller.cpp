#include "guard_torture/controller.hpp"

#include "store/open.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

namespace hapax::guard_torture {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

// The promise is takeover_after + 1 s. The test fails only above this bound, so that a busy machine alone does not fail
// it.
constexpr Duration takeover_bound = takeover_after + 5s;

// A folder for logs and, without --store, for records. Removed at the end.
class Place {
 public:
  Place() : path_((fs::temp_directory_path() / "hapax-guard-torture.XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) { throw std::runtime_error("no folder for the torture"); }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class Children {
 public:
  Children(std::string program, const Options& options, const Place& place)
      : program_(std::move(program)), options_(options), place_(place) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const pid_t child : std::vector<pid_t>(running_.begin(), running_.end())) { kill(child); }
  }

  // Whether the child is inside its function, according to its last line.
  [[nodiscard]] bool is_inside(pid_t child) const {
    std::ifstream file(log_of_.at(child));
    std::string last;
    for (std::string line; std::getline(file, line);) { last = line; }
    return last.starts_with("began ");
  }

  pid_t start(const std::string& role, std::uint64_t seed) {
    const std::string log = place_.file("log-" + std::to_string(++count_));
    std::vector<std::string> words{program_, "--role", role,     "--store",           options_.store,
                                   "--log",  log,      "--seed", std::to_string(seed)};
    std::vector<char*> arguments;
    for (std::string& word : words) { arguments.push_back(word.data()); }
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::execv("/proc/self/exe", arguments.data());
      ::_exit(127);
    }
    if (child < 0) { throw std::runtime_error("no process can be started"); }
    running_.insert(child);
    logs_.push_back(log);
    log_of_[child] = log;
    return child;
  }

  void kill(pid_t child) {
    ::kill(child, SIGKILL);
    (void)wait(child);
  }
  int wait(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    running_.erase(child);
    return status;
  }
  [[nodiscard]] const std::set<pid_t>& running() const { return running_; }
  [[nodiscard]] const std::vector<std::string>& logs() const { return logs_; }

 private:
  const std::string program_;
  const Options& options_;
  const Place& place_;
  std::set<pid_t> running_;
  std::vector<std::string> logs_;
  std::map<pid_t, std::string> log_of_;
  int count_ = 0;
};

struct Told {
  std::map<std::int64_t, std::set<std::string>> answers;  // answers to callers, by key
  std::set<std::int64_t> keys;                            // all keys ever begun
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::int64_t answered = 0;
  std::int64_t refused = 0;
  std::map<std::string, int> trouble;
};

Told read_logs(const std::vector<std::string>& logs) {
  Told told;
  for (const std::string& log : logs) {
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string what;
      words >> what;
      if (what == "trouble") {
        ++told.trouble[line.substr(0, 120)];
        continue;
      }
      std::int64_t key = 0;
      std::string value;
      if (!(words >> key >> value)) { continue; }
      if (what == "began") { ++told.began; }
      if (what == "began") { told.keys.insert(key); }
      if (what == "ended") { ++told.ended; }
      if (what == "refused") { ++told.refused; }
      if (what == "told") {
        ++told.answered;
        told.answers[key].insert(value);
      }
    }
  }
  return told;
}

// Kills should hit the middle of a call: picks a process inside its function, or any process if none is for 1 s.
pid_t victim(const Children& children, std::mt19937_64& random) {
  std::vector<pid_t> all(children.running().begin(), children.running().end());
  std::shuffle(all.begin(), all.end(), random);
  const auto until = Steady::now() + 1s;
  while (Steady::now() < until) {
    for (const pid_t child : all) {
      if (!children.is_inside(child)) { continue; }
      // Stopped first: on a busy machine the call might end before the kill.
      ::kill(child, SIGSTOP);
      if (children.is_inside(child)) { return child; }
      ::kill(child, SIGCONT);
    }
    std::this_thread::sleep_for(1ms);
  }
  return all.front();
}

// Stops a process inside its call for longer than takeover_after, lets another process take over, and continues the
// first.
std::string play_zombie(Children& children, const Options& options, Log& log, std::uint64_t number) {
  const GuardStorePtr store = open_guard_store(options.store);
  const std::int64_t key = -1 - static_cast<std::int64_t>(number);
  const GuardKey name{"default", "torture", "[" + std::to_string(key) + "]"};
  const pid_t zombie = children.start("sleeper", number);
  const std::string its_log = children.logs().back();
  const auto until = Steady::now() + 20s;
  while (!store->read(name) && Steady::now() < until) { std::this_thread::sleep_for(2ms); }
  // Inside the function, with the heartbeat running.
  std::this_thread::sleep_for(200ms);
  ::kill(zombie, SIGSTOP);
  const auto stopped = Steady::now();
  const auto function = guarded(store, log, 1ms);
  const std::string value = function(key);
  const auto took = Steady::now() - stopped;
  log.line("told " + std::to_string(key) + " " + value);
  ::kill(zombie, SIGCONT);
  (void)children.wait(zombie);
  std::ifstream file(its_log);
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().find("refused ") == std::string::npos) { return "a zombie was not refused: " + text.str(); }
  if (took > takeover_bound) { return "a stopped call was not taken over in time"; }
  if (store->read(name)->result != nlohmann::json(value).dump()) { return "a zombie changed the record"; }
  return {};
}

}  // namespace

int torture(Options options, const std::string& program) {
  const Place place;
  if (options.store.empty()) { options.store = "file:" + place.file("records"); }
  // Creates the schema here, as an operator would, and not in the first call.
  const bool on_postgres = options.store.starts_with("postgres");
  if (on_postgres) { store::migrate(options.store); }
  const std::string shown = on_postgres ? store::display_url(options.store) : options.store;
  std::cout << "guard_torture on " << shown << ", seed " << options.seed << std::endl;
  std::mt19937_64 random(options.seed);
  std::vector<std::string> findings;
  Children children(program, options, place);
  Log own(place.file("log-own"));

  int kills = 0;
  for (; kills < options.kills; ++kills) {
    while (children.running().size() < static_cast<std::size_t>(options.processes)) {
      children.start("caller", random());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 100));
    children.kill(victim(children, random));
  }
  for (const pid_t child : std::vector<pid_t>(children.running().begin(), children.running().end())) {
    children.kill(child);
    ++kills;
  }
  const auto last_kill = Steady::now();
  const Told before = read_logs(children.logs());
  const GuardStorePtr store = open_guard_store(options.store);
  const auto function = guarded(store, own, 1ms);

  // For each record left in progress by a dead process a thread waits, as separate callers would.
  std::vector<std::int64_t> unfinished;
  for (const std::int64_t key : before.keys) {
    const std::optional<GuardRecord> record = store->read({"default", "torture", "[" + std::to_string(key) + "]"});
    if (!record || record->status == GuardStatus::in_progress) { unfinished.push_back(key); }
  }
  std::vector<std::thread> callers;
  std::atomic<int> stuck{0};
  std::atomic<int> problems{0};
  for (const std::int64_t key : unfinished) {
    callers.emplace_back([&, key] {
      try {
        own.line("told " + std::to_string(key) + " " + function(key));
      } catch (const std::exception& error) {
        ++problems;
        own.line(std::string("trouble ") + error.what());
      }
      if (Steady::now() - last_kill > takeover_bound) { ++stuck; }
    });
  }
  for (std::thread& each : callers) { each.join(); }
  if (stuck > 0) { findings.push_back(std::to_string(stuck) + " keys were stuck long after takeover_after"); }
  if (problems > 0) { findings.push_back(std::to_string(problems) + " keys could not be called"); }
  for (const std::int64_t key : before.keys) { own.line("told " + std::to_string(key) + " " + function(key)); }

  for (int zombie = 0; zombie < options.zombies; ++zombie) {
    const std::string finding = play_zombie(children, options, own, static_cast<std::uint64_t>(zombie));
    if (!finding.empty()) { findings.push_back(finding); }
  }

  std::vector<std::string> logs = children.logs();
  logs.push_back(place.file("log-own"));
  const Told told = read_logs(logs);
  int doubled = 0;
  for (const auto& [key, values] : told.answers) { doubled += values.size() > 1 ? 1 : 0; }
  if (doubled > 0) { findings.push_back(std::to_string(doubled) + " keys were answered in two ways"); }
  if (before.began - before.ended < options.kills / 2) { findings.push_back("too few kills hit a call"); }
  if (told.refused < options.zombies) { findings.push_back("fewer refusals than zombies"); }

  std::cout << kills << " kills, " << before.began - before.ended << " of them inside a call; " << told.keys.size()
            << " keys, " << told.answered << " answers, " << told.refused << " refused, " << unfinished.size()
            << " left in progress at the last kill, " << doubled << " doubled, " << stuck << " stuck\n";
  for (const auto& [text, count] : told.trouble) { std::cout << "  " << count << " x " << text << "\n"; }
  for (const std::string& finding : findings) { std::cout << "FINDING: " << finding << "\n"; }
  return findings.empty() ? 0 : 1;
}

}  // namespace hapax::guard_torture
