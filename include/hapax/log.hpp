// The structured log: lines with a level, a message for people, and fields for programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax {

enum class LogLevel { debug, info, warning, error };

[[nodiscard]] constexpr std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: break;
  }
  return "error";
}

// Names and values, such as {"component", "worker"}. Never a secret and never a payload.
using LogFields = std::vector<std::pair<std::string, std::string>>;

// Called on threads of the library, several at once. It must be quick and must not throw.
using LogFunction = std::function<void(LogLevel level, std::string_view message, const LogFields& fields)>;

}  // namespace hapax
