#include "guard_torture/caller.hpp"

#include "base/uuid7.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <thread>

namespace hapax::guard_torture {

Log::Log(const std::string& path) : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) { throw std::runtime_error("cannot open " + path); }
}
Log::~Log() { ::close(file_); }

void Log::line(const std::string& text) {
  const std::string whole = text + "\n";
  if (::write(file_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
    throw std::runtime_error("the log cannot be written");
  }
}

Guarded<std::string(std::int64_t)> guarded(const GuardStorePtr& store, Log& log, Duration effect_time) {
  GuardOptions options;
  options.store = store;
  options.takeover_after = takeover_after;
  options.wait_timeout = std::chrono::seconds(30);
  return idempotent("torture", options, [&log, effect_time](std::int64_t key) {
    const std::string value = base::new_uuid7().to_string();
    log.line("began " + std::to_string(key) + " " + value);
    std::this_thread::sleep_for(effect_time);
    log.line("ended " + std::to_string(key) + " " + value);
    return value;
  });
}

namespace {

void call(const Guarded<std::string(std::int64_t)>& function, std::int64_t key, Log& log) {
  try {
    log.line("told " + std::to_string(key) + " " + function(key));
  } catch (const StaleLease&) { log.line("refused " + std::to_string(key) + " -"); } catch (const Error& error) {
    log.line("trouble " + error.name() + " " + error.what());
  }
}

}  // namespace

int call_until_killed(const Options& options) {
  Log log(options.log);
  const auto function = guarded(open_guard_store(options.store), log, std::chrono::milliseconds(30));
  std::mt19937_64 random(options.seed);
  // All processes derive keys from the clock that they share, so that they meet on new keys.
  for (;;) {
    const auto now =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
    call(function, now.count() / 50 + static_cast<std::int64_t>(random() % 16), log);
  }
}

int call_once_slowly(const Options& options) {
  Log log(options.log);
  const auto function = guarded(open_guard_store(options.store), log, std::chrono::seconds(4));
  call(function, -1 - static_cast<std::int64_t>(options.seed), log);
  return 0;
}

}  // namespace hapax::guard_torture
