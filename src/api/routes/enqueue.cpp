// POST /v1/tasks/{task}/executions and /v1/workflows/{workflow}/executions.
#include "api/routes/admission_answer.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/feed.hpp"
#include "api/routes/idempotency_key.hpp"
#include "api/routes/waiting.hpp"

#include "api/execution_json.hpp"
#include "api/identity_json.hpp"
#include "base/text.hpp"
#include "model/refusal.hpp"

namespace hapax::api {

namespace {

constexpr Duration usual_wait = std::chrono::seconds(30);

// Takes the key from the header Idempotency-Key. The header and the key in the body must be equal if both are given.
void add_header_key(api::RequestFields& fields, const http::Request& request) {
  const std::optional<std::string> key = idempotency_key(request);
  if (!key) { return; }
  std::optional<std::string>& given = fields.options.task_id;
  if (given && *given != *key) {
    throw InvalidArgument("idempotency_key", "the header Idempotency-Key has " + base::quoted(*key) + " and the body " +
                                                 base::quoted(*given) + "; expected one of them, or the same");
  }
  given = *key;
}

api::RequestFields fields_of(http::Call& call, model::Kind kind) {
  api::RequestFields defaults;
  defaults.kind = kind;
  defaults.options.on_conflict = OnConflict::reject;
  defaults.on_conflict_is_default = true;
  const std::string name(kind == model::Kind::workflow ? "workflow" : "task");
  const std::string& body = call.body();
  api::RequestFields fields =
      body.empty() ? std::move(defaults) : api::parse_request(body, std::move(defaults), "body");
  const std::string& task = call.parameter(name);
  if (!fields.task.empty() && fields.task != task) {
    throw InvalidArgument(
        "task", base::quoted(fields.task) + ", but the path says " + base::quoted(task) + "; expected it there alone");
  }
  fields.task = task;
  add_header_key(fields, call.request());
  if (fields.options.traceparent.empty()) {
    fields.options.traceparent = call.traceparent();
    fields.options.tracestate = call.tracestate();
  }
  fields.actor = actor_of(call.principal());
  return fields;
}

// The answer to an accepted debounced request of a caller without the read scope: it does not name the execution.
std::string taken_json() { return R"({"id":null,"created":false,"status":"pending","run":null})"; }

http::Response answer_admission(Api& api, http::Call& call, const api::RequestFields& fields,
                                const model::Asking& asked, const model::Admission& admission) {
  const http::Principal& principal = call.principal();
  if (std::optional<http::Problem> refusal = refusal_of(admission, asked, principal)) {
    http::Response response = problem_answer_of(*refusal);
    if (is_in_progress(admission, principal)) { response.headers.emplace_back("Retry-After", "1"); }
    return response;
  }
  if (!admission.created() && !principal.read) { return json_answer(taken_json()); }
  std::optional<model::Outcome> end;
  if (!admission.created() && fields.options.on_conflict == OnConflict::wait && !is_terminal(admission.status)) {
    end = wait_for_outcome(call, api.engine(), admission.id, fields.options.wait_timeout.value_or(usual_wait));
    if (!end) {
      end = call.blocking([&] { return api.store().outcomes({&admission.id, 1}).front(); });
    }
  }
  api.feeds().changed(principal.namespace_name, admission.id);
  http::Response response = json_answer(api::admission_json(admission, end), admission.created() ? 201 : 200);
  if (admission.created()) { response.headers.emplace_back("Location", "/v1/executions/" + admission.id.to_string()); }
  return response;
}

http::Response admit(Api& api, http::Call& call, model::Kind kind) {
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  api::RequestFields fields;
  model::Asking asked;
  model::Admission admission;
  try {
    fields = fields_of(call, kind);
    fit_to_principal(fields, call.principal());
    // The wait is checked before anything is written, not when the outcome is awaited.
    if (fields.options.wait_timeout) { (void)checked_wait(*fields.options.wait_timeout, "wait_timeout"); }
    const auto ask = [&] {
      return engine::with_current_catalogue(tenant->catalogue(), [&] {
        model::NewExecution request =
            api::make_request(fields, tenant->namespace_name(), tenant->entry(call, fields.task));
        asked = model::asking_of(fields.task, fields.options, request);
        return call.await<model::Admission>(
            [&](auto done) { api.engine().admit_async(std::move(request), std::move(done)); });
      });
    };
    admission = ask();
    // A holder past its deadline holds nothing.
    if (!admission.created() && !is_terminal(admission.status) && api.ends_overdue() &&
        call.blocking([&] { return api.end_if_overdue(admission.id); })) {
      admission = ask();
    }
    fields.input.clear();
  } catch (const InvalidArgument& error) { return problem_answer_of(named_for_api(http::problem_of(error), kind)); }
  return answer_admission(api, call, fields, asked, admission);
}

// The admission that an enqueue with this body would get; writes nothing.
http::Response identity(Api& api, http::Call& call) {
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  try {
    const api::RequestFields fields = fields_of(call, model::Kind::task);
    return json_answer(call.blocking([&] {
      return api::identity_json(api::ask_identity(api.store(), tenant->namespace_name(), tenant->catalogue(), fields));
    }));
  } catch (const InvalidArgument& error) { return problem_answer_of(named_for_api(http::problem_of(error))); }
}

}  // namespace

void add_enqueue_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  router.add({.method = "POST",
              .pattern = "/v1/tasks/{task}/executions",
              .scope = http::Scope::enqueue,
              .body = http::BodyRule::json,
              .handler = [api](http::Call& call) { return admit(*api, call, model::Kind::task); },
              .takes_key = true});
  router.add({.method = "POST",
              .pattern = "/v1/workflows/{workflow}/executions",
              .scope = http::Scope::enqueue,
              .body = http::BodyRule::json,
              .handler = [api](http::Call& call) { return admit(*api, call, model::Kind::workflow); },
              .takes_key = true});
  router.add({.method = "POST",
              .pattern = "/v1/tasks/{task}/identity",
              .scope = http::Scope::read,
              .body = http::BodyRule::json,
              .handler = [api](http::Call& call) { return identity(*api, call); },
              .takes_key = true});
}

}  // namespace hapax::api
