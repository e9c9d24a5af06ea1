// Reads results as records store them: written by nlohmann's dump, without white space. Numbers with a fraction,
// escapes and text beyond ASCII are left to nlohmann's parser, which also reports errors.
#include <hapax/detail/guard_call.hpp>

#include "base/limits.hpp"

#include <algorithm>
#include <charconv>

namespace hapax::detail {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  [[nodiscard]] bool whole(nlohmann::json& out) { return value(out, 1) && at_ == end_; }

 private:
  [[nodiscard]] bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) { return false; }
    ++at_;
    return true;
  }

  [[nodiscard]] bool word(std::string_view wanted) {
    if (static_cast<std::size_t>(end_ - at_) < wanted.size() || !std::equal(wanted.begin(), wanted.end(), at_)) {
      return false;
    }
    at_ += wanted.size();
    return true;
  }

  [[nodiscard]] bool text(std::string_view& out) {
    if (!take('"')) { return false; }
    const char* const begun = at_;
    while (at_ != end_ && *at_ >= ' ' && *at_ < 127 && *at_ != '"' && *at_ != '\\') { ++at_; }
    out = {begun, static_cast<std::size_t>(at_ - begun)};
    return take('"');
  }

  [[nodiscard]] bool number(nlohmann::json& out) {
    constexpr std::ptrdiff_t digits = 18;
    const char* const begun = at_;
    const bool negative = take('-');
    std::int64_t value = 0;
    const auto read = std::from_chars(at_, std::min(end_, at_ + digits + 1), value);
    if (read.ec != std::errc() || read.ptr - at_ > digits || *at_ == '-' || (*at_ == '0' && read.ptr - begun > 1)) {
      return false;
    }
    at_ = read.ptr;
    if (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) { return false; }
    if (negative) {
      out = -value;
    } else {
      out = static_cast<std::uint64_t>(value);
    }
    return true;
  }

  [[nodiscard]] bool object(nlohmann::json& out, std::size_t depth) {
    ++at_;
    out = nlohmann::json::object();
    auto& members = out.get_ref<nlohmann::json::object_t&>();
    if (take('}')) { return true; }
    do {
      std::string_view name;
      if (!text(name) || !take(':')) { return false; }
      const auto member = members.emplace_hint(members.end(), name, nullptr);
      if (!value(member->second, depth + 1)) { return false; }
    } while (take(','));
    return take('}');
  }

  [[nodiscard]] bool array(nlohmann::json& out, std::size_t depth) {
    ++at_;
    out = nlohmann::json::array();
    auto& items = out.get_ref<nlohmann::json::array_t&>();
    if (take(']')) { return true; }
    do {
      if (!value(items.emplace_back(), depth + 1)) { return false; }
    } while (take(','));
    return take(']');
  }

  [[nodiscard]] bool value(nlohmann::json& out, std::size_t depth) {
    if (at_ == end_ || depth > limits::json_depth) { return false; }
    switch (*at_) {
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case '"': {
        std::string_view inside;
        if (!text(inside)) { return false; }
        out = inside;
        return true;
      }
      case 't': out = true; return word("true");
      case 'f': out = false; return word("false");
      case 'n': out = nullptr; return word("null");
      default: return number(out);
    }
  }

  const char* at_;
  const char* const end_;
};

}  // namespace

nlohmann::json parse_result(const std::string& text) {
  nlohmann::json json;
  if (Reader(text).whole(json)) { return json; }
  return nlohmann::json::parse(text);
}

}  // namespace hapax::detail
