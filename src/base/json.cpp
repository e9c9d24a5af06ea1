#include "base/json.hpp"

#include <hapax/error.hpp>

#include "base/json_number.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <optional>
#include <vector>

namespace hapax::base {

namespace {

constexpr std::uint64_t every_byte = 0x0101010101010101ULL;

// Whether any of eight bytes in a string needs a closer look: a quote, a backslash, a control character or a byte that
// is not ASCII.
bool has_special_byte(std::uint64_t word) {
  const std::uint64_t quote = word ^ (every_byte * '"');
  const std::uint64_t backslash = word ^ (every_byte * '\\');
  const std::uint64_t found = (word - every_byte * 0x20) | (quote - every_byte) | (backslash - every_byte) | word;
  return (found & (every_byte * 0x80)) != 0;
}

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

struct Key {
  std::string_view text;
  const char* at;  // of its opening quote
};

// The keys of one object. Few keys are compared one by one without allocating; many are sorted at the end, so no choice
// of keys makes the check slow.
class KeySet {
 public:
  // Adds the key. Returns false if the key is known to be a duplicate.
  bool add(Key key) {
    if (count_ == few_.size()) {
      many_.push_back(key);
      return true;
    }
    for (std::size_t index = 0; index < count_; ++index) {
      if (few_[index].text == key.text) { return false; }
    }
    few_[count_++] = key;
    return true;
  }

  // The first duplicate key.
  std::optional<Key> find_repeated() {
    if (many_.empty()) { return std::nullopt; }
    many_.insert(many_.end(), few_.begin(), few_.end());
    std::sort(many_.begin(), many_.end(), [](const Key& a, const Key& b) {
      const int order = a.text.compare(b.text);
      return order != 0 ? order < 0 : a.at < b.at;
    });
    std::optional<Key> repeated;
    for (std::size_t index = 1; index < many_.size(); ++index) {
      const bool same = many_[index].text == many_[index - 1].text;
      if (same && (!repeated || many_[index].at < repeated->at)) { repeated = many_[index]; }
    }
    return repeated;
  }

 private:
  std::array<Key, 12> few_;
  std::size_t count_ = 0;
  std::vector<Key> many_;
};

// Reads the text once from front to back; `at_` never moves back. Recursion is bounded.
class Checker {
 public:
  Checker(std::string_view text, std::string_view field, std::size_t outer_levels)
      : field_(field),
        deepest_(limits::json_depth + outer_levels),
        begin_(text.data()),
        at_(begin_),
        end_(begin_ + text.size()) {}

  void check() {
    skip_space();
    value(0);
    if (at_ != end_) { refuse("unexpected text after the value"); }
  }

 private:
  [[noreturn]] void refuse_at(const char* at, const std::string& message) const {
    throw InvalidJson(std::string(field_), message, static_cast<std::size_t>(at - begin_));
  }
  [[noreturn]] void refuse(const char* message) const {
    refuse_at(at_, at_ == end_ ? "the text ends inside the JSON value" : message);
  }

  // NaN and Infinity are the usual cause, so the message names them.
  [[noreturn]] void refuse_no_value(const char* at) const {
    const std::string_view rest(at, static_cast<std::size_t>(end_ - at));
    if (rest.starts_with("NaN") || rest.starts_with("Infinity") || rest.starts_with("-Infinity")) {
      refuse_at(at, "expected a JSON value: JSON has neither NaN nor Infinity; send null, or a string such as \"NaN\"");
    }
    refuse_at(at, "expected a JSON value, such as {\"id\": 7}, [1, 2], \"text\", 7, true or null");
  }
  [[noreturn]] void refuse_repeated(const Key& key) const {
    const std::string_view example = key.text.size() > limits::suggestion_bytes ? "one" : key.text;
    refuse_at(key.at, "duplicate key " + base::quoted(key.text, '"') +
                          " in an object; expected each key once, such as {" + base::quoted(example, '"') +
                          ": 1, \"other\": 2}");
  }
  [[noreturn]] void refuse_surrogate(const char* at) const {
    refuse_at(at,
              "lone surrogate in a string; expected both halves, such as \\ud83d\\ude00, or the character itself in "
              "UTF-8");
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) { ++at_; }
  }

  [[nodiscard]] bool next_is(char byte) const { return at_ != end_ && *at_ == byte; }

  // Reads a value and the white space after it.
  void value(std::size_t depth) {
    if (at_ == end_) {
      refuse_at(at_, begin_ == end_ ? "the text is empty; expected a JSON value, such as null"
                                    : "the text ends where a value was expected");
    }
    switch (*at_) {
      case '{': object(depth + 1); break;
      case '[': array(depth + 1); break;
      case '"': string(); break;
      case 't': word("true"); break;
      case 'f': word("false"); break;
      case 'n': word("null"); break;
      default: number();
    }
    skip_space();
  }

  void word(std::string_view expected) {
    if (static_cast<std::size_t>(end_ - at_) < expected.size() ||
        std::memcmp(at_, expected.data(), expected.size()) != 0) {
      refuse_no_value(at_);
    }
    at_ += expected.size();
  }

  // Reads the opening bracket. Returns false after an empty array or object, whose closing bracket it reads too.
  bool enter(std::size_t depth, char closing) {
    static_assert(limits::json_depth == 64, "the message says so");
    if (depth > deepest_) {
      refuse("is nested deeper than 64 levels; expected at most 64: send deeper parts as JSON text in a string");
    }
    ++at_;
    skip_space();
    if (next_is(closing)) {
      ++at_;
      return false;
    }
    return true;
  }

  // Reads the comma or the closing bracket after an item. Returns false after the closing bracket.
  bool next_item(char closing, const char* expected) {
    if (next_is(closing)) {
      ++at_;
      return false;
    }
    if (!next_is(',')) { refuse(expected); }
    ++at_;
    skip_space();
    return true;
  }

  void array(std::size_t depth) {
    if (!enter(depth, ']')) { return; }
    do { value(depth); } while (next_item(']', "expected ',' or ']'"));
  }

  void object(std::size_t depth) {
    if (!enter(depth, '}')) { return; }
    KeySet keys;
    do {
      const Key found = key();
      if (!keys.add(found)) { refuse_repeated(found); }
      skip_space();
      if (!next_is(':')) { refuse("expected ':'"); }
      ++at_;
      skip_space();
      value(depth);
    } while (next_item('}', "expected ',' or '}'"));
    if (const std::optional<Key> repeated = keys.find_repeated()) { refuse_repeated(*repeated); }
  }

  Key key() {
    if (!next_is('"')) { refuse("expected a key in double quotes"); }
    const char* const opening = at_;
    const bool escaped = string();
    std::string_view text(opening + 1, static_cast<std::size_t>(at_ - opening) - 2);
    if (escaped) {
      append_json_unescaped(unescaped_keys_.emplace_front(), text);
      text = unescaped_keys_.front();
    }
    return {text, opening};
  }

  // Reads a string. Returns whether it had an escape.
  bool string() {
    ++at_;
    bool escaped = false;
    for (;;) {
      std::uint64_t next_bytes = 0;
      while (end_ - at_ >= 8) {
        std::memcpy(&next_bytes, at_, 8);
        if (has_special_byte(next_bytes)) { break; }
        at_ += 8;
      }
      if (at_ == end_) { refuse_at(end_, "the text ends inside a string"); }
      const auto byte = static_cast<std::uint8_t>(*at_);
      if (byte == '"') {
        ++at_;
        return escaped;
      }
      if (byte == '\\') {
        escape();
        escaped = true;
      } else if (byte < 0x20) {
        refuse("control character in a string; expected an escape");
      } else if (byte < 0x80) {
        ++at_;
      } else {
        const std::size_t length = utf8_sequence_length(at_, end_);
        if (length == 0) { refuse("invalid UTF-8"); }
        at_ += length;
      }
    }
  }

  void escape() {
    const char* const backslash = at_;
    ++at_;
    if (at_ == end_) { refuse_at(end_, "the text ends inside a string"); }
    if (*at_ != 'u') {
      if (std::strchr("\"\\/bfnrt", *at_) == nullptr || *at_ == '\0') {
        refuse_at(backslash, "unknown escape in a string");
      }
      ++at_;
      return;
    }
    const std::uint32_t unit = code_unit(backslash);
    if (unit >= 0xDC00 && unit < 0xE000) { refuse_surrogate(backslash); }
    if (unit >= 0xD800 && unit < 0xDC00) {
      if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') { refuse_surrogate(backslash); }
      ++at_;
      const std::uint32_t low = code_unit(backslash);
      if (low < 0xDC00 || low >= 0xE000) { refuse_surrogate(backslash); }
    }
  }

  // Reads the u and its four digits.
  std::uint32_t code_unit(const char* backslash) {
    ++at_;
    std::uint32_t unit = 0;
    for (int index = 0; index < 4; ++index, ++at_) {
      const int lower = at_ == end_ ? 0 : *at_ | 0x20;
      if (at_ != end_ && is_digit(*at_)) {
        unit = unit * 16 + static_cast<std::uint32_t>(*at_ - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        unit = unit * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
      } else {
        refuse_at(backslash, "expected four hex digits after \\u");
      }
    }
    return unit;
  }

  std::size_t digits() {
    const char* const first = at_;
    while (at_ != end_ && is_digit(*at_)) { ++at_; }
    return static_cast<std::size_t>(at_ - first);
  }

  void some_digits(const char* expected) {
    if (digits() == 0) { refuse(expected); }
  }

  void number() {
    const char* const first = at_;
    if (*at_ == '-') { ++at_; }
    const bool leading_zero = next_is('0');
    if (at_ == end_ || !is_digit(*at_)) { refuse_no_value(first); }
    const std::size_t whole_digits = digits();
    if (leading_zero && whole_digits > 1) { refuse_at(first, "a number has a leading zero"); }
    bool is_integer = true;
    if (next_is('.')) {
      is_integer = false;
      ++at_;
      some_digits("expected a digit after the decimal point");
    }
    bool has_exponent = false;
    if (next_is('e') || next_is('E')) {
      is_integer = false;
      has_exponent = true;
      ++at_;
      if (next_is('+') || next_is('-')) { ++at_; }
      some_digits("expected a digit in the exponent");
    }
    const std::string_view text(first, static_cast<std::size_t>(at_ - first));
    if (is_integer) {
      if (!fits_64_bits(text)) { refuse_integer(text); }
      return;
    }
    // Without an exponent, 308 digits before the point are always within a double.
    if ((has_exponent || whole_digits > 308) && !read_json_number(text)) {
      refuse_at(first, "a number is too large for a double; expected at most 1.7976931348623157e308, or a string");
    }
  }

  [[noreturn]] void refuse_integer(std::string_view text) const {
    refuse_at(text.data(), "the integer " + echo(text) +
                               " does not fit 64 bits; expected -9223372036854775808 to 18446744073709551615, or a "
                               "string such as \"18446744073709551616\"");
  }

  std::string_view field_;
  std::size_t deepest_;
  const char* begin_;
  const char* at_;
  const char* end_;
  std::forward_list<std::string> unescaped_keys_;
};

}  // namespace

void check_json(std::string_view text, std::string_view field, std::size_t outer_levels) {
  Checker(text, field, outer_levels).check();
}

}  // namespace hapax::base
