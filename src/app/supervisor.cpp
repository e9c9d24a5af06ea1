#include "app/supervisor.hpp"

#include <hapax/error.hpp>

#include "app/supervised_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace hapax {

namespace app {

namespace {

constexpr int processes_max = 256;
constexpr Duration look_every = std::chrono::milliseconds(100);

SupervisorOptions complete(SupervisorOptions options) {
  if (options.processes == 0) {
    options.processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  if (options.processes < 1 || options.processes > processes_max) {
    throw InvalidArgument("processes", std::to_string(options.processes) + " is out of range; expected 1 to " +
                                           std::to_string(processes_max));
  }
  const std::array<std::pair<const char*, Duration>, 6> durations = {{{"grace", options.grace},
                                                                      {"kill_after", options.kill_after},
                                                                      {"patience", options.patience},
                                                                      {"restart_after", options.restart_after},
                                                                      {"restart_longest", options.restart_longest},
                                                                      {"good_after", options.good_after}}};
  for (const auto& [name, duration] : durations) {
    if (duration < Duration::zero() || duration > std::chrono::hours(24 * 365)) {
      throw InvalidArgument(name, format_duration(duration) + " is out of range; expected 0 to a year");
    }
  }
  // Without a wait, a process that cannot start would be restarted as fast as the machine can.
  options.restart_after = std::max<Duration>(options.restart_after, std::chrono::milliseconds(10));
  options.restart_longest = std::max(options.restart_longest, options.restart_after);
  return options;
}

void require_one_thread() {
  std::error_code error;
  const auto threads = std::filesystem::directory_iterator("/proc/self/task", error);
  if (error) { return; }  // without /proc the threads cannot be counted
  if (std::distance(begin(threads), end(threads)) > 1) {
    throw UsageError("supervise() forks, so it is called before any thread is started and any store is opened");
  }
}

bool has_terminal() {
  const int terminal = ::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) { close(terminal); }
  return terminal >= 0;
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("was killed by signal ") + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Duration restart_delay(const SupervisorOptions& options, int failures) {
  Duration delay = options.restart_after;
  for (int i = 1; i < failures && delay < options.restart_longest; ++i) { delay *= 2; }
  return std::min(delay, options.restart_longest);
}

Supervisor::Supervisor(const SupervisorOptions& options, const ProcessMain& main)
    : options_(complete(options)),
      main_(main),
      slots_(2 * static_cast<std::size_t>(options_.processes)),
      self_(getpid()),
      had_terminal_(has_terminal()) {
  require_one_thread();
  places_.resize(static_cast<std::size_t>(options_.processes));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].number = static_cast<int>(i) + 1;
    places_[i].start_at = Steady::now();
  }
  sigemptyset(&handled_signals_);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) { sigaddset(&handled_signals_, signal); }
  pthread_sigmask(SIG_BLOCK, &handled_signals_, &mask_before_);
  // If SIGCHLD were ignored, the kernel would discard the exit statuses of ended processes.
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &child_before_);
}

Supervisor::~Supervisor() {
  // Processes are still alive here only after an exception.
  for (const Process* process : alive()) {
    kill(process->pid, SIGKILL);
    waitpid(process->pid, nullptr, 0);
  }
  sigaction(SIGCHLD, &child_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

SupervisorReport Supervisor::run() {
  while (true) {
    reap();
    if (all_gone()) { break; }
    start_due();
    roll();
    kill_due();
    if (options_.on_progress) { options_.on_progress(counts()); }
    const timespec wait{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(look_every).count()};
    const int signal = sigtimedwait(&handled_signals_, nullptr, &wait);
    if (signal > 0) { handle_signal(signal); }
  }
  report_.counts = counts();
  return report_;
}

void Supervisor::handle_signal(int signal) {
  if (signal == SIGHUP && !terminal_is_gone()) {
    if (stops_ > 0) { return; }
    rolling_ = true;
    for (Place& place : places_) { place.roll = place.process.has_value(); }
    trouble("rolling restart of " + std::to_string(alive().size()) + " processes");
  } else if (signal != SIGCHLD) {
    stop(stops_ + 1);
  }
}

// A shell sends SIGHUP when its terminal is closed; that SIGHUP means stop, not restart.
bool Supervisor::terminal_is_gone() const { return had_terminal_ && !has_terminal(); }

void Supervisor::stop(int times) {
  stops_ = times;
  rolling_ = false;
  for (Place& place : places_) {
    place.start_at.reset();
    place.roll = false;
  }
  for (Process* process : alive()) {
    if (times > 2) {
      process->kill_at = Steady::now();
    } else {
      process->asked_to_end = process->asked_to_end && times == 1;  // the second time every process gets SIGTERM again
      ask_to_end(*process);
    }
  }
}

void Supervisor::ask_to_end(Process& process) {
  if (process.asked_to_end) { return; }
  process.asked_to_end = true;
  kill(process.pid, SIGTERM);
  if (!process.kill_at) {
    // The supervisor kills a second later than the process ends itself, because the process leaves a better message.
    process.kill_at = Steady::now() + options_.grace + options_.kill_after + std::chrono::seconds(1);
  }
}

void Supervisor::start_due() {
  const Steady::time_point now = Steady::now();
  for (Place& place : places_) {
    if (place.process || !place.start_at || *place.start_at > now) { continue; }
    place.start_at.reset();
    place.process = start(place, 2 * static_cast<std::size_t>(place.number - 1));
    if (place.process) { continue; }
    const std::string why = std::string("no process can be started: ") + std::strerror(errno);
    if (done_.started == 0) { throw StoreUnavailable(why); }
    start_later(place, why);
  }
}

void Supervisor::start_later(Place& place, const std::string& why) {
  const Duration delay = restart_delay(options_, ++place.failures);
  place.start_at = Steady::now() + delay;
  trouble(why + "; it is started again in " + format_duration(delay) +
          (place.failures > 1 ? " (" + std::to_string(place.failures) + " times in a row)" : ""));
}

std::optional<Supervisor::Process> Supervisor::start(const Place& place, std::size_t slot) {
  slots_[slot].clear();
  // Flushed before the fork, or both processes would write the buffered output.
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t pid = fork();
  if (pid < 0) { return std::nullopt; }
  if (pid == 0) {
    sigaction(SIGCHLD, &child_before_, nullptr);
    // A terminal sends SIGINT to the whole process group, but only the supervisor decides what it means, so it stays
    // blocked here. SIGTERM stays blocked for the guard thread, which waits for it.
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    pthread_sigmask(SIG_UNBLOCK, &children, nullptr);
    run_process(
        {.supervisor = self_, .number = place.number, .options = options_, .main = main_, .slot = slots_[slot]});
  }
  ++done_.started;
  return Process{.pid = pid, .slot = slot, .started = Steady::now(), .kill_at = {}};
}

// Waits for the supervisor's own children only: the caller of supervise() may have others.
void Supervisor::reap() {
  const auto gone = [](const std::optional<Process>& process, int& status) {
    return process && waitpid(process->pid, &status, WNOHANG) == process->pid;
  };
  for (Place& place : places_) {
    int status = 0;
    if (gone(place.replacement, status)) {
      const Process process = *place.replacement;
      place.replacement.reset();
      add_done(done_.work, slots_[process.slot].counts());
      const std::string words = slots_[process.slot].last_words();
      end_roll("the new process " + std::to_string(place.number) + " " + end_text(status) +
               (words.empty() ? "" : ": " + words));
    }
    if (gone(place.process, status)) {
      const Process process = *place.process;
      place.process.reset();
      if (place.replacement) {  // the replacement takes the ended process's place
        place.process = std::exchange(place.replacement, std::nullopt);
        place.roll = false;
      }
      ended(place, process, status);
    }
  }
}

void Supervisor::ended(Place& place, const Process& process, int status) {
  add_done(done_.work, slots_[process.slot].counts());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const std::string words = slots_[process.slot].last_words();
  const std::string who = "process " + std::to_string(place.number) + " (pid " + std::to_string(process.pid) + ") ";
  const std::string what = who + end_text(status) + (words.empty() ? "" : ": " + words);
  if (process.asked_to_end) {
    const bool killed = process.killed || code == exit_of_unended;
    done_.killed += killed ? 1 : 0;
    if (killed || WIFSIGNALED(status)) { trouble(what); }
    return;
  }
  if (WIFEXITED(status) && code == 0) { return; }  // the process has done its work
  if (WIFEXITED(status) && std::ranges::find(options_.fatal_exit_codes, code) != options_.fatal_exit_codes.end()) {
    trouble(what + "; a restart would not help");
    if (report_.exit_code == 0) {
      report_.exit_code = code;
      const std::size_t colon = words.find(": ");
      report_.error = colon == std::string::npos ? "" : words.substr(0, colon);
      report_.reason = colon == std::string::npos ? what : words.substr(colon + 2);
    }
    if (stops_ == 0) { stop(1); }
    return;
  }
  if (stops_ > 0 || place.process) {
    trouble(what);
    return;
  }
  if (Steady::now() - process.started >= options_.good_after) { place.failures = 0; }
  ++done_.restarts;
  start_later(place, what);
}

void Supervisor::end_roll(const std::string& why) {
  if (!std::exchange(rolling_, false)) { return; }
  for (Place& place : places_) { place.roll = false; }
  trouble(why.empty() ? "the rolling restart is done" : "the rolling restart is given up: " + why);
}

// Replaces the process of one place at a time; the next place follows when the old process is gone.
void Supervisor::roll() {
  if (stops_ > 0 || !rolling_) { return; }
  for (Place& place : places_) {
    if (!place.roll && !place.replacement) { continue; }
    if (!place.process) {  // the process died and is restarted anyway
      place.roll = false;
      continue;
    }
    if (!place.replacement) {
      place.replacement = start(place, place.process->slot ^ 1U);
      if (!place.replacement) { end_roll(std::string("no process can be started: ") + std::strerror(errno)); }
    } else if (slots_[place.replacement->slot].ready()) {
      ask_to_end(*place.process);
    }
    return;
  }
  end_roll("");
}

void Supervisor::kill_due() {
  const Steady::time_point now = Steady::now();
  for (Process* process : alive()) {
    if (!process->kill_at || *process->kill_at > now || process->killed) { continue; }
    process->killed = process->asked_to_end = true;
    kill(process->pid, SIGKILL);
  }
}

std::vector<Supervisor::Process*> Supervisor::alive() {
  std::vector<Process*> all;
  for (Place& place : places_) {
    if (place.process) { all.push_back(&*place.process); }
    if (place.replacement) { all.push_back(&*place.replacement); }
  }
  return all;
}

bool Supervisor::all_gone() const {
  return std::ranges::none_of(places_, [](const Place& place) {
    return place.process.has_value() || place.replacement.has_value() || place.start_at.has_value();
  });
}

SupervisorCounts Supervisor::counts() {
  SupervisorCounts counts = done_;
  for (const Process* process : alive()) {
    const WorkerCounts now = slots_[process->slot].counts();
    add_done(counts.work, now);
    counts.work.queued += now.queued;
    counts.work.running += now.running;
    counts.work.store_away = counts.work.store_away || now.store_away;
    ++counts.processes;
  }
  return counts;
}

void Supervisor::trouble(const std::string& text) const {
  if (options_.on_log) { options_.on_log(LogLevel::warning, text, {{"component", "supervisor"}}); }
}

}  // namespace app

SupervisorReport supervise(const SupervisorOptions& options, const ProcessMain& main) {
  return app::Supervisor(options, main).run();
}

}  // namespace hapax
