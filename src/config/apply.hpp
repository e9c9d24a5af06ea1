// From a Config to a store (SPEC C2): what is stored counts, and the file is one of the hands that write it.
//
// What the file does not mention is left alone. A [tasks.X] table is the whole of a task's entry.
#pragma once

#include "config/config.hpp"
#include "store/store.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hapax::config {

struct Change {
  std::string subject{};  // "queues.payments.retention", "tasks.report.max_attempts", "identity.default"
  std::string from{};     // what is stored, in the file's words; empty: nothing
  std::string to{};       // empty: it goes
  std::string note{};     // "over a declaration in code: …"; mostly empty

  friend bool operator==(const Change&, const Change&) = default;
};

// What apply would change now. Reads only.
[[nodiscard]] std::vector<Change> plan(store::Store& store, const std::string& ns, const Config& config);

// What a room above brings into the store from the same configuration (its activities), before that counts as applied.
using AlsoApply = std::function<std::vector<Change>()>;

// Makes the changes, each with an audit line by `actor`, and tells them. Settings that are stored just so are not written.
// Not one transaction: when the store fails half-way, what was written stays, and applying again does the rest.
std::vector<Change> apply(store::Store& store, const std::string& ns, const Config& config, const std::string& actor,
                          const AlsoApply& also = {});

// At the start of a program: applies the configuration unless it is the one that was applied last, so that what people set
// since then (hapax queue set) is not undone by every start.
std::vector<Change> apply_at_start(store::Store& store, const std::string& ns, const Config& config,
                                   const std::string& actor, const AlsoApply& also = {});

// SHA-256, in hex, of what the configuration says about the store; comments, order and spelling do not matter.
[[nodiscard]] std::string content_digest(const Config& config);

// The setting that holds the digest of what was applied last.
inline constexpr std::string_view applied_setting = "config.applied";

}  // namespace hapax::config
