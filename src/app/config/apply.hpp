// Applies a Config to a store. The store's settings are in force; the file is one of several ways to change them.
//
// Settings that the file does not mention are left alone. A [tasks.X] table replaces the whole entry of the task.
#pragma once

#include "app/config/config.hpp"
#include "store/store.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hapax::config {

// One change of a stored setting.
struct Change {
  std::string subject{};  // "queues.payments.retention", "tasks.report.max_attempts", "identity.default"
  std::string from{};     // the stored value, as the file spells it; empty: none
  std::string to{};       // the new value; empty: the setting is removed
  std::string note{};     // "over a declaration in code: …"; usually empty

  friend bool operator==(const Change&, const Change&) = default;
};

// The changes that apply would make now. Only reads.
[[nodiscard]] std::vector<Change> plan(store::Store& store, const std::string& namespace_name, const Config& config);

// Applies the parts of the configuration that a higher layer knows (its activities), before the configuration counts as
// applied.
using AlsoApply = std::function<std::vector<Change>()>;

// Makes the changes, each with an audit line by `actor`, and returns them. A setting that is stored with the same value
// is not written. Not one transaction: when the store fails half-way, the changes made so far stay, and applying again
// makes the rest.
std::vector<Change> apply(store::Store& store, const std::string& namespace_name, const Config& config,
                          const std::string& actor, const AlsoApply& also = {});

// Applies the configuration at a program's start, unless it is the one applied last: a restart does not undo changes
// made since (hapax queue set). Returns the changes.
std::vector<Change> apply_at_start(store::Store& store, const std::string& namespace_name, const Config& config,
                                   const std::string& actor, const AlsoApply& also = {});

// SHA-256, in hex, of the configuration's settings for the store. Comments, order and spelling of the file do not
// matter.
[[nodiscard]] std::string content_digest(const Config& config);

// The stored setting with the digest of the configuration applied last.
inline constexpr std::string_view applied_setting = "config.applied";

}  // namespace hapax::config
