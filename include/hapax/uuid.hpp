// Uuid: the 16-byte ID of an execution, a session or a claim. A value, ordered and compared as bytes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hapax {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const Uuid&, const Uuid&) = default;

  [[nodiscard]] bool is_nil() const { return *this == Uuid{}; }

  // Lower-case, with hyphens: "01934f2c-…".
  [[nodiscard]] std::string to_string() const;

  // Reads the hyphenated form in either case. Nothing else is accepted.
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
};

}  // namespace hapax

template <>
struct std::hash<hapax::Uuid> {
  std::size_t operator()(const hapax::Uuid& id) const noexcept {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    std::memcpy(&high, id.bytes.data(), 8);
    std::memcpy(&low, id.bytes.data() + 8, 8);
    return static_cast<std::size_t>(high * 0x9E3779B97F4A7C15ULL ^ low);
  }
};
