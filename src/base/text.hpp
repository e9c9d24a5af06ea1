// Checks and repairs text from outside.
#pragma once

#include "base/limits.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace hapax::base {

[[nodiscard]] bool is_valid_utf8(std::string_view text);
[[nodiscard]] bool has_control_characters(std::string_view text);  // C0, DEL and C1

// Makes a handler's output or error storable: NUL and bytes that are not UTF-8 become \xNN. Valid text is returned
// unchanged.
[[nodiscard]] std::string escape_invalid(std::string_view text);

// At most `bytes` of `text`, from the front or from the end, cut between characters.
[[nodiscard]] std::string keep_head(std::string_view text, std::size_t bytes);
[[nodiscard]] std::string keep_tail(std::string_view text, std::size_t bytes);

// Text for terminals: control characters become \xNN, except newline and tab when allowed.
[[nodiscard]] std::string printable(std::string_view text, bool allow_newline = false);

// Input as an error message shows it: printable, at most limits::echo_bytes, cut between characters, then the length:
// `abc… (1048576 bytes)`. Messages must not show input in any other way. The cost depends on the shown part only.
[[nodiscard]] std::string echo(std::string_view text);
[[nodiscard]] std::string quoted(std::string_view text, char quote = '\'');  // `'abc…' (1048576 bytes)`

// The candidate closest to `word`, for "did you mean"; empty when none has an edit distance of at most a third of the
// word's length. Words and candidates longer than limits::suggestion_bytes are not compared.
template <class Range>
[[nodiscard]] std::string closest(std::string_view word, const Range& candidates);

// The candidate closest to `word` with an edit distance below `distance_limit`.
template <class Range>
[[nodiscard]] std::string closest(std::string_view word, const Range& candidates, std::size_t distance_limit);

// `; did you mean "retention"?`, or empty when none is close.
template <class Range>
[[nodiscard]] std::string did_you_mean(std::string_view word, const Range& known, char quote = '"');

// The end of an "unknown key" message: `; did you mean "retention"?`, or all known keys when none is close.
template <class Range>
[[nodiscard]] std::string suggestion(std::string_view word, const Range& known);

// "a, b or c"
template <class Range>
[[nodiscard]] std::string listed(const Range& names);

// The number of letters to add, remove, replace or swap with their neighbour. Costs the product of both lengths: use it
// for words as short as closest() accepts.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Range>
std::string closest(std::string_view word, const Range& candidates) {
  return closest(word, candidates, word.size() / 3 + 1);
}

template <class Range>
std::string closest(std::string_view word, const Range& candidates, std::size_t distance_limit) {
  std::string best;
  if (word.size() > limits::suggestion_bytes) { return best; }
  std::size_t best_distance = distance_limit;
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    // The difference in length alone makes the distance that large.
    if (candidate.size() > limits::suggestion_bytes || longer - shorter >= best_distance) { continue; }
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

template <class Range>
std::string did_you_mean(std::string_view word, const Range& known, char quote) {
  const std::string near = closest(word, known);
  return near.empty() ? near : std::string("; did you mean ") + quote + near + quote + "?";
}

template <class Range>
std::string suggestion(std::string_view word, const Range& known) {
  const std::string near = did_you_mean(word, known);
  return near.empty() ? "; expected " + listed(known) : near;
}

template <class Range>
std::string listed(const Range& names) {
  std::string text;
  std::size_t left = std::size(names);
  for (const auto& name : names) {
    text += (text.empty() ? "" : left == 1 ? " or " : ", ") + std::string(name);
    --left;
  }
  return text;
}

// ASCII letters in lower case; all other bytes stay.
[[nodiscard]] constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
[[nodiscard]] std::string lower(std::string_view text);

// The text without the blanks and tabs at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace hapax::base
