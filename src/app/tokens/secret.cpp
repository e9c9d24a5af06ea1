#include "app/tokens/secret.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdint>

namespace hapax::auth {

namespace {

constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static_assert(digits.size() == 62);

// Uses six random bits at a time and discards the two values that are not digits, so that all digits are equally
// likely.
std::string random_digits(base::Random& random, std::size_t count) {
  std::string text;
  while (text.size() < count) {
    std::uint64_t bits = random.next();
    for (int i = 0; i < 10 && text.size() < count; ++i, bits >>= 6) {
      const auto value = static_cast<std::size_t>(bits & 63U);
      if (value < digits.size()) { text.push_back(digits[value]); }
    }
  }
  return text;
}

std::string check_digits(std::string_view text) {
  const base::Digest digest = base::sha256(text);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) { number = number << 8 | digest[i]; }
  std::string check;
  for (std::size_t i = 0; i < secret_check_digits; ++i, number /= digits.size()) {
    check.push_back(digits[number % digits.size()]);
  }
  return check;
}

}  // namespace

Secret new_secret(base::Random& random) {
  Secret secret;
  secret.text = std::string(secret_prefix) + random_digits(random, secret_random_digits);
  secret.text += check_digits(secret.text);
  secret.hash = base::sha256(secret.text);
  return secret;
}

std::optional<base::Digest> hash_of(std::string_view text) {
  if (text.size() != secret_bytes || !text.starts_with(secret_prefix)) { return std::nullopt; }
  const std::string_view body = text.substr(secret_prefix.size());
  const bool is_plain = std::ranges::all_of(body, [](char c) { return digits.find(c) != std::string_view::npos; });
  if (!is_plain) { return std::nullopt; }
  const std::size_t checked = text.size() - secret_check_digits;
  if (check_digits(text.substr(0, checked)) != text.substr(checked)) { return std::nullopt; }
  return base::sha256(text);
}

bool is_same(const base::Digest& one, const base::Digest& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace hapax::auth
