// The keys of [queues.X] and the flags of `hapax queue set`: one table for both, so that they take the same words.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hapax::config {

struct QueueKey {
  enum class Kind : std::uint8_t { duration, rate, number, flag };

  std::string_view name;
  Kind kind;
  std::string_view absent;  // the word that takes the setting away: "default", "same" or "none"; a flag has none

  bool (*said)(const model::QueuePatch&);
  void (*leave)(model::QueuePatch&);      // says nothing of it any more
  void (*take_away)(model::QueuePatch&);  // says that it is to go
  // Throws InvalidArgument naming `field`.
  void (*set)(model::QueuePatch&, std::string_view text, std::string_view field);
  std::optional<std::string> (*get)(const model::QueueSettings&);

  // The value in words of the file: "30d", "100/sec", or the absent word.
  [[nodiscard]] std::string shown(const model::QueueSettings& settings) const;
};

[[nodiscard]] std::span<const QueueKey> queue_keys();
[[nodiscard]] const QueueKey* find_queue_key(std::string_view name);

// Reads "30d", "100/sec", "20", "true" or the key's absent word into the patch and checks its range. Throws
// InvalidArgument naming `field`; the patch is then as it was.
void set_queue_value(model::QueuePatch& patch, const QueueKey& key, std::string_view text, std::string_view field);

}  // namespace hapax::config
