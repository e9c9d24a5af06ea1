#include "store/encrypted/envelope.hpp"

#include "base/base64.hpp"
#include "model/envelope_mark.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

namespace hapax::store::encrypted {

namespace {

constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;
constexpr std::string_view before_data = R"(","data":")";
constexpr std::string_view after_data = R"("})";

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// Throws for a failure of OpenSSL or of memory, which the data cannot cause.
void require(int code) {
  if (code != 1) { throw Error("InternalError", "OpenSSL refused to encrypt"); }
}

Context new_context() {
  Context context(EVP_CIPHER_CTX_new());
  if (!context) { throw std::bad_alloc(); }
  return context;
}

[[noreturn]] void fail(const std::string& why) { throw DecryptionFailed(why); }

struct Parts {
  std::string_view key;
  std::string_view data;
};

Parts parse_envelope(std::string_view text) {
  text.remove_prefix(model::envelope_mark.size());
  const std::size_t end_of_key = text.find(before_data);
  if (end_of_key == std::string_view::npos || !text.ends_with(after_data)) {
    fail("an encrypted payload is damaged: it is no envelope");
  }
  const std::string_view key = text.substr(0, end_of_key);
  text.remove_prefix(end_of_key + before_data.size());
  if (text.size() < after_data.size()) { fail("an encrypted payload is damaged: it ends too early"); }
  text.remove_suffix(after_data.size());
  return {.key = key, .data = text};
}

}  // namespace

Place& Place::add(std::string_view part) {
  for (int shift = 56; shift >= 0; shift -= 8) { bytes_.push_back(static_cast<char>(part.size() >> shift & 255U)); }
  bytes_.append(part);
  return *this;
}

Place& Place::add(const Uuid& id) {
  return add(std::string_view(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()));
}

bool is_envelope(std::string_view text) { return text.starts_with(model::envelope_mark); }

std::string seal(const Key& key, const Place& place, std::string_view plain) {
  std::string sealed(nonce_bytes + plain.size() + tag_bytes, '\0');
  require(RAND_bytes(bytes_of(sealed), nonce_bytes));
  const Context context = new_context();
  int length = 0;
  require(EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(), bytes_of(sealed)));
  require(EVP_EncryptUpdate(context.get(), nullptr, &length, bytes_of(place.bytes()),
                            static_cast<int>(place.bytes().size())));
  unsigned char* const out = bytes_of(sealed) + nonce_bytes;
  if (!plain.empty()) {
    require(EVP_EncryptUpdate(context.get(), out, &length, bytes_of(plain), static_cast<int>(plain.size())));
  }
  require(EVP_EncryptFinal_ex(context.get(), out + plain.size(), &length));
  require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes, out + plain.size()));
  std::string text(model::envelope_mark);
  text += key.name;
  text += before_data;
  text += base::to_base64(sealed);
  text += after_data;
  return text;
}

std::string open(const KeyRing& keys, const Place& place, std::string_view text) {
  if (!is_envelope(text)) { return std::string(text); }
  const Parts parts = parse_envelope(text);
  const Key* const key = keys.find(parts.key);
  if (key == nullptr) {
    fail("the payload is encrypted with key '" + std::string(parts.key.substr(0, 64)) +
         "', which the key file does not have");
  }
  std::optional<std::string> sealed = base::from_base64(parts.data);
  if (!sealed || sealed->size() < nonce_bytes + tag_bytes) { fail("an encrypted payload is damaged: it is cut short"); }
  const std::size_t size = sealed->size() - nonce_bytes - tag_bytes;
  std::string plain(size, '\0');
  const Context context = new_context();
  int length = 0;
  unsigned char* const begin = bytes_of(*sealed);
  require(EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key->bytes.data(), begin));
  require(EVP_DecryptUpdate(context.get(), nullptr, &length, bytes_of(place.bytes()),
                            static_cast<int>(place.bytes().size())));
  if (size > 0) {
    require(EVP_DecryptUpdate(context.get(), bytes_of(plain), &length, begin + nonce_bytes, static_cast<int>(size)));
  }
  require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, begin + nonce_bytes + size));
  std::array<unsigned char, 16> rest{};
  if (EVP_DecryptFinal_ex(context.get(), rest.data(), &length) != 1) {
    fail("an encrypted payload does not open with key '" + key->name +
         "': it was changed, was moved from another place, or was written with another key of that name");
  }
  return plain;
}

}  // namespace hapax::store::encrypted
