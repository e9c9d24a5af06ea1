#include "base/fault.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace hapax::base {

namespace detail {
std::atomic<bool> faults_armed{false};
}

namespace {

enum class Action : std::uint8_t { kill, stop, throw_error };

struct Fault {
  std::string name;
  Action action = Action::kill;
  std::uint64_t at = 1;  // the pass at which the fault strikes, once
  std::uint64_t passes = 0;
};

struct Plan {
  std::mutex mutex;
  std::vector<Fault> faults;
};

// Never destroyed: threads that outlive main may pass fault points.
Plan& plan() {
  static auto* const only = new Plan;
  return *only;
}

[[noreturn]] void refuse(std::string_view entry) {
  throw InvalidArgument("HAPAX_FAULT", base::quoted(entry) +
                                           " is not a fault; expected name=kill, name=stop or name=throw, with @N for "
                                           "the Nth pass, e.g. finish.committed=kill@17");
}

Fault parse_fault(std::string_view entry) {
  Fault fault;
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) { refuse(entry); }
  fault.name = entry.substr(0, equals);
  std::string_view action = entry.substr(equals + 1);
  if (const std::size_t at = action.find('@'); at != std::string_view::npos) {
    const std::string_view count = action.substr(at + 1);
    const auto [end, problem] = std::from_chars(count.data(), count.data() + count.size(), fault.at);
    if (problem != std::errc() || end != count.data() + count.size() || fault.at == 0) { refuse(entry); }
    action = action.substr(0, at);
  }
  if (action == "kill") {
    fault.action = Action::kill;
  } else if (action == "stop") {
    fault.action = Action::stop;
  } else if (action == "throw") {
    fault.action = Action::throw_error;
  } else {
    refuse(entry);
  }
  return fault;
}

// A misspelt fault ends the process: otherwise the test would pass without the fault.
[[maybe_unused]] const bool armed_from_environment = [] {
  const char* const text = std::getenv("HAPAX_FAULT");
  if (text == nullptr) { return false; }
  try {
    arm_faults(text);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(78);
  }
  return true;
}();

}  // namespace

void arm_faults(const std::string& text) {
  std::vector<Fault> faults;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    faults.push_back(parse_fault(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  const std::lock_guard lock(plan().mutex);
  detail::faults_armed.store(!faults.empty(), std::memory_order_relaxed);
  plan().faults = std::move(faults);
}

void detail::fault_hit(const char* name) {
  std::optional<Action> due;
  {
    const std::lock_guard lock(plan().mutex);
    for (Fault& fault : plan().faults) {
      if (fault.name == name && ++fault.passes == fault.at) { due = fault.action; }
    }
  }
  if (!due) { return; }
  switch (*due) {
    case Action::kill: kill(getpid(), SIGKILL); break;
    case Action::stop: kill(getpid(), SIGSTOP); break;
    case Action::throw_error: throw FaultInjected(name);
  }
}

}  // namespace hapax::base
