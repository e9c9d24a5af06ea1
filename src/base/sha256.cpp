#include "base/sha256.hpp"

// The direct SHA-256 functions: for a short key, the path through OpenSSL's providers costs as much again as the hash.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace hapax::base {

namespace {

class Sha256 {
 public:
  Sha256() { require(SHA256_Init(&context_)); }
  void add(std::string_view bytes) { require(SHA256_Update(&context_, bytes.data(), bytes.size())); }
  [[nodiscard]] Digest finish() {
    Digest digest;
    require(SHA256_Final(digest.data(), &context_));
    return digest;
  }

 private:
  static void require(int done) {
    if (done != 1) { throw std::runtime_error("SHA-256 is not available from OpenSSL"); }
  }

  SHA256_CTX context_;
};

std::uint64_t big_endian(std::uint64_t number) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

Digest sha256_parts(std::span<const std::string_view> parts) {
  constexpr std::size_t length_bytes = sizeof(std::uint64_t);
  // Joins short parts first: hashing them one by one costs more than the hash itself.
  std::array<char, 512> together;
  std::size_t size = 0;
  for (const std::string_view part : parts) { size += length_bytes + part.size(); }
  const bool is_short = size <= together.size();
  Sha256 hash;
  char* at = together.data();
  for (const std::string_view part : parts) {
    const std::uint64_t length = big_endian(part.size());
    if (is_short) {
      std::memcpy(at, &length, length_bytes);
      at = std::copy(part.begin(), part.end(), at + length_bytes);
    } else {
      hash.add({reinterpret_cast<const char*>(&length), length_bytes});
      hash.add(part);
    }
  }
  if (is_short) { hash.add({together.data(), size}); }
  return hash.finish();
}

void put_hex(std::span<const std::uint8_t> bytes, char* at) {
  static constexpr char digits[] = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) {
    *at++ = digits[byte >> 4];
    *at++ = digits[byte & 15];
  }
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text(bytes.size() * 2, '\0');
  put_hex(bytes, text.data());
  return text;
}

}  // namespace hapax::base
