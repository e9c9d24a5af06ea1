#include "model/strategy.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/json_pointer.hpp"
#include "base/limits.hpp"
#include "model/effect_key.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax::model {

namespace {

// Prefixes of the key material that hapax derives itself. Part of stored identities: never change them.
constexpr char strict_mark = '\x01';
constexpr char contextual_mark = '\x02';

// [[pointer, value], …] in canonical form; the pair of an absent value has only the pointer.
std::string canonical_fields(std::string_view checked, const std::vector<std::string>& pointers) {
  std::string out = "[";
  for (const std::string& pointer : pointers) {
    if (out.size() > 1) { out.push_back(','); }
    out += "[" + base::json_quote(pointer);
    if (const auto value = base::find_json_pointer(checked, pointer)) { out += "," + base::canonical_json(*value); }
    out.push_back(']');
  }
  return out + "]";
}

// {"customer":{"id":7}} for /customer/id. For error messages only: escapes and array indexes are not handled.
std::string example_of(std::string_view pointer) {
  std::string open;
  std::string close;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    open += "{" + base::json_quote(pointer.substr(0, end)) + ":";
    close += "}";
    pointer.remove_prefix(end);
  }
  return open + "7" + close;
}

void require_fields(std::string_view checked, const std::vector<std::string>& pointers) {
  for (const std::string& pointer : pointers) {
    if (!base::find_json_pointer(checked, pointer)) {
      throw InvalidArgument("input", "has no " + pointer +
                                         ", which the task's identity_keys name; expected a value there (null counts), "
                                         "such as " +
                                         example_of(pointer));
    }
  }
}

// Throws InvalidJson for an input that is compared and is not JSON.
std::optional<base::Digest> fingerprint_of(const IdentityRules& rules, std::string_view input) {
  if (!rules.fingerprint.compare) { return std::nullopt; }
  const bool names_fields = !rules.fingerprint.pointers.empty();
  if (!names_fields && rules.strategy != IdentityStrategy::contextual) { return input_fingerprint(input); }
  base::check_json(input, "input");
  return base::sha256(canonical_fields(input, names_fields ? rules.fingerprint.pointers : rules.keys));
}

// The fingerprint of a request without a key: none unless the task names pointers to compare, as the derived identity
// already covers the whole input (strict) or the identity_keys (contextual).
std::optional<base::Digest> pointer_fingerprint(const IdentityRules& rules, std::string_view checked) {
  return rules.fingerprint.pointers.empty() ? std::nullopt : fingerprint_of(rules, checked);
}

// The task's name at the front of derived key material. Every derived identity covers the task's name: under scope
// `task` the identity hash does, under a wider scope this prefix does. The length comes first, so that name and input
// cannot run together.
std::string task_name_prefix(const IdentityRules& rules, std::string_view task) {
  if (rules.scope == IdentityScope::task) { return {}; }
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) { out.push_back(static_cast<char>((task.size() >> shift) & 0xFF)); }
  return out.append(task);
}

IdentityMode mode_of(const EnqueueOptions& asked) {
  if ((asked.throttle ? 1 : 0) + (asked.debounce ? 1 : 0) + (asked.keep_last ? 1 : 0) > 1) {
    throw InvalidArgument("throttle", "given together with debounce or keep_last; expected one of the three");
  }
  if (asked.throttle) { return IdentityMode::throttle; }
  if (asked.debounce) { return IdentityMode::debounce; }
  return asked.keep_last ? IdentityMode::keep_last : IdentityMode::hold;
}

std::string_view mode_name(IdentityMode mode) {
  switch (mode) {
    case IdentityMode::hold: return "hold";
    case IdentityMode::throttle: return "throttle";
    case IdentityMode::debounce: return "debounce";
    case IdentityMode::keep_last: return "keep_last";
  }
  return "";
}

void check_period(const std::optional<Duration>& period, std::string_view field) {
  if (period && (*period <= Duration{0} || *period > limits::delay_max)) {
    throw InvalidArgument(std::string(field), format_duration(*period) + " is out of range; expected more than 0 to " +
                                                  format_duration(limits::delay_max));
  }
}

// An option that has no effect under the mode is refused, not ignored.
void check_mode(IdentityMode mode, const EnqueueOptions& asked) {
  if (mode == IdentityMode::hold) { return; }
  const std::string name(mode_name(mode));
  if (asked.reuse) {
    throw InvalidArgument("reuse", "given together with " + name + ", which decides by itself when a new run starts; " +
                                       "expected one of the two");
  }
  if (asked.on_conflict == OnConflict::terminate_existing) {
    throw InvalidArgument("on_conflict",
                          "'terminate_existing' given together with " + name +
                              ", which never stops a running execution; expected return_existing or wait");
  }
  if (asked.on_conflict == OnConflict::reject && mode != IdentityMode::throttle) {
    throw InvalidArgument("on_conflict", "'reject' given together with " + name +
                                             ", which takes every request; expected return_existing or wait");
  }
}

// Sets the members beside the identity that a mode needs: delay, limit key, effect key.
void apply_mode(NewExecution& request, const EnqueueOptions& asked) {
  IdentityClaim& identity = *request.identity;
  check_period(asked.throttle, "throttle");
  check_period(asked.debounce, "debounce");
  identity.throttle = asked.throttle.value_or(Duration{0});
  if (asked.debounce) {
    if (request.run_at || request.delay != Duration{0}) {
      throw InvalidArgument("debounce", "given together with a delay or run_at; debounce sets the delay itself");
    }
    request.delay = *asked.debounce;
  }
  if (asked.keep_last) {
    if (request.limit_key) {
      throw InvalidArgument(
          "keep_last", "given together with a concurrency or ordering key; keep_last uses an ordering key of its own");
    }
    request.limit_key = LimitKey{.text = "keep_last " + base::to_hex(identity.hash), .ordered = true};
  }
  // Each run under these modes is a separate effect, so the effect key comes from the execution's id, not from the
  // identity.
  if (identity.mode != IdentityMode::hold && !request.effect_key) {
    request.effect_key = effect_key(std::nullopt, std::nullopt, request.id);
  }
}

}  // namespace

IdentityRules rules_of(const TaskDefinition* catalogued, IdentityStrategy default_strategy) {
  IdentityRules rules;
  if (catalogued == nullptr) { return rules; }
  rules.strategy = catalogued->strategy.value_or(default_strategy);
  rules.keys = catalogued->identity_keys;
  rules.scope = catalogued->scope.value_or(IdentityScope::task);
  rules.fingerprint = catalogued->fingerprint.value_or(Fingerprint{});
  rules.reuse = catalogued->reuse.value_or(Reuse::failed_only);
  rules.dedup_window = catalogued->dedup_window;
  return rules;
}

std::optional<KeyMaterial> key_material(const IdentityRules& rules, std::string_view task, std::string_view input) {
  if (rules.strategy == IdentityStrategy::strict) {
    KeyMaterial made{.canonical = base::canonical_json(input), .material = {}};
    made.material = strict_mark + task_name_prefix(rules, task) + made.canonical;
    return made;
  }
  if (rules.strategy == IdentityStrategy::contextual) {
    base::check_json(input, "input");
    require_fields(input, rules.keys);
    KeyMaterial made{.canonical = canonical_fields(input, rules.keys), .material = {}};
    made.material = contextual_mark + task_name_prefix(rules, task) + made.canonical;
    return made;
  }
  return std::nullopt;
}

base::Digest identity_of_key(const IdentityRules& rules, const NewExecution& request, std::string_view key) {
  const std::string_view name = rules.scope == IdentityScope::queue ? request.queue.name : request.task;
  return identity_hash(
      {.namespace_name = request.queue.namespace_name, .scope = rules.scope, .name = name, .key = key});
}

void identify(NewExecution& request, const IdentityRules& rules, const EnqueueOptions& asked) {
  const IdentityMode mode = mode_of(asked);
  check_mode(mode, asked);
  if (!asked.task_id) {
    if (rules.strategy == IdentityStrategy::caller_provided) { throw IdempotencyKeyRequired(request.task); }
    if (rules.strategy == IdentityStrategy::always_unique) {
      if (mode != IdentityMode::hold) {
        throw InvalidArgument(std::string(mode_name(mode)),
                              "needs requests with an identity; expected a key (task_id), or a task "
                              "declared strict or contextual");
      }
      return;
    }
  }
  check_name(request.task, "task");
  check_name(request.queue.name, "queue");
  IdentityClaim& identity = request.identity.emplace();
  if (asked.task_id) {
    check_key(*asked.task_id);
    identity.hash = identity_of_key(rules, request, *asked.task_id);
    identity.key = *asked.task_id;
    identity.fingerprint = fingerprint_of(rules, request.input);
  } else {
    const std::optional<KeyMaterial> made = key_material(rules, request.task, request.input);
    identity.hash = identity_of_key(rules, request, made->material);
    identity.fingerprint = pointer_fingerprint(rules, request.input);
  }
  identity.reuse = asked.reuse.value_or(rules.reuse);
  identity.on_conflict = asked.on_conflict;
  identity.dedup_window = rules.dedup_window;
  identity.mode = mode;
  apply_mode(request, asked);
}

}  // namespace hapax::model
