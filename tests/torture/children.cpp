#include "torture/children.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

namespace hapax::torture {
namespace {

// A child that a fault stopped is continued after this time, well beyond its lease.
constexpr auto fault_stop = 2 * lease;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Children::Children(const Options& options, std::string url, std::string folder)
    : options_(options), url_(std::move(url)), folder_(std::move(folder)) {}

Children::~Children() {
  for (auto& child : living_) ::kill(child.pid, SIGKILL);
  for (auto& child : living_) ::waitpid(child.pid, nullptr, 0);
}

int Children::start(const StartChild& what) {
  const int number = next_number_++;
  std::vector<std::string> words{"/proc/self/exe",
                                 "--role",
                                 what.role,
                                 "--store",
                                 options_.store,
                                 "--url",
                                 url_,
                                 "--folder",
                                 folder_,
                                 "--number",
                                 std::to_string(number),
                                 "--seed",
                                 std::to_string(options_.seed)};
  words.insert(words.end(), {"--lease-ms", std::to_string(what.lease.count() / 1000)});
  for (const auto& queue : what.queues) {
    words.emplace_back("--queue");
    words.push_back(queue);
  }
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("HAPAX_FAULT=")) environment.emplace_back(*entry);
  }
  if (!what.fault.empty()) environment.push_back("HAPAX_FAULT=" + what.fault);
  auto arguments = pointers(words);
  auto variables = pointers(environment);
  const std::string errors = folder_ + "/" + what.role + "-" + std::to_string(number) + ".err";

  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    // Only async-signal-safe calls between fork and exec, because the controller has threads.
    const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file >= 0) ::dup2(file, STDERR_FILENO);
    ::execve(arguments[0], arguments.data(), variables.data());
    ::_exit(127);
  }
  living_.push_back({.pid = pid, .number = number, .role = what.role, .fault = what.fault});
  return number;
}

Child* Children::find(int number) {
  const auto at = std::ranges::find(living_, number, &Child::number);
  return at == living_.end() ? nullptr : &*at;
}

int Children::count(const std::string& role) const {
  return static_cast<int>(std::ranges::count(living_, role, &Child::role));
}

void Children::kill(Child& child) {
  child.killed = true;
  ::kill(child.pid, SIGKILL);
}

void Children::stop(Child& child, Duration for_how_long) {
  ::kill(child.pid, SIGSTOP);
  child.stopped = true;
  child.continue_at = Ticks::now() + for_how_long;
}

void Children::resume(Child& child) {
  ::kill(child.pid, SIGCONT);
  child.stopped = false;
}

void Children::resume_due(bool all) {
  const auto now = Ticks::now();
  for (auto& child : living_) {
    if (child.stopped && (all || child.continue_at <= now)) resume(child);
  }
}

void Children::terminate(Child& child) {
  ::kill(child.pid, SIGTERM);
  child.asked_to_end = true;
  if (child.stopped) resume(child);
}

std::vector<Ended> Children::reap() {
  std::vector<Ended> ended;
  for (auto& child : living_) {
    int status = 0;
    const pid_t answer = ::waitpid(child.pid, &status, WNOHANG | WUNTRACED);
    if (answer != child.pid) continue;
    if (WIFSTOPPED(status)) {
      if (!child.stopped) {
        child.stopped = true;
        child.continue_at = Ticks::now() + fault_stop;
      }
      continue;
    }
    Ended one;
    one.by_kill = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const bool by_request = child.asked_to_end && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    one.failed = !one.by_kill && !by_request && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    one.how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                  : "exit code " + std::to_string(WEXITSTATUS(status));
    one.child = child;
    ended.push_back(std::move(one));
    child.pid = 0;
  }
  std::erase_if(living_, [](const Child& child) { return child.pid == 0; });
  return ended;
}

std::vector<Ended> Children::wait_for_end(const std::string& role, Duration at_most) {
  std::vector<Ended> all;
  const auto until = Ticks::now() + at_most;
  bool killing = false;
  while (count(role) > 0) {
    for (auto& one : reap()) {
      if (killing) one.failed = true, one.how = "did not end on SIGTERM";
      all.push_back(std::move(one));
    }
    if (!killing && Ticks::now() > until) {
      killing = true;
      for (auto& child : living_) {
        if (child.role == role) kill(child);
      }
    }
    resume_due(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return all;
}

}  // namespace hapax::torture
