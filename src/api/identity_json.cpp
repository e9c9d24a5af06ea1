#include "api/identity_json.hpp"

#include "base/json_out.hpp"
#include "base/sha256.hpp"
#include "engine/build_request.hpp"
#include "model/admission.hpp"
#include "model/refusal.hpp"

#include <algorithm>

namespace hapax::api {
namespace {

std::string_view word_of(const model::AdmissionDecision& decision) {
  if (decision.step == model::AdmissionStep::replace) { return "replaced"; }
  if (decision.step != model::AdmissionStep::answer) { return "created"; }
  switch (decision.admission.verdict) {
    case model::AdmissionVerdict::created: return "created";
    case model::AdmissionVerdict::deduplicated: return "deduplicated";
    case model::AdmissionVerdict::taken_over: return "taken_over";
    default: return model::refusal_name(decision.admission.verdict);
  }
}

bool is_draining(store::Store& store, const model::QueueRef& name) {
  const std::vector<model::QueueInfo> queues = store.queues(name.namespace_name);
  return std::any_of(queues.begin(), queues.end(),
                     [&](const model::QueueInfo& info) { return info.queue == name && info.settings.draining; });
}

void meet(store::Store& store, AskedIdentity& asked) {
  model::AdmissionDecision decision{.step = model::AdmissionStep::new_run, .admission = {}};
  if (asked.request.identity) {
    asked.holding = store.holding(asked.request.identity->hash);
    if (asked.holding) {
      if (model::latest_counts(asked.request.identity->mode) && !is_terminal(asked.holding->holder.status)) {
        const std::optional<model::Execution> live = store.get(asked.holding->holder.id);
        if (live) { asked.holding->holder.place = model::place_of(*live, asked.request); }
      }
      decision = model::decide_admission(asked.holding->holder, *asked.request.identity, store.now());
    }
  }
  asked.would = word_of(decision);
  if (asked.would == "created" && is_draining(store, asked.request.queue)) { asked.would = "QueueDraining"; }
}

std::string holding_json(const model::Holding& holding) {
  base::JsonObject object;
  object.text("id", holding.holder.id.to_string()).text("status", to_string(holding.holder.status));
  object.number("run", std::int64_t{holding.holder.run});
  object.time("created_at", holding.holder.created_at).time("finished_at", holding.holder.finished_at);
  object.time("held_until", holding.until).boolean("expired", holding.holder.expired);
  return object.str();
}

std::string hex(const std::optional<base::Digest>& digest) { return digest ? base::to_hex(*digest) : std::string(); }

}  // namespace

AskedIdentity ask_identity(store::Store& store, const std::string& namespace_name, engine::CatalogueCache& catalogue,
                           const RequestFields& fields) {
  const TaskSpec task{.name = fields.task, .options = {}};
  const engine::CatalogueCache::Entry entry = catalogue.find(task);
  AskedIdentity asked{.request = make_request(fields, namespace_name, catalogue),
                      .rules = engine::rules_for(task, entry),
                      .catalogued = entry.definition != nullptr,
                      .canonical = {},
                      .holding = {},
                      .would = {}};
  if (asked.request.identity && asked.request.identity->key.empty()) {
    asked.canonical = model::key_material(asked.rules, asked.request.task, asked.request.input)->canonical;
  }
  meet(store, asked);
  return asked;
}

std::string identity_json(const AskedIdentity& asked) {
  const model::NewExecution& request = asked.request;
  const std::optional<model::IdentityClaim>& identity = request.identity;
  base::JsonObject object;
  object.text("task", request.task).text("namespace", request.queue.namespace_name).text("queue", request.queue.name);
  object.text("strategy", model::to_word(asked.rules.strategy)).boolean("catalogued", asked.catalogued);
  object.text("scope", model::to_word(asked.rules.scope));
  object.text_or_null("task_id", identity ? identity->key : "");
  object.text_or_null("canonical", asked.canonical);
  object.text_or_null("identity", identity ? base::to_hex(identity->hash) : "");
  object.text_or_null("fingerprint", identity ? hex(identity->fingerprint) : "");
  if (asked.holding) {
    object.raw("holder", holding_json(*asked.holding));
  } else {
    object.null("holder");
  }
  return object.text("would", asked.would).str();
}

}  // namespace hapax::api
