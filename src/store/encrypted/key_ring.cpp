#include "store/encrypted/key_ring.hpp"

#include <hapax/error.hpp>

#include "base/base64.hpp"
#include "base/secret_file.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace hapax::store::encrypted {

namespace {

constexpr std::size_t name_bytes = 32;

[[noreturn]] void refuse(const std::string& path, int line, const std::string& why) {
  throw ConfigurationError(base::echo(path) + (line > 0 ? ":" + std::to_string(line) : "") + ": " + why);
}

// A name goes into JSON and into messages without escaping.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= name_bytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

Key parse_key(std::string_view line, const std::string& path, int number) {
  const std::size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  if (space == std::string_view::npos || !is_name(name)) {
    refuse(path, number,
           "is no key; expected NAME BASE64, the name of 1 to " + std::to_string(name_bytes) +
               " letters, digits, -, _ and .");
  }
  const std::optional<std::string> bytes = base::from_base64(line.substr(space + 1));
  Key key;
  key.name = name;
  if (!bytes || bytes->size() != key.bytes.size()) {
    refuse(path, number,
           "key '" + key.name +
               "' is none; expected 32 bytes in base64, as `openssl rand -base64 32` "
               "makes them");
  }
  std::ranges::copy(*bytes, key.bytes.begin());
  return key;
}

}  // namespace

std::string Key::check() const {
  const std::string text = "hapax key check " + name + " " + std::string(bytes.begin(), bytes.end());
  return base::to_hex(base::sha256(text)).substr(0, 16);
}

const Key* KeyRing::find(std::string_view name) const {
  const auto found = std::ranges::find(keys_, name, &Key::name);
  return found == keys_.end() ? nullptr : &*found;
}

KeyRing parse_key_ring(std::string_view text, const std::string& path) {
  std::vector<Key> keys;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    number += 1;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) { line.remove_suffix(1); }
    if (line.empty() || line.starts_with('#')) { continue; }
    Key key = parse_key(line, path, number);
    if (std::ranges::find(keys, key.name, &Key::name) != keys.end()) {
      refuse(path, number, "there are two keys named '" + key.name + "'");
    }
    keys.push_back(std::move(key));
  }
  if (keys.empty()) { refuse(path, 0, "has no key; expected a line NAME BASE64"); }
  return KeyRing(std::move(keys));
}

KeyRing read_key_ring(const std::string& path) { return parse_key_ring(base::read_secret_file(path), path); }

}  // namespace hapax::store::encrypted
