// The keys of [queues.X] and the flags of `hapax queue set`: one table for both, so that they accept the same values.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hapax::config {

// One setting of a queue, with the functions that read and write it in a patch. A constant; any thread.
struct QueueKey {
  enum class Kind : std::uint8_t { duration, rate, number, flag };

  std::string_view name;
  Kind kind;
  std::string_view absent;  // the word that removes the setting: "default", "same" or "none"; flags have none

  // Returns whether the patch sets or removes the setting.
  bool (*changes)(const model::QueuePatch&);
  void (*keep)(model::QueuePatch&);    // makes the patch keep the setting as it is
  void (*remove)(model::QueuePatch&);  // makes the patch remove the setting
  // Sets the value in the patch. Throws InvalidArgument naming `field`.
  void (*set)(model::QueuePatch&, std::string_view text, std::string_view field);
  std::optional<std::string> (*get)(const model::QueueSettings&);

  // The value as the file spells it: "30d", "100/sec", or the absent word.
  [[nodiscard]] std::string shown(const model::QueueSettings& settings) const;
};

[[nodiscard]] std::span<const QueueKey> queue_keys();
[[nodiscard]] const QueueKey* find_queue_key(std::string_view name);

// Reads "30d", "100/sec", "20", "true" or the key's absent word into the patch and checks the range. Throws
// InvalidArgument naming `field`, and then leaves the patch unchanged.
void set_queue_value(model::QueuePatch& patch, const QueueKey& key, std::string_view text, std::string_view field);

}  // namespace hapax::config
