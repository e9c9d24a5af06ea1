#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hapax::base {

// SHA-256 hashes and hex text. Pure functions; any thread.
using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::string_view bytes);

// SHA-256 over the parts, each preceded by its length as eight big-endian bytes, so that ("a","bc") and ("ab","c")
// differ.
[[nodiscard]] Digest sha256_parts(std::span<const std::string_view> parts);

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
// Writes the hex digits to `at`, which has room for two per byte.
void put_hex(std::span<const std::uint8_t> bytes, char* at);

}  // namespace hapax::base
