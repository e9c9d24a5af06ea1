// POST /v1/claims/finish: workers report the outcomes of their claims.
#include "api/routes/api.hpp"
#include "api/routes/claim_body.hpp"
#include "api/routes/remote_sessions.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <mutex>

namespace hapax::api {

namespace {

constexpr std::size_t outcomes_bytes = 16 << 20;
static_assert(outcomes_bytes >= 2 * limits::payload_max, "the largest result must find room, escapes included");

using Verdict = model::FinishVerdict;

// Records the outcomes in one batch with outcomes that other workers report at the same time.
std::vector<Verdict> record(Api& api, http::Call& call, std::vector<RemoteSessions::Prepared> prepared) {
  struct Gathered {
    std::mutex mutex;
    std::vector<Verdict> verdicts;
    std::exception_ptr error;
    std::size_t left = 0;
  };
  const auto gathered = std::make_shared<Gathered>();
  gathered->verdicts.resize(prepared.size());
  gathered->left = prepared.size();
  return call.await<std::vector<Verdict>>([&](auto done) {
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      api.sessions().finish_async(std::move(prepared[i]),
                                  [gathered, done, i](Verdict verdict, std::exception_ptr error) {
                                    {
                                      const std::lock_guard lock(gathered->mutex);
                                      gathered->verdicts[i] = verdict;
                                      if (error) { gathered->error = std::move(error); }
                                      if (--gathered->left > 0) { return; }
                                    }
                                    done(gathered->verdicts, gathered->error);
                                  });
    }
  });
}

std::string verdicts_json(const std::vector<Uuid>& ids, const std::vector<Verdict>& verdicts) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    base::JsonObject item;
    item.text("id", ids[i].to_string());
    items.push_back(item.text("verdict", verdicts[i] == Verdict::accepted ? "accepted" : "stale").str());
  }
  return base::json_array(items);
}

http::Response finish(Api& api, http::Call& call) {
  const base::JsonView body(call.body(), {"outcomes", "session"}, "body", outcome_levels);
  std::vector<ReportedOutcome> outcomes = outcomes_of(body);
  const std::string& namespace_name = call.principal().namespace_name;
  std::vector<Uuid> ids;
  for (const ReportedOutcome& outcome : outcomes) { ids.push_back(outcome.id); }
  std::vector<std::optional<RemoteSessions::Prepared>> made;
  const auto prepare = [&] {
    for (ReportedOutcome& outcome : outcomes) {
      made.push_back(api.sessions().prepare(namespace_name, std::move(outcome)));
    }
  };
  const bool all_known = std::all_of(outcomes.begin(), outcomes.end(), [&](const ReportedOutcome& outcome) {
    return api.sessions().is_known(namespace_name, outcome);
  });
  if (all_known) {
    prepare();
  } else {
    call.blocking(prepare);
  }
  std::vector<RemoteSessions::Prepared> prepared;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) { continue; }
    prepared.push_back(std::move(*made[i]));
    places.push_back(i);
  }
  std::vector<Verdict> verdicts(ids.size(), Verdict::stale);
  if (!prepared.empty()) {
    const std::vector<Verdict> answered = record(api, call, std::move(prepared));
    for (std::size_t i = 0; i < places.size(); ++i) { verdicts[places[i]] = answered[i]; }
  }
  const std::string verdict_array = verdicts_json(ids, verdicts);
  if (std::find(verdicts.begin(), verdicts.end(), Verdict::accepted) == verdicts.end()) {
    return stale_answer("none of these executions is leased to you under that fence any more; nothing was changed",
                        base::JsonObject().raw("verdicts", verdict_array).tail());
  }
  return json_answer(base::JsonObject().raw("verdicts", verdict_array).str());
}

}  // namespace

void add_finish_route(http::Router& router, const std::shared_ptr<Api>& api) {
  router.add({.method = "POST",
              .pattern = "/v1/claims/finish",
              .scope = http::Scope::work,
              .body = http::BodyRule::json,
              .handler = [api](http::Call& call) { return finish(*api, call); },
              .body_limit = outcomes_bytes});
}

}  // namespace hapax::api
