// The secret text of a token: hapax_ and 49 letters and digits.
//
// 43 of them are random, over 256 bits. The last six are a checksum of all before, so that a scanner for leaked
// secrets, and a program that was given a truncated token, can check a token without asking a store. Only the SHA-256
// of the whole is stored: the secret is random enough that no slower hash is needed.
#pragma once

#include "base/random.hpp"
#include "base/sha256.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::auth {

inline constexpr std::string_view secret_prefix = "hapax_";
inline constexpr std::size_t secret_random_digits = 43;
inline constexpr std::size_t secret_check_digits = 6;
inline constexpr std::size_t secret_bytes = secret_prefix.size() + secret_random_digits + secret_check_digits;

// A new token's secret.
struct Secret {
  std::string text;  // shown once, never stored
  base::Digest hash{};
};

[[nodiscard]] Secret new_secret(base::Random& random);

// The hash under which the store keeps a secret; none for text that cannot be a secret.
[[nodiscard]] std::optional<base::Digest> hash_of(std::string_view text);

// Compares in constant time.
[[nodiscard]] bool is_same(const base::Digest& one, const base::Digest& other);

}  // namespace hapax::auth
