// Checks and repairs of text that comes from outside.
#pragma once

#include "base/limits.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace hapax::base {

[[nodiscard]] bool is_valid_utf8(std::string_view text);
[[nodiscard]] bool has_control_characters(std::string_view text);  // C0, DEL and C1

// What a handler printed or threw, made storable: NUL and bytes that are not UTF-8 become \xNN, so that an outcome can
// always be written. Text that is fine comes back as it was.
[[nodiscard]] std::string escape_invalid(std::string_view text);

// At most `bytes` of `text`, cut at a character's border, from the front or from the end.
[[nodiscard]] std::string keep_head(std::string_view text, std::size_t bytes);
[[nodiscard]] std::string keep_tail(std::string_view text, std::size_t bytes);

// For terminals: control characters (but newline and tab, when allowed) as \xNN.
[[nodiscard]] std::string printable(std::string_view text, bool allow_newline = false);

// Input as an error shows it, and the only way an error may show it: printable, at most limits::echo_bytes of it, cut at
// a character's border, then how long it was: `abc… (1048576 bytes)`. Costs no more than what is shown.
[[nodiscard]] std::string echo(std::string_view text);
[[nodiscard]] std::string quoted(std::string_view text, char quote = '\'');  // `'abc…' (1048576 bytes)`

// Closest of `candidates` for "did you mean", or empty when nothing is near (edit_distance at most a third of
// the word's length) or the word is longer than limits::suggestion_bytes, as are candidates that are not looked at.
template <class Range>
[[nodiscard]] std::string closest(std::string_view word, const Range& candidates);

// The same with another measure of near: a distance below `far`.
template <class Range>
[[nodiscard]] std::string closest(std::string_view word, const Range& candidates, std::size_t far);

// `; did you mean "retention"?`, or nothing when none is near.
template <class Range>
[[nodiscard]] std::string did_you_mean(std::string_view word, const Range& known, char quote = '"');

// What goes behind "unknown key": `; did you mean "retention"?`, or all there are when none is near.
template <class Range>
[[nodiscard]] std::string suggestion(std::string_view word, const Range& known);

// "a, b or c"
template <class Range>
[[nodiscard]] std::string listed(const Range& names);

// Letters to add, leave out, replace or swap with their neighbour. Costs the product of both lengths: for words that
// closest() lets through.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Range>
std::string closest(std::string_view word, const Range& candidates) {
  return closest(word, candidates, word.size() / 3 + 1);
}

template <class Range>
std::string closest(std::string_view word, const Range& candidates, std::size_t far) {
  std::string best;
  if (word.size() > limits::suggestion_bytes) { return best; }
  std::size_t best_distance = far;
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    // The lengths alone put the words that far apart.
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

}  // namespace hapax::base
