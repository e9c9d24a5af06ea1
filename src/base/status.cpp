#include <hapax/status.hpp>

#include <array>

namespace hapax {

namespace {

// Indexed by persisted value.
constexpr std::array<std::string_view, 6> names = {"pending", "running",   "completed",
                                                   "failed",  "cancelled", "timed_out"};

}  // namespace

std::string_view to_string(Status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < names.size() ? names[index] : "unknown";
}

std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (names[index] == text) { return static_cast<Status>(index); }
  }
  return std::nullopt;
}

}  // namespace hapax
