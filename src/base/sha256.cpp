#include "base/sha256.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace hapax::base {

namespace {

void require(int done) {
  if (done != 1) { throw std::runtime_error("SHA-256 is not available from OpenSSL"); }
}

// Fetching the algorithm costs more than hashing a short key, so it is done once and never given back.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  require(fetched != nullptr ? 1 : 0);
  return fetched;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

EVP_MD_CTX* fresh_context() {
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  require(context ? 1 : 0);
  require(EVP_DigestInit_ex2(context.get(), algorithm(), nullptr));
  return context.get();
}

Digest finish(EVP_MD_CTX* context) {
  Digest digest;
  require(EVP_DigestFinal_ex(context, digest.data(), nullptr));
  return digest;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  EVP_MD_CTX* const context = fresh_context();
  require(EVP_DigestUpdate(context, bytes.data(), bytes.size()));
  return finish(context);
}

Digest sha256_parts(std::span<const std::string_view> parts) {
  constexpr std::size_t length_bytes = 8;
  // Handing short parts over one by one costs more than hashing them.
  std::array<char, 512> together;
  std::size_t size = 0;
  for (const std::string_view part : parts) { size += length_bytes + part.size(); }
  const bool is_short = size <= together.size();
  EVP_MD_CTX* const context = fresh_context();
  char* at = together.data();
  for (const std::string_view part : parts) {
    std::array<char, length_bytes> length;
    for (std::size_t index = 0; index < length.size(); ++index) {
      length[index] = static_cast<char>(static_cast<std::uint8_t>(std::uint64_t{part.size()} >> (56 - 8 * index)));
    }
    if (is_short) {
      at = std::copy(length.begin(), length.end(), at);
      at = std::copy(part.begin(), part.end(), at);
    } else {
      require(EVP_DigestUpdate(context, length.data(), length.size()));
      require(EVP_DigestUpdate(context, part.data(), part.size()));
    }
  }
  if (is_short) { require(EVP_DigestUpdate(context, together.data(), size)); }
  return finish(context);
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(bytes.size() * 2, '\0');
  char* at = text.data();
  for (const std::uint8_t byte : bytes) {
    *at++ = digits[byte >> 4];
    *at++ = digits[byte & 15];
  }
  return text;
}

}  // namespace hapax::base
