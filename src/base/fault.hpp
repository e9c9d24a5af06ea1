// Named fault points at which a test makes the process die, stop or lose a reply.
//
// HAPAX_FAULT="name=kill@17,other=throw" in the environment: at the 17th pass of `name` the process kills itself with
// SIGKILL; at the first pass of `other` fault_point throws FaultInjected. Actions: kill, stop (SIGSTOP), throw. An
// unset variable costs one predictable branch per fault point.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

namespace hapax::base {

class FaultInjected : public std::runtime_error {
 public:
  explicit FaultInjected(const std::string& point) : std::runtime_error("fault injected at " + point) {}
};

namespace detail {
extern std::atomic<bool> faults_armed;
void fault_hit(const char* name);
}  // namespace detail

inline void fault_point(const char* name) {
  if (detail::faults_armed.load(std::memory_order_relaxed)) [[unlikely]] { detail::fault_hit(name); }
}

// Arms faults inside this process, for tests: the same text as HAPAX_FAULT. Empty text disarms all.
void arm_faults(const std::string& text);

}  // namespace hapax::base
