#include "model/task_definition.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/json_pointer.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/retry_json.hpp"
#include "model/validate.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <functional>

namespace hapax::model {

namespace {

using nlohmann::json;

template <class Enum>
struct Word {
  std::string_view text;
  Enum value;
};
// clang 16 does not deduce the template argument without this guide.
template <class Enum>
Word(const char*, Enum) -> Word<Enum>;

constexpr std::array strategies = {
    Word{"strict", IdentityStrategy::strict}, Word{"caller_provided", IdentityStrategy::caller_provided},
    Word{"always_unique", IdentityStrategy::always_unique}, Word{"contextual", IdentityStrategy::contextual}};
constexpr std::array scopes = {Word{"task", IdentityScope::task}, Word{"queue", IdentityScope::queue},
                               Word{"global", IdentityScope::global}};
constexpr std::array reuses = {Word{"failed_only", Reuse::failed_only}, Word{"reject", Reuse::reject},
                               Word{"allow", Reuse::allow}};
constexpr std::array jitters = {Word{"full", Jitter::full}, Word{"equal", Jitter::equal}, Word{"none", Jitter::none}};

template <class Words>
auto parse_word(const Words& words, std::string_view text, std::string_view field) {
  std::string expected;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].text == text) { return words[i].value; }
    expected += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i].text);
  }
  throw InvalidArgument(std::string(field), base::quoted(text) + " is none; expected " + expected);
}

template <class Words, class Enum>
std::string_view word_of(const Words& words, Enum value) {
  for (const auto& word : words) {
    if (word.value == value) { return word.text; }
  }
  return "";
}

// ---- Reading -------------------------------------------------------------------------------------------------------

[[noreturn]] void refuse_type(const std::string& field, const json& value, const std::string& expected) {
  throw InvalidArgument(field, "is " + base::echo(value.dump()) + "; expected " + expected);
}

std::string text_of(const json& value, const std::string& field, const std::string& example) {
  if (!value.is_string()) { refuse_type(field, value, "a text such as \"" + example + "\""); }
  return value.get<std::string>();
}

int number_of(const json& value, const std::string& field) {
  if (!value.is_number_integer() || value.get<std::int64_t>() > INT32_MAX || value.get<std::int64_t>() < INT32_MIN) {
    refuse_type(field, value, "a whole number");
  }
  return value.get<int>();
}

Duration duration_of(const json& value, const std::string& field) {
  return parse_duration(text_of(value, field, "30s"), field);
}

std::vector<std::string> pointers_of(const json& value, const std::string& field) {
  if (!value.is_array()) {
    refuse_type(field, value, "a list of JSON Pointers such as [\"/customer_id\", \"/month\"]");
  }
  std::vector<std::string> pointers;
  for (const json& item : value) {
    pointers.push_back(text_of(item, field, "/customer_id"));
    base::check_json_pointer(pointers.back(), field);
  }
  return pointers;
}

Fingerprint fingerprint_of(const json& value, const std::string& field) {
  if (value.is_array() && !value.empty()) { return {.compare = true, .pointers = pointers_of(value, field)}; }
  if (value == "input") { return {}; }
  if (value == "none") { return {.compare = false}; }
  refuse_type(field, value, "\"input\", \"none\" or a list of JSON Pointers");
}

RetryPolicy retry_of(const json& value, const std::string& field) {
  if (!value.is_object()) { refuse_type(field, value, "base, cap, multiplier and jitter"); }
  RetryPolicy policy;
  bool has_cap = false;
  for (const auto& [name, part] : value.items()) {
    const std::string inner = field + "." + name;
    if (name == "base") {
      policy.base = duration_of(part, inner);
    } else if (name == "cap") {
      policy.cap = duration_of(part, inner);
      has_cap = true;
    } else if (name == "multiplier") {
      if (!part.is_number()) { refuse_type(inner, part, "a number such as 2"); }
      policy.multiplier = part.get<double>();
    } else if (name == "jitter") {
      policy.jitter = parse_jitter(text_of(part, inner, "full"), inner);
    } else {
      throw InvalidArgument(inner, "unknown key; expected base, cap, multiplier or jitter");
    }
  }
  if (!has_cap) { policy.cap = std::max(policy.cap, policy.base); }
  return policy;
}

struct Member {
  std::string_view name;
  void (*read)(TaskDefinition&, const json&, const std::string& field);
};

constexpr std::array members = {
    Member{"identity_strategy", [](TaskDefinition& d, const json& v,
                                   const std::string& f) { d.strategy = parse_strategy(text_of(v, f, "strict"), f); }},
    Member{"identity_keys",
           [](TaskDefinition& d, const json& v, const std::string& f) { d.identity_keys = pointers_of(v, f); }},
    Member{"identity_scope", [](TaskDefinition& d, const json& v,
                                const std::string& f) { d.scope = parse_scope(text_of(v, f, "task"), f); }},
    Member{"fingerprint",
           [](TaskDefinition& d, const json& v, const std::string& f) { d.fingerprint = fingerprint_of(v, f); }},
    Member{"reuse", [](TaskDefinition& d, const json& v,
                       const std::string& f) { d.reuse = parse_reuse(text_of(v, f, "failed_only"), f); }},
    Member{"dedup_window",
           [](TaskDefinition& d, const json& v, const std::string& f) { d.dedup_window = duration_of(v, f); }},
    Member{"queue", [](TaskDefinition& d, const json& v, const std::string& f) { d.queue = text_of(v, f, "reports"); }},
    Member{"priority", [](TaskDefinition& d, const json& v, const std::string& f) { d.priority = number_of(v, f); }},
    Member{"max_attempts",
           [](TaskDefinition& d, const json& v, const std::string& f) { d.max_attempts = number_of(v, f); }},
    Member{"max_lost", [](TaskDefinition& d, const json& v, const std::string& f) { d.max_lost = number_of(v, f); }},
    Member{"timeout", [](TaskDefinition& d, const json& v, const std::string& f) { d.timeout = duration_of(v, f); }},
    Member{"deadline", [](TaskDefinition& d, const json& v, const std::string& f) { d.deadline = duration_of(v, f); }},
    Member{"retry", [](TaskDefinition& d, const json& v, const std::string& f) { d.retry = retry_of(v, f); }},
};

std::string joined(std::string_view where, std::string_view name) {
  return where.empty() ? base::echo(name) : std::string(where) + "." + base::echo(name);
}

std::string fingerprint_text(const std::optional<Fingerprint>& fingerprint) {
  if (!fingerprint) { return "input"; }
  if (!fingerprint->compare) { return "none"; }
  return fingerprint->pointers.empty() ? "input" : json(fingerprint->pointers).dump();
}

}  // namespace

std::string_view to_word(IdentityStrategy strategy) { return word_of(strategies, strategy); }
std::string_view to_word(IdentityScope scope) { return word_of(scopes, scope); }
std::string_view to_word(Reuse reuse) { return word_of(reuses, reuse); }
std::string_view to_word(Jitter jitter) { return word_of(jitters, jitter); }
IdentityStrategy parse_strategy(std::string_view word, std::string_view field) {
  return parse_word(strategies, word, field);
}
IdentityScope parse_scope(std::string_view word, std::string_view field) { return parse_word(scopes, word, field); }
Reuse parse_reuse(std::string_view word, std::string_view field) { return parse_word(reuses, word, field); }
Jitter parse_jitter(std::string_view word, std::string_view field) { return parse_word(jitters, word, field); }

std::string encode_definition(const TaskDefinition& definition) {
  json object = json::object();
  if (definition.strategy) { object["identity_strategy"] = to_word(*definition.strategy); }
  if (!definition.identity_keys.empty()) { object["identity_keys"] = definition.identity_keys; }
  if (definition.scope) { object["identity_scope"] = to_word(*definition.scope); }
  if (definition.fingerprint) {
    const Fingerprint& fingerprint = *definition.fingerprint;
    if (fingerprint.compare && !fingerprint.pointers.empty()) {
      object["fingerprint"] = fingerprint.pointers;
    } else {
      object["fingerprint"] = fingerprint.compare ? "input" : "none";
    }
  }
  if (definition.reuse) { object["reuse"] = to_word(*definition.reuse); }
  if (definition.dedup_window) { object["dedup_window"] = format_duration(*definition.dedup_window); }
  if (definition.queue) { object["queue"] = *definition.queue; }
  if (definition.priority) { object["priority"] = *definition.priority; }
  if (definition.max_attempts) { object["max_attempts"] = *definition.max_attempts; }
  if (definition.max_lost) { object["max_lost"] = *definition.max_lost; }
  if (definition.timeout) { object["timeout"] = format_duration(*definition.timeout); }
  if (definition.deadline) { object["deadline"] = format_duration(*definition.deadline); }
  if (definition.retry) {
    const RetryPolicy& retry = *definition.retry;
    object["retry"] = {{"base", format_duration(retry.base)},
                       {"cap", format_duration(retry.cap)},
                       {"multiplier", retry.multiplier},
                       {"jitter", to_word(retry.jitter)}};
  }
  return object.dump();
}

RetryPolicy decode_retry(std::string_view text, const std::string& field) {
  base::check_json(text, field);
  return retry_of(json::parse(text), field);
}

TaskDefinition decode_definition(std::string_view text, std::string_view where) {
  base::check_json(text, where);
  const json object = json::parse(text);
  if (!object.is_object()) { throw InvalidArgument(std::string(where), "is not an object"); }
  TaskDefinition definition;
  for (const auto& [name, value] : object.items()) {
    const auto member = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.name == name; });
    if (member == members.end()) {
      std::vector<std::string> known;
      for (const Member& one : members) { known.emplace_back(one.name); }
      throw InvalidArgument(joined(where, name), "unknown key" + base::suggestion(name, known));
    }
    member->read(definition, value, joined(where, name));
  }
  check_definition(definition, where);
  return definition;
}

void check_definition(const TaskDefinition& definition, std::string_view where) {
  const auto field = [&](std::string_view name) { return joined(where, name); };
  const bool contextual = definition.strategy == IdentityStrategy::contextual;
  if (contextual && definition.identity_keys.empty()) {
    throw InvalidArgument(field("identity_keys"),
                          "is missing, and identity_strategy is contextual; expected the input's fields that tell "
                          "requests apart, such as [\"/customer_id\", \"/month\"]");
  }
  if (!contextual && !definition.identity_keys.empty()) {
    throw InvalidArgument(field("identity_keys"), "is given, but identity_strategy is not contextual");
  }
  for (const std::string& pointer : definition.identity_keys) {
    base::check_json_pointer(pointer, field("identity_keys"));
  }
  if (definition.fingerprint) {
    for (const std::string& pointer : definition.fingerprint->pointers) {
      base::check_json_pointer(pointer, field("fingerprint"));
    }
  }
  if (definition.queue) { check_name(*definition.queue, field("queue")); }
  // The other members have the rules of a request's members, so a request with their values is checked.
  NewExecution request;
  request.task = "task";
  request.priority = definition.priority.value_or(0);
  request.max_attempts = definition.max_attempts.value_or(1);
  request.max_lost = definition.max_lost.value_or(1);
  request.attempt_timeout = definition.timeout;
  request.deadline = definition.deadline;
  request.retry = definition.retry;
  try {
    check_new_execution(request);
    if (definition.dedup_window) { check_queue_patch({.dedup_window = std::optional(definition.dedup_window)}); }
  } catch (const InvalidArgument& error) {
    // The message already begins with the request's name of the field.
    throw InvalidArgument(std::string(where), error.what());
  }
}

std::string conflict_of(const TaskDefinition& stored, const TaskDefinition& declared,
                        IdentityStrategy default_strategy) {
  const auto differ = [](std::string_view name, std::string_view is, std::string_view wanted) {
    return is == wanted ? std::string()
                        : std::string(name) + " is " + std::string(is) + " there and " + std::string(wanted) + " here";
  };
  std::string text = differ("identity_strategy", to_word(stored.strategy.value_or(default_strategy)),
                            to_word(declared.strategy.value_or(default_strategy)));
  const auto window = [](const TaskDefinition& d) {
    return d.dedup_window ? format_duration(*d.dedup_window) : std::string("the queue's");
  };
  for (const std::string& next :
       {differ("identity_keys", json(stored.identity_keys).dump(), json(declared.identity_keys).dump()),
        differ("identity_scope", to_word(stored.scope.value_or(IdentityScope::task)),
               to_word(declared.scope.value_or(IdentityScope::task))),
        differ("fingerprint", fingerprint_text(stored.fingerprint), fingerprint_text(declared.fingerprint)),
        differ("reuse", to_word(stored.reuse.value_or(Reuse::failed_only)),
               to_word(declared.reuse.value_or(Reuse::failed_only))),
        differ("dedup_window", window(stored), window(declared))}) {
    if (!next.empty()) { text += (text.empty() ? "" : "; ") + next; }
  }
  return text;
}

Catalogue decode_catalogue(const StoredCatalogue& stored) {
  Catalogue catalogue;
  catalogue.version = stored.version;
  for (const TaskEntry& entry : stored.tasks) {
    catalogue.tasks.emplace(entry.name, decode_definition(entry.definition, "tasks." + entry.name));
  }
  for (const Setting& setting : stored.settings) {
    if (setting.name == default_strategy_setting) {
      catalogue.default_strategy = parse_strategy(setting.value, setting.name);
    }
    if (setting.name == require_event_id_setting) { catalogue.require_event_id = setting.value == "true"; }
  }
  return catalogue;
}

}  // namespace hapax::model
