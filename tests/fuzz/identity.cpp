// Identities are equal exactly when their parts are, wherever the borders between the parts lie; a value has one
// canonical form and fingerprint, however it is spelt.
#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/utf8.hpp"
#include "model/identity.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

using hapax::model::identity_hash;
using hapax::model::IdentityParts;
using hapax::model::Scope;
using nlohmann::json;

void require(bool holds) {
  if (!holds) { std::abort(); }
}

// Decisions taken from the first bytes of the input.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : engine_(static_cast<std::minstd_rand::result_type>(seed ^ (seed >> 32))) {}

  std::size_t below(std::size_t count) { return engine_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  std::minstd_rand& engine() { return engine_; }

 private:
  std::minstd_rand engine_;
};

IdentityParts cut(std::string_view text, Choices& choices) {
  std::array<std::size_t, 2> borders = {choices.below(text.size() + 1), choices.below(text.size() + 1)};
  std::sort(borders.begin(), borders.end());
  return {.namespace_name = text.substr(0, borders[0]),
          .scope = static_cast<Scope>(choices.below(3)),
          .name = text.substr(borders[0], borders[1] - borders[0]),
          .key = text.substr(borders[1])};
}

// In the global scope the name is not part of an identity.
bool same(const IdentityParts& a, const IdentityParts& b) {
  return a.namespace_name == b.namespace_name && a.scope == b.scope && (a.scope == Scope::global || a.name == b.name) &&
         a.key == b.key;
}

void check_parts(std::string_view text, Choices& choices) {
  const IdentityParts one = cut(text, choices);
  const IdentityParts other = cut(text, choices);
  require((identity_hash(one) == identity_hash(other)) == same(one, other));
  const std::string copied(one.key);
  require(identity_hash({one.namespace_name, one.scope, one.name, copied}) == identity_hash(one));
}

// Writes a value in one of many equivalent ways: members in any order, white space, escapes, numbers.
class Speller {
 public:
  explicit Speller(Choices& choices) : choices_(choices) {}

  std::string spell(const json& value) {
    write(value);
    return std::move(out_);
  }

 private:
  void space() {
    while (choices_.one_in(3)) { out_.push_back(" \t\r\n"[choices_.below(4)]); }
  }

  void write(const json& value) {
    space();
    switch (value.type()) {
      case json::value_t::object: object(value); break;
      case json::value_t::array: array(value); break;
      case json::value_t::string: string(value.get_ref<const std::string&>()); break;
      case json::value_t::number_float: real(value.get<double>()); break;
      case json::value_t::number_integer:
      case json::value_t::number_unsigned: whole(value); break;
      default: out_ += value.dump();
    }
    space();
  }

  void object(const json& value) {
    std::vector<json::const_iterator> members;
    for (auto at = value.begin(); at != value.end(); ++at) { members.push_back(at); }
    std::shuffle(members.begin(), members.end(), choices_.engine());
    out_.push_back('{');
    for (std::size_t index = 0; index < members.size(); ++index) {
      if (index > 0) { out_.push_back(','); }
      space();
      string(members[index].key());
      space();
      out_.push_back(':');
      write(members[index].value());
    }
    if (members.empty()) { space(); }
    out_.push_back('}');
  }

  void array(const json& value) {
    out_.push_back('[');
    for (std::size_t index = 0; index < value.size(); ++index) {
      if (index > 0) { out_.push_back(','); }
      write(value[index]);
    }
    if (value.empty()) { space(); }
    out_.push_back(']');
  }

  void string(std::string_view text) {
    out_.push_back('"');
    while (!text.empty()) {
      const std::size_t length = hapax::base::utf8_sequence_length(text.data(), text.data() + text.size());
      require(length > 0);
      character(text.substr(0, length));
      text.remove_prefix(length);
    }
    out_.push_back('"');
  }

  void character(std::string_view bytes) {
    static constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    static constexpr std::string_view letters = "\"\\/bfnrt";
    const std::size_t found = bytes.size() == 1 ? meant.find(bytes.front()) : std::string_view::npos;
    const bool may_be_raw = static_cast<std::uint8_t>(bytes.front()) >= 0x20 && bytes != "\"" && bytes != "\\";
    if (may_be_raw && !choices_.one_in(3)) {
      out_ += bytes;
    } else if (found != std::string_view::npos && !choices_.one_in(3)) {
      out_.push_back('\\');
      out_.push_back(letters[found]);
    } else if (const std::uint32_t point = code_point(bytes); point < 0x10000) {
      code_unit(point);
    } else {
      code_unit(0xD800 + ((point - 0x10000) >> 10));
      code_unit(0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }

  static std::uint32_t code_point(std::string_view bytes) {
    const auto lead = static_cast<std::uint8_t>(bytes.front());
    std::uint32_t point = bytes.size() == 1 ? lead : lead & (0x7FU >> bytes.size());
    for (const char byte : bytes.substr(1)) { point = point << 6 | (static_cast<std::uint8_t>(byte) & 0x3F); }
    return point;
  }

  void code_unit(std::uint32_t unit) { print(choices_.one_in(2) ? "\\u%04x" : "\\u%04X", unit); }

  void real(double number) {
    switch (choices_.below(4)) {
      case 0: out_ += json(number).dump(); break;
      case 1: print("%.16e", number); break;
      case 2: print("%.20E", number); break;
      default: print(std::abs(number) < 1e15 ? "%.1100f" : "%.17e", number);
    }
  }

  // Up to 2^53 an integer may also be written as a fraction.
  void whole(const json& value) {
    const std::string digits = value.dump();
    const bool small = std::abs(value.get<double>()) < 9007199254740992.0;
    const bool zero = digits == "0";
    switch (small ? choices_.below(5) : 0) {
      case 1: out_ += digits + ".0"; break;
      case 2: out_ += digits + "E+00"; break;
      case 3: out_ += digits + (zero ? "e-2" : "00e-2"); break;
      case 4: out_ += zero ? "-0" : digits; break;
      default: out_ += digits;
    }
  }

  template <class Value>
  void print(const char* format, Value value) {
    std::array<char, 1200> text;
    const int length = std::snprintf(text.data(), text.size(), format, value);
    out_.append(text.data(), static_cast<std::size_t>(length));
  }

  Choices& choices_;
  std::string out_;
};

void check_spellings(std::string_view text, Choices& choices) {
  std::string canonical;
  try {
    canonical = hapax::base::canonical_json(text);
  } catch (const hapax::InvalidJson&) { return; }
  const std::string spelt = Speller(choices).spell(json::parse(text));
  require(hapax::base::canonical_json(spelt) == canonical);
  require(hapax::model::input_fingerprint(spelt) == hapax::model::input_fingerprint(text));
}

// A few bytes make a nested object in MessagePack, while JSON would have to be found character by character.
std::string packed_value(std::string_view packed) {
  const json value = json::from_msgpack(packed, false, false);
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t seed = 0;
  const std::size_t head = std::min(size, sizeof(seed));
  std::memcpy(&seed, data, head);
  Choices choices(seed);
  const std::string_view text(reinterpret_cast<const char*>(data) + head, size - head);
  check_parts(text, choices);
  check_spellings(text, choices);
  check_spellings(packed_value(text), choices);
  return 0;
}
