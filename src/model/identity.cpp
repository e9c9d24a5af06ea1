#include "model/identity.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <array>

namespace hapax::model {

namespace {

// Part of every stored identity: never change these words.
std::string_view word(Scope scope) {
  switch (scope) {
    case Scope::task: return "task";
    case Scope::queue: return "queue";
    case Scope::global: return "global";
  }
  return "";
}

}  // namespace

base::Digest identity_hash(const IdentityParts& parts) {
  const std::string_view name = parts.scope == Scope::global ? std::string_view() : parts.name;
  return base::sha256_parts(std::array<std::string_view, 4>{parts.namespace_name, word(parts.scope), name, parts.key});
}

base::Digest activity_identity_hash(std::string_view namespace_name, std::string_view activity_id,
                                    std::string_view key) {
  return base::sha256_parts(std::array<std::string_view, 4>{namespace_name, "activity", activity_id, key});
}

base::Digest guard_identity_hash(std::string_view namespace_name, std::string_view name, std::string_view key) {
  return base::sha256_parts(std::array<std::string_view, 4>{namespace_name, "guard", name, key});
}

Uuid activity_uuid(std::string_view namespace_name, std::string_view activity_id) {
  const base::Digest digest =
      base::sha256_parts(std::array<std::string_view, 3>{namespace_name, "activity", activity_id});
  Uuid id;
  std::copy_n(digest.begin(), id.bytes.size(), id.bytes.begin());
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x80);
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
  return id;
}

base::Digest input_fingerprint(std::string_view input_json) { return base::sha256(base::canonical_json(input_json)); }

std::optional<RunName> parse_run_name(std::string_view text) {
  RunName name;
  constexpr std::string_view instance = "task-";
  constexpr std::string_view run = "activity-";
  name.is_instance = text.starts_with(instance);
  if (name.is_instance) {
    text.remove_prefix(instance.size());
    for (int i = 0; i < 2; ++i) {
      const std::size_t colon = text.rfind(':');
      if (colon == std::string_view::npos) { return std::nullopt; }
      text = text.substr(0, colon);
    }
  }
  const std::size_t colon = text.find(':');
  if (!text.starts_with(run) || colon == std::string_view::npos || colon == run.size()) { return std::nullopt; }
  name.run_id = text;
  name.activity = text.substr(run.size(), colon - run.size());
  return name;
}

std::optional<RunName> activity_origin(const Execution& execution) {
  if (!execution.identity || !execution.parent) { return std::nullopt; }
  std::optional<RunName> name = parse_run_name(execution.identity_key);
  // A caller's own key may look like a run's ID, but the caller's execution does not have the activity as its parent.
  if (!name ||
      (!name->is_instance && *execution.parent != activity_uuid(execution.queue.namespace_name, name->activity))) {
    return std::nullopt;
  }
  return name;
}

}  // namespace hapax::model
