// The secret text of a token (SPEC X2): hapax_ and 49 letters and digits.
//
// 43 of them are random, which is over 256 bits; the last six are a checksum over all before, so that a program that looks
// for leaked secrets, and one that was given half a token, can tell one from other text without asking a store. Only the
// SHA-256 of the whole is ever kept: the secret has so much chance in it that nothing slower is needed.
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

struct Secret {
  std::string text;  // shown once, never kept
  base::Digest hash{};
};

[[nodiscard]] Secret new_secret(base::Random& random);

// What the store knows a secret by; nothing for text that cannot be one.
[[nodiscard]] std::optional<base::Digest> hash_of(std::string_view text);

// In a time that does not depend on where they differ.
[[nodiscard]] bool is_same(const base::Digest& one, const base::Digest& other);

}  // namespace hapax::auth
