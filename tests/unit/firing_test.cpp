#include "schedule/firing.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "model/identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hapax::schedule {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr std::string_view daily = R"({"id": "daily-report",
  "trigger": {"type": "cron", "cron": "0 9 * * *"}, "target": {"task": "generate-report"}, "input": {"kind": "daily"},
  "tasks": [{"task_type": "extract"}, {"task_type": "load", "input": {"of": "{{run_id}}"}},
            {"task_type": "extract", "queue": "etl"}]})";
constexpr std::string_view on_order = R"({"id": "on-order", "name": "Orders",
  "trigger": {"type": "event", "types": ["order.*"]}, "target": {"workflow": "process_order", "queue": "orders"}})";
constexpr std::string_view order_event =
    R"({"specversion":"1.0","id":"evt_abc123","source":"/shop","type":"order.created","data":{"total": 1.50}})";

TickReason nine() { return {.tick = {.scheduled_for = parse_time("2026-03-01T09:00:00Z")}}; }
FiringContext context() { return {.namespace_name = "default"}; }

std::vector<std::string> ids(const ActivityRun& run) {
  std::vector<std::string> all;
  for (const model::NewExecution& request : run.requests) { all.push_back(request.identity->key); }
  return all;
}

TEST(Firing, IdsAreThoseOfTheSpecification) {
  const ActivityRun run = fire(parse_activity(daily), nine(), context());
  EXPECT_EQ(run.id, "activity-daily-report:2026-03-01T09:00:00+00:00");
  EXPECT_THAT(ids(run), ElementsAre(run.id, "task-" + run.id + ":extract:0", "task-" + run.id + ":load:0",
                                    "task-" + run.id + ":extract:1"));
  const Event event = parse_event(order_event);
  EXPECT_EQ(fire(parse_activity(on_order), EventReason{event}, context()).id, "activity-on-order:evt_abc123");
  EXPECT_EQ(run_id("a", ManualReason{.key = "k", .at = Time{}}), "activity-a:manual-k");
}

// Decision 54. The identity uses the unmarked ID, so that a replayed event meets an older run.
TEST(Firing, AnEventNamedLikeARunByHandOrATickHasItsSourceInItsId) {
  json parsed = json::parse(order_event);
  const auto run_of = [&](const std::string& id) {
    parsed["id"] = id;
    parsed["source"] = "/shop";
    const Event event = parse_event(parsed.dump());
    return fire(parse_activity(on_order), EventReason{event}, context());
  };
  for (const char* id : {"manual-k", "manual-", "2026-03-01T09:00:00+00:00", "e~0123456789abcdef"}) {
    const ActivityRun run = run_of(id);
    const std::string unmarked = "activity-on-order:" + std::string(id);
    EXPECT_EQ(run.id, unmarked + "~26315ce1e9356d67");
    EXPECT_EQ(run.identity,
              model::activity_identity_hash(context().namespace_name, "on-order", unmarked + "\x1f/shop"));
  }
  for (const char* id : {"manual", "xmanual-k", "2026-03-01T09:00:00Z", "2026-03-01T09:00:00+00:001",
                         "~0123456789abcde", "e~0123456789abcdeg", "0123456789abcdef"}) {
    EXPECT_EQ(run_of(id).id, "activity-on-order:" + std::string(id));
  }
}

// Decision 58. The identity uses the plain ID, which is also the run's name unless the run names its source.
TEST(Firing, AnEventsRunNamesItsSourceWhenThePlainIdIsTaken) {
  const Event event = parse_event(order_event);
  FiringContext renamed = context();
  renamed.names_source = true;
  const ActivityRun plain = fire(parse_activity(on_order), EventReason{event}, context());
  const ActivityRun marked = fire(parse_activity(on_order), EventReason{event}, renamed);
  EXPECT_EQ(marked.id, plain.id + "~26315ce1e9356d67");
  EXPECT_EQ(marked.identity, plain.identity);
  EXPECT_EQ(plain.requests[0].identity->name, model::activity_identity_hash("default", "on-order", plain.id));
  EXPECT_FALSE(marked.requests[0].identity->name);
  EXPECT_FALSE(fire(parse_activity(daily), nine(), context()).requests[0].identity->name);
}

TEST(Firing, GoldenIdentities) {
  // Never changes, or an upgrade would start past runs again.
  const ActivityRun run = fire(parse_activity(daily), nine(), context());
  EXPECT_EQ(base::to_hex(run.identity), "0a371415e72bc9cd6af46cc4e1711c85b6cec20d1f1c098072ca5b098713b09f");
  EXPECT_EQ(run.requests[0].identity->hash, run.identity);
  EXPECT_EQ(base::to_hex(run.requests[3].identity->hash),
            "382f409629bc055374afbbf0f2193e38034ab73ee3a9631b674d371037723e98");
  const Event event = parse_event(order_event);
  EXPECT_EQ(base::to_hex(fire(parse_activity(on_order), EventReason{event}, context()).identity),
            "098087f190cc1e857410122331f6040c757013709586bf92a3fe84ae7b8c2496");
}

TEST(Firing, AHolderIsNeverReplacedAndNothingIsCompared) {
  for (const model::NewExecution& request : fire(parse_activity(daily), nine(), context()).requests) {
    EXPECT_EQ(request.identity->reuse, Reuse::reject);
    EXPECT_EQ(request.identity->fingerprint, std::nullopt);
    EXPECT_EQ(request.identity->on_conflict, OnConflict::return_existing);
    EXPECT_EQ(request.identity->mode, model::IdentityMode::hold);
  }
}

TEST(Firing, RetargetingAnActivityDoesNotFireItAgain) {
  json other = json::parse(daily);
  other["target"] = {{"workflow", "other"}, {"queue", "q"}};
  other["input"] = "other";
  EXPECT_EQ(fire(parse_activity(other.dump()), nine(), context()).identity,
            fire(parse_activity(daily), nine(), context()).identity);
}

TEST(Firing, IdentitiesDifferByActivityNamespaceTickSourceAndKind) {
  json other = json::parse(daily);
  other["id"] = "weekly-report";
  const base::Digest first = fire(parse_activity(daily), nine(), context()).identity;
  EXPECT_NE(fire(parse_activity(other.dump()), nine(), context()).identity, first);
  EXPECT_NE(fire(parse_activity(daily), nine(), {.namespace_name = "b"}).identity, first);
  TickReason ten = nine();
  ten.tick.scheduled_for += std::chrono::hours(1);
  EXPECT_NE(fire(parse_activity(daily), ten, context()).identity, first);
  Event event = parse_event(order_event);
  const base::Digest of_shop = fire(parse_activity(on_order), EventReason{event}, context()).identity;
  event.source = "/other";
  EXPECT_NE(fire(parse_activity(on_order), EventReason{event}, context()).identity, of_shop);
}

TEST(Firing, ACompressedRunHasTheLastTicksIdAndTheWindow) {
  TickReason reason = nine();
  reason.tick.window = {.from = parse_time("2026-02-26T09:00:00Z"), .to = reason.tick.scheduled_for, .missed = 4};
  const ActivityRun run = fire(parse_activity(daily), reason, context());
  EXPECT_EQ(run.id, "activity-daily-report:2026-03-01T09:00:00+00:00");
  EXPECT_EQ(
      run.requests[0].input,
      R"({"input":{"kind":"daily"},"trigger":{"kind":"cron","scheduled_for":"2026-03-01T09:00:00+00:00","window":{"from":"2026-02-26T09:00:00+00:00","to":"2026-03-01T09:00:00+00:00","missed":4},"last_result":null}})");
}

TEST(Firing, ABackfilledTickHasTheTicksIdentity) {
  TickReason reason = nine();
  reason.backfill = true;
  const ActivityRun run = fire(parse_activity(daily), reason, context());
  EXPECT_EQ(run.identity, fire(parse_activity(daily), nine(), context()).identity);
  EXPECT_EQ(json::parse(run.requests[0].input)["trigger"]["backfill"], true);
}

TEST(Firing, TheInputHasTheTemplateFilledInAndTheTrigger) {
  FiringContext with_result = context();
  with_result.last_result = R"({"rows": 7})";
  const ActivityRun run = fire(parse_activity(daily), nine(), with_result);
  EXPECT_EQ(
      run.requests[0].input,
      R"({"input":{"kind":"daily"},"trigger":{"kind":"cron","scheduled_for":"2026-03-01T09:00:00+00:00","window":null,"last_result":{"rows": 7}}})");
  EXPECT_EQ(json::parse(run.requests[1].input)["input"], nullptr);
  EXPECT_EQ(json::parse(run.requests[2].input)["input"]["of"], run.id);
  EXPECT_EQ(json::parse(run.requests[2].input)["trigger"]["last_result"]["rows"], 7);

  const Event event = parse_event(order_event);
  EXPECT_EQ(
      fire(parse_activity(on_order), EventReason{event}, context()).requests[0].input,
      R"({"input":null,"trigger":{"kind":"event","event":{"specversion":"1.0","id":"evt_abc123","source":"/shop","type":"order.created","data":{"total": 1.50}}}})");
}

TEST(Firing, EveryPlaceOfATemplateHasItsValue) {
  json activity = json::parse(on_order);
  activity["input"] = {"{{activity.id}}",  "{{activity.name}}",    "{{run_id}}",     "{{event.id}}",
                       "{{event.source}}", "{{event.type}}",       "{{event.time}}", "{{event.subject}}",
                       "{{event.data}}",   "{{event.data/total}}", "{{event/data}}"};
  Event event = parse_event(order_event);
  event.subject = "s";
  event.time = parse_time("2026-03-01T09:00:00Z");
  const json data = {{"total", 1.5}};
  EXPECT_EQ(
      json::parse(fire(parse_activity(activity.dump()), EventReason{event}, context()).requests[0].input)["input"],
      json({"on-order", "Orders", "activity-on-order:evt_abc123", "evt_abc123", "/shop", "order.created",
            "2026-03-01T09:00:00Z", "s", data, 1.5, data}));

  json clock = json::parse(daily);
  clock["input"] = {"{{scheduled_for}}", "{{window/missed}}", "{{last_result/rows}}", "day {{scheduled_for}}"};
  FiringContext with_result = context();
  with_result.last_result = R"({"rows":7})";
  EXPECT_EQ(json::parse(fire(parse_activity(clock.dump()), nine(), with_result).requests[0].input)["input"],
            json({"2026-03-01T09:00:00+00:00", nullptr, 7, "day 2026-03-01T09:00:00+00:00"}));
}

TEST(Firing, ByHand) {
  const Time now = parse_time("2026-03-01T12:34:56.789Z");
  const ActivityRun by_clock = fire(parse_activity(daily), ManualReason{.key = "k1", .at = now}, context());
  EXPECT_EQ(by_clock.id, "activity-daily-report:manual-k1");
  const json trigger = json::parse(by_clock.requests[0].input)["trigger"];
  EXPECT_EQ(trigger["kind"], "manual");
  EXPECT_EQ(trigger["scheduled_for"], "2026-03-01T12:34:56+00:00");

  const Event event = parse_event(order_event);
  const ActivityRun with_event =
      fire(parse_activity(on_order), ManualReason{.key = "k", .at = now, .event = &event}, context());
  EXPECT_EQ(json::parse(with_event.requests[0].input)["trigger"]["event"]["id"], "evt_abc123");
  const ActivityRun without = fire(parse_activity(on_order), ManualReason{.key = "k", .at = now}, context());
  EXPECT_EQ(json::parse(without.requests[0].input)["trigger"], json({{"kind", "manual"}, {"event", nullptr}}));
  EXPECT_THROW((void)fire(parse_activity(daily), ManualReason{.key = "", .at = now}, context()), InvalidArgument);
}

TEST(Firing, AReasonHasToFitTheTrigger) {
  const Event event = parse_event(order_event);
  EXPECT_THROW((void)fire(parse_activity(daily), EventReason{event}, context()), InvalidArgument);
  EXPECT_THROW((void)fire(parse_activity(on_order), nine(), context()), InvalidArgument);
}

TEST(Firing, TheQueueIsTheTargetsElseTheCataloguesElseTheDefault) {
  model::Catalogue catalogue;
  catalogue.tasks["generate-report"] =
      model::decode_definition(R"({"queue": "reports", "priority": 5, "max_attempts": 9, "timeout": "30s",
                                   "dedup_window": "30d", "identity_strategy": "caller_provided"})",
                               "tasks");
  FiringContext with_catalogue = context();
  with_catalogue.catalogue = &catalogue;
  const ActivityRun run = fire(parse_activity(daily), nine(), with_catalogue);
  const model::NewExecution& target = run.requests[0];
  EXPECT_EQ(target.task, "generate-report");
  EXPECT_EQ(target.kind, model::Kind::task);
  EXPECT_EQ(target.queue, (model::QueueRef{.namespace_name = "default", .name = "reports"}));
  EXPECT_EQ(target.priority, 5);
  EXPECT_EQ(target.max_attempts, 9);
  EXPECT_EQ(target.attempt_timeout, std::chrono::seconds(30));
  EXPECT_EQ(target.identity->dedup_window, std::chrono::days(30));
  EXPECT_EQ(target.identity->fingerprint, std::nullopt);
  EXPECT_EQ(run.requests[1].queue.name, "default");
  EXPECT_EQ(run.requests[3].queue.name, "etl");

  const Event event = parse_event(order_event);
  const ActivityRun workflow = fire(parse_activity(on_order), EventReason{event}, with_catalogue);
  EXPECT_EQ(workflow.requests[0].kind, model::Kind::workflow);
  EXPECT_EQ(workflow.requests[0].queue.name, "orders");
}

TEST(Firing, ALastResultThatIsTooLargeOrTooDeepDoesNotKeepTheNextRunFromStarting) {
  for (const std::string& result :
       {"\"" + std::string(limits::last_result_bytes, 'x') + "\"", std::string(60, '[') + std::string(60, ']')}) {
    FiringContext with_result = context();
    with_result.last_result = result;
    const json trigger = json::parse(fire(parse_activity(daily), nine(), with_result).requests[0].input)["trigger"];
    EXPECT_EQ(trigger["last_result"], nullptr);
    EXPECT_EQ(trigger["last_result_omitted"], true);
  }
}

TEST(Firing, UnderASmallPayloadLimitWhatIsHandedOnIsSmallerStill) {
  base::set_payload_limit(64 << 10);
  FiringContext with_result = context();
  with_result.last_result = "\"" + std::string(20 << 10, 'x') + "\"";
  json activity = json::parse(daily);
  activity["input"] = {"{{last_result}}", "{{last_result}}"};
  const json trigger =
      json::parse(fire(parse_activity(activity.dump()), nine(), with_result).requests[0].input)["trigger"];
  EXPECT_EQ(trigger["last_result_omitted"], true);
  const std::string start = R"({"specversion":"1.0","id":"1","source":"s","type":"order.x","data":")";
  EXPECT_THROW((void)parse_event(start + std::string(16 << 10, 'x') + "\"}"), PayloadTooLarge);
  json on = json::parse(on_order);
  on["input"] = "{{event.data}}";
  const Event event = parse_event(start + std::string(15 << 10, 'x') + "\"}");
  EXPECT_NO_THROW((void)fire(parse_activity(on.dump()), EventReason{event}, context()));
  base::set_payload_limit(limits::payload_default);
}

TEST(Firing, TheLargestAndDeepestEventFitsIntoAnInput) {
  json activity = json::parse(on_order);
  activity["input"] = json::parse(R"([[[[[[[[[[[[[[["{{event.data}}"]]]]]]]]]]]]]]])");
  const std::string start = R"({"specversion":"1.0","id":"1","source":"s","type":"order.x","data":)";
  const Event deep = parse_event(start + std::string(40, '[') + std::string(40, ']') + "}");
  EXPECT_NO_THROW((void)fire(parse_activity(activity.dump()), EventReason{deep}, context()));
  const Event large = parse_event(start + "\"" + std::string(limits::event_bytes - 100, 'x') + "\"}");
  EXPECT_NO_THROW((void)fire(parse_activity(activity.dump()), EventReason{large}, context()));
  activity["input"] = {"{{event.data}}", "{{event.data}}", "{{event.data}}", "{{event.data}}"};
  EXPECT_THROW((void)fire(parse_activity(activity.dump()), EventReason{large}, context()), PayloadTooLarge);
}

}  // namespace
}  // namespace hapax::schedule
