// The processes that are killed: they call guarded functions and log what they did and the answers they got.
//
// Each line is one write to a file opened for appending, so everything before a kill is on record:
//   began KEY VALUE      inside the function, before its effect
//   ended KEY VALUE      at the function's end
//   told KEY VALUE       the call's answer
//   refused KEY VALUE    the call was taken over (StaleLease)
//   trouble TEXT         any other exception
#pragma once

#include <hapax/guard.hpp>

#include <cstdint>
#include <string>

namespace hapax::guard_torture {

inline constexpr Duration takeover_after = std::chrono::seconds(1);

struct Options {
  std::string store{};
  int kills = 200;
  int zombies = 4;
  int processes = 4;
  std::uint64_t seed = 0;
  std::string role{};  // children only
  std::string log{};
};

class Log {
 public:
  explicit Log(const std::string& path);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();
  void line(const std::string& text);

 private:
  int file_;
};

// The guarded function: its effect takes `effect_time`, and each run has a value of its own.
[[nodiscard]] Guarded<std::string(std::int64_t)> guarded(const GuardStorePtr& store, Log& log, Duration effect_time);

int call_until_killed(const Options& options);
// One call of key -1 that lasts until the process has been stopped and continued.
int call_once_slowly(const Options& options);

}  // namespace hapax::guard_torture
