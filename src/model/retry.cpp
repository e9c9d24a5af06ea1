#include "model/retry.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace hapax::model {

namespace {

// Indexed by the persisted value of Jitter.
constexpr std::array<std::string_view, 3> jitter_names = {"full", "equal", "none"};

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument("retry", base::quoted(text) +
                                     " is not a stored retry policy; expected base_us:cap_us:multiplier:jitter, "
                                     "e.g. 500000:30000000:2:full");
}

template <class Number>
Number read_number(std::string_view part, std::string_view whole) {
  Number number{};
  const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (problem != std::errc() || end != part.data() + part.size()) { refuse(whole); }
  return number;
}

}  // namespace

Duration retry_delay(const RetryPolicy& policy, int attempt, double fraction) {
  const double cap = static_cast<double>(std::clamp(policy.cap, Duration(0), limits::delay_max).count());
  const double base = static_cast<double>(std::max(policy.base, Duration(0)).count());
  // The power may overflow to infinity, which the cap bounds. A comparison with NaN (0 times infinity) is false, which
  // also gives the cap.
  const double grown = base * std::pow(policy.multiplier, std::max(attempt, 1) - 1);
  const double delay = base == 0 ? 0 : grown < cap ? std::max(grown, 0.0) : cap;
  switch (policy.jitter) {
    case Jitter::full: return Duration(static_cast<std::int64_t>(delay * fraction));
    case Jitter::equal: return Duration(static_cast<std::int64_t>(delay / 2 + delay / 2 * fraction));
    case Jitter::none: break;
  }
  return Duration(static_cast<std::int64_t>(delay));
}

Finish finish_failure(const Claim& claim, const Failure& failure, double fraction, Duration ran_for) {
  Finish finish;
  finish.id = claim.id;
  finish.fence = claim.fence;
  finish.error = failure.error;
  finish.ran_for = ran_for;
  // Attempts lost with their worker do not count here; max_lost bounds them.
  const int spent = claim.attempt - claim.lost;
  if (failure.permanent || spent >= claim.max_attempts) {
    finish.kind = FinishKind::failed;
    return finish;
  }
  finish.kind = FinishKind::retry;
  finish.delay = failure.retry_after ? std::clamp(*failure.retry_after, Duration(0), limits::delay_max)
                                     : retry_delay(claim.retry.value_or(RetryPolicy{}), spent, fraction);
  return finish;
}

std::string encode_retry(const RetryPolicy& policy) {
  std::array<char, 32> multiplier;
  const auto end = std::to_chars(multiplier.data(), multiplier.data() + multiplier.size(), policy.multiplier).ptr;
  std::string text = std::to_string(policy.base.count()) + ":" + std::to_string(policy.cap.count()) + ":";
  text.append(multiplier.data(), end);
  text += ":";
  text += jitter_names.at(static_cast<std::size_t>(policy.jitter));
  return text;
}

RetryPolicy decode_retry(std::string_view text) {
  std::array<std::string_view, 4> parts;
  std::string_view rest = text;
  for (std::size_t index = 0; index < 3; ++index) {
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) { refuse(text); }
    parts[index] = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  parts[3] = rest;
  RetryPolicy policy;
  policy.base = Duration(read_number<std::int64_t>(parts[0], text));
  policy.cap = Duration(read_number<std::int64_t>(parts[1], text));
  policy.multiplier = read_number<double>(parts[2], text);
  const auto* const jitter = std::find(jitter_names.begin(), jitter_names.end(), parts[3]);
  if (jitter == jitter_names.end()) { refuse(text); }
  policy.jitter = static_cast<Jitter>(jitter - jitter_names.begin());
  return policy;
}

}  // namespace hapax::model
