#include "base/sha256.hpp"

#include <openssl/evp.h>

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
  EVP_MD_CTX* const context = fresh_context();
  for (const std::string_view part : parts) {
    std::array<std::uint8_t, 8> length;
    for (std::size_t index = 0; index < length.size(); ++index) {
      length[index] = static_cast<std::uint8_t>(std::uint64_t{part.size()} >> (56 - 8 * index));
    }
    require(EVP_DigestUpdate(context, length.data(), length.size()));
    require(EVP_DigestUpdate(context, part.data(), part.size()));
  }
  return finish(context);
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

}  // namespace hapax::base
