#include "app/config/queue_keys.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace hapax::config {
namespace {

using model::QueueLimits;
using model::QueuePatch;
using model::QueueSettings;

template <class Value>
const std::optional<Value>& pick(const QueueSettings& settings, std::optional<Value> QueueSettings::*member) {
  return settings.*member;
}
template <class Value>
const std::optional<Value>& pick(const QueueSettings& settings, std::optional<Value> QueueLimits::*member) {
  return settings.limits.*member;
}

std::string spelled(Duration value) { return format_duration(value); }
std::string spelled(const RateLimit& value) { return format_rate_limit(value); }
std::string spelled(int value) { return std::to_string(value); }

void read(std::string_view text, std::string_view field, Duration& value) { value = parse_duration(text, field); }
void read(std::string_view text, std::string_view field, RateLimit& value) { value = parse_rate_limit(text, field); }
void read(std::string_view text, std::string_view field, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InvalidArgument(std::string(field),
                          base::quoted(text) + " is not a number; expected a whole number such as 20, or \"none\"");
  }
}

template <class Value>
using PatchMember = std::optional<std::optional<Value>> QueuePatch::*;

// Value: the setting's type. Setting: its member of QueueSettings or QueueLimits.
template <class Value, PatchMember<Value> Member, auto Setting>
constexpr QueueKey key_of(std::string_view name, QueueKey::Kind kind, std::string_view absent) {
  return {.name = name,
          .kind = kind,
          .absent = absent,
          .changes = [](const QueuePatch& patch) { return (patch.*Member).has_value(); },
          .keep = [](QueuePatch& patch) { (patch.*Member).reset(); },
          .remove = [](QueuePatch& patch) { (patch.*Member).emplace(); },
          .set =
              [](QueuePatch& patch, std::string_view text, std::string_view field) {
                Value value{};
                read(text, field, value);
                patch.*Member = std::optional<Value>(value);
              },
          .get = [](const QueueSettings& settings) -> std::optional<std::string> {
            const std::optional<Value>& value = pick(settings, Setting);
            return value ? std::optional(spelled(*value)) : std::nullopt;
          }};
}

void set_paused(QueuePatch& patch, std::string_view text, std::string_view field) {
  if (text != "true" && text != "false") {
    throw InvalidArgument(std::string(field), base::quoted(text) + " is neither true nor false");
  }
  patch.paused = text == "true";
}

constexpr QueueKey paused_key = {
    .name = "paused",
    .kind = QueueKey::Kind::flag,
    .absent = "",
    .changes = [](const QueuePatch& patch) { return patch.paused.has_value(); },
    .keep = [](QueuePatch& patch) { patch.paused.reset(); },
    .remove = [](QueuePatch& patch) { patch.paused = false; },
    .set = set_paused,
    .get = [](const QueueSettings& settings) { return std::optional<std::string>(settings.paused ? "true" : "false"); },
};

using Kind = QueueKey::Kind;

constexpr std::array keys = {
    key_of<Duration, &QueuePatch::retention, &QueueSettings::retention>("retention", Kind::duration, "default"),
    key_of<Duration, &QueuePatch::failed_retention, &QueueSettings::failed_retention>("failed_retention",
                                                                                      Kind::duration, "same"),
    key_of<Duration, &QueuePatch::dedup_window, &QueueSettings::dedup_window>("dedup_window", Kind::duration, "none"),
    key_of<RateLimit, &QueuePatch::rate, &QueueLimits::rate>("rate_limit", Kind::rate, "none"),
    key_of<RateLimit, &QueuePatch::key_rate, &QueueLimits::key_rate>("key_rate_limit", Kind::rate, "none"),
    key_of<int, &QueuePatch::concurrency, &QueueLimits::concurrency>("concurrency", Kind::number, "none"),
    key_of<int, &QueuePatch::worker_concurrency, &QueueLimits::worker_concurrency>("worker_concurrency", Kind::number,
                                                                                   "none"),
    key_of<int, &QueuePatch::key_concurrency, &QueueLimits::key_concurrency>("key_concurrency", Kind::number, "none"),
    paused_key,
};

}  // namespace

std::string QueueKey::shown(const QueueSettings& settings) const { return get(settings).value_or(std::string(absent)); }

std::span<const QueueKey> queue_keys() { return keys; }

const QueueKey* find_queue_key(std::string_view name) {
  const auto* const found =
      std::find_if(keys.begin(), keys.end(), [&](const QueueKey& key) { return key.name == name; });
  return found == keys.end() ? nullptr : found;
}

void set_queue_value(QueuePatch& patch, const QueueKey& key, std::string_view text, std::string_view field) {
  if (!key.absent.empty() && text == key.absent) {
    key.remove(patch);
    return;
  }
  QueuePatch alone;
  key.set(alone, text, field);
  try {
    model::check_queue_patch(alone);
  } catch (const InvalidArgument& error) {
    // The message begins with the model's name of the field, which is replaced by `field`.
    const std::string message = error.what();
    throw InvalidArgument(std::string(field), message.substr(error.field().size() + 2));
  }
  key.set(patch, text, field);
}

}  // namespace hapax::config
