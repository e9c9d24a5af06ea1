// An encrypted payload as it is stored: a JSON object, so that whatever expects JSON goes on.
//   {"$hapax":"aes-256-gcm","key":"2026a","data":"<base64 of nonce, ciphertext and tag>"}
//
// AES-256-GCM with a random nonce of 96 bits. What the payload belongs to (its field and its row, in a Place) is
// authenticated with it: moved to another place, or changed, it does not open.
#pragma once

#include <hapax/error.hpp>
#include <hapax/uuid.hpp>

#include "store/encrypted/key_ring.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::encrypted {

// What a payload belongs to: a field's name and what tells its row from others.
class Place {
 public:
  explicit Place(std::string_view field) { add(field); }
  Place& add(std::string_view part);
  Place& add(const Uuid& id);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;  // each part behind its length
};

[[nodiscard]] bool is_envelope(std::string_view text);

[[nodiscard]] std::string seal(const Key& key, const Place& place, std::string_view plain);

// Text that is no envelope is given back as it is: it was written before encryption was turned on, or by the store
// itself. Throws DecryptionFailed when the key is not there, or the payload was changed or is another place's.
[[nodiscard]] std::string open(const KeyRing& keys, const Place& place, std::string_view text);

}  // namespace hapax::store::encrypted
