#include "schedule/activity.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hapax::schedule {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

json cron_activity() {
  return json::parse(R"({"id": "daily-report", "name": "Daily report",
    "trigger": {"type": "cron", "cron": "0 9 * * 1-5", "time_zone": "Europe/Zurich", "misfire_policy": "catchup",
                "catchup_limit": 10, "overlap": "skip", "jitter": "30s"},
    "target": {"task": "generate-report", "queue": "reports"}, "input": {"kind": "daily"},
    "dedupe_key_strategy": "catchup",
    "tasks": [{"task_type": "extract", "input": {}}, {"task_type": "load", "input": {}}]})");
}

json event_activity() {
  return json::parse(R"({"id": "on-order",
    "trigger": {"type": "event", "types": ["order.*"], "source": "/shop", "filter": {"/data/country": ["CH", "AT"]}},
    "target": {"workflow": "process_order"}})");
}

// The path and the message of the error for `document`; empty if it is accepted.
struct Refusal {
  std::string field;
  std::string message;
};
Refusal refusal_of(const json& document, std::string_view where = "") {
  try {
    (void)parse_activity(document.dump(), where);
  } catch (const InvalidArgument& error) { return {error.field(), error.what()}; }
  return {};
}

TEST(Activity, TheSpecificationsExamplesAreRead) {
  const Activity daily = parse_activity(cron_activity().dump());
  EXPECT_EQ(daily.id, "daily-report");
  EXPECT_EQ(daily.name, "Daily report");
  ASSERT_NE(daily.cron(), nullptr);
  EXPECT_EQ(daily.cron()->timetable.describe(), "at 09:00 on weekdays, Europe/Zurich");
  EXPECT_EQ(daily.cron()->misfire_policy, MisfirePolicy::catchup);
  EXPECT_EQ(daily.cron()->overlap, Overlap::skip);
  EXPECT_EQ(daily.cron()->jitter, 30s);
  EXPECT_EQ(daily.target.kind, model::Kind::task);
  EXPECT_EQ(daily.target.queue, "reports");
  EXPECT_EQ(daily.tasks.size(), 2U);

  const Activity on_order = parse_activity(event_activity().dump());
  EXPECT_EQ(on_order.name, "on-order");
  ASSERT_NE(on_order.event(), nullptr);
  EXPECT_EQ(on_order.event()->filter.front().values, (std::vector<std::string>{"\"AT\"", "\"CH\""}));
  EXPECT_EQ(on_order.target.kind, model::Kind::workflow);
}

TEST(Activity, WhatIsNotSaidHasTheDocumentedDefault) {
  const Activity activity =
      parse_activity(R"({"id": "a", "trigger": {"type": "cron", "cron": "@daily"}, "target": {"task": "t"}})");
  const CronTrigger& trigger = *activity.cron();
  EXPECT_EQ(trigger.timetable.zone().name(), "UTC");
  EXPECT_EQ(trigger.misfire_policy, MisfirePolicy::skip);
  EXPECT_EQ(trigger.misfire_grace, 60s);
  EXPECT_EQ(trigger.catchup_limit, 10);
  EXPECT_EQ(trigger.overlap, Overlap::allow);
  EXPECT_EQ(trigger.jitter, 0s);
  EXPECT_EQ(activity.input.json(), "null");
}

TEST(Activity, EncodedItIsCanonicalAndReadsBackToTheSameBytes) {
  for (json document : {cron_activity(), event_activity()}) {
    const std::string encoded = encode_activity(parse_activity(document.dump(2)));
    EXPECT_EQ(encode_activity(parse_activity(encoded)), encoded);
  }
  EXPECT_EQ(
      encode_activity(parse_activity(
          R"({"target":{"task":"t"},"trigger":{"cron":" @every 90s ","type":"cron","jitter":"1m","start":"2026-03-01T10:00:00+01:00"},"id":"a"})")),
      R"({"dedupe_key_strategy":"skip","id":"a","input":null,"name":"a","target":{"task":"t"},"trigger":{"catchup_limit":10,"cron":"@every 90s","jitter":"1m","misfire_grace":"1m","misfire_policy":"skip","overlap":"allow","start":"2026-03-01T09:00:00Z","time_zone":"UTC","type":"cron"}})");
}

TEST(Activity, SpellingOrderAndDefaultsMakeNoOtherVersion) {
  json said = event_activity();
  said["name"] = "on-order";
  said["input"] = nullptr;
  said["trigger"]["types"] = {"order.*", "order.*"};
  said["trigger"]["filter"] = {{"/data/country", {{"in", {"AT", "CH", "CH"}}}}};
  EXPECT_EQ(encode_activity(parse_activity(said.dump())), encode_activity(parse_activity(event_activity().dump())));
  json other = said;
  other["trigger"]["filter"] = {{"/data/country", "CH"}};
  EXPECT_NE(encode_activity(parse_activity(other.dump())), encode_activity(parse_activity(said.dump())));
}

TEST(Activity, StoredByAnEarlierBuildASeventhWeekdayIsReadAsWhatItMeant) {
  json stored = cron_activity();
  stored["trigger"]["cron"] = "0 9 7/7 * 1,7/2";
  EXPECT_THAT(refusal_of(stored).message, HasSubstr("7/2"));
  json meant = cron_activity();
  meant["trigger"]["cron"] = "0 9 7/7 * 1,0/2";
  EXPECT_EQ(encode_activity(parse_stored_activity(stored.dump())), encode_activity(parse_activity(meant.dump())));
  EXPECT_EQ(encode_activity(parse_stored_activity(event_activity().dump())),
            encode_activity(parse_activity(event_activity().dump())));
}

TEST(Activity, InputKeepsIntegersOf64Bits) {
  json document = event_activity();
  document["input"] = {{"big", 9007199254740993}, {"most", 18446744073709551615U}, {"text", "{{event.id}}"}};
  EXPECT_EQ(parse_activity(document.dump()).input.json(),
            R"({"big":9007199254740993,"most":18446744073709551615,"text":"{{event.id}}"})");
}

struct Bad {
  std::string pointer;  // the member to set in the cron activity or, for events, in the event activity
  std::string value;    // JSON; empty: the member is removed
  std::string field;
  std::string part;  // a part of the message
  bool event = false;
};

std::vector<Bad> bad_cron() {
  return {
      {"/id", "", "id", "is missing; expected a text such as \"daily-report\""},
      {"/id", "7", "id", "is 7; expected a text"},
      {"/id", R"("")", "id", "is empty"},
      {"/id", R"("a:b")", "id", "has a colon"},
      {"/id", R"("a\u0007b")", "id", "has control characters"},
      {"/id", "\"" + std::string(201, 'x') + "\"", "id", "(201 bytes) is too long"},
      {"/name", R"("")", "name", "is empty"},
      {"/description", "\"" + std::string(2049, 'x') + "\"", "description", "expected at most 2048 bytes"},
      {"/triger", "{}", "triger", "unknown key; did you mean \"trigger\"?"},
      {"/zebra", "1", "zebra", "unknown key; expected id, name, description,"},
      {"/trigger", "", "trigger", "is missing; expected an object such as"},
      {"/trigger", "\"@daily\"", "trigger", "is \"@daily\"; expected an object such as"},
      {"/trigger/type", "", "trigger.type", "is missing; expected \"cron\" or \"event\""},
      {"/trigger/type", "\"timer\"", "trigger.type", "'timer' is none; expected cron or event"},
      {"/trigger/cron", "", "trigger.cron", "is missing; expected a text such as"},
      {"/trigger/cron", "\"0 25 * * *\"", "trigger.cron", "25"},
      {"/trigger/cron", "\"0 0 30 2 *\"", "trigger.cron", "example"},
      {"/trigger/time_zone", "\"Europe/Zurch\"", "trigger.time_zone", "Europe/Zurich"},
      {"/trigger/timezone", "\"UTC\"", "trigger.timezone", "did you mean \"time_zone\"?"},
      {"/trigger/misfire_policy", "\"later\"", "trigger.misfire_policy",
       "'later' is none; expected skip, catchup or compress"},
      {"/trigger/misfire_grace", "\"500ms\"", "trigger.misfire_grace", "expected a duration from 1s"},
      {"/trigger/misfire_grace", "60", "trigger.misfire_grace", "is 60; expected a text such as \"30s\""},
      {"/trigger/catchup_limit", "0", "trigger.catchup_limit", "is 0; expected a whole number from 1 to 1000"},
      {"/trigger/catchup_limit", "18446744073709551615", "trigger.catchup_limit", "expected a whole number"},
      {"/trigger/catchup_limit", "1.5", "trigger.catchup_limit", "expected a whole number"},
      {"/trigger/overlap", "\"queue\"", "trigger.overlap", "expected allow, skip, buffer_one, buffer_all,"},
      {"/trigger/jitter", "\"-1s\"", "trigger.jitter", "is negative"},
      {"/trigger/jitter", "\"3d\"", "trigger.jitter", "less than the time from tick to tick, which is 3d"},
      {"/trigger/start", "\"yesterday\"", "trigger.start", "2026"},
      {"/trigger/start", "\"2200-01-01T00:00:00Z\"", "trigger.start", "from 1970 to 2199"},
      {"/trigger/end", "\"1970-01-01T00:00:00Z\"", "trigger.end", "before the first tick"},
      {"/target", "", "target", "is missing; expected what to run, such as {\"task\": \"generate-report\"}"},
      {"/target", "{}", "target", "names neither a task nor a workflow"},
      {"/target/workflow", "\"w\"", "target", "names a task and a workflow"},
      {"/target/task", "\"\"", "target.task", "is empty"},
      {"/target/queue", "\"\"", "target.queue", "is empty"},
      {"/target/tsk", "\"x\"", "target.tsk", "did you mean \"task\"?"},
      {"/input/when", "\"{{scheduled_four}}\"", "input", "did you mean \"scheduled_for\"?"},
      {"/input/when", "\"{{event.data}}\"", "input", "an activity with a cron trigger does not have"},
      {"/tasks", "{}", "tasks", "is {}; expected a list of at most 50 task instances such as"},
      {"/tasks/1/task_type", "", "tasks[1].task_type", "is missing"},
      {"/tasks/0/queue", "7", "tasks[0].queue", "is 7; expected a text"},
      {"/tasks/0/input", "\"{{nothing}}\"", "tasks[0].input", "which is unknown"},
      {"/tasks/0/name", "\"x\"", "tasks[0].name", "unknown key"},
      {"/dedupe_key_strategy", "\"skip\"", "dedupe_key_strategy",
       "is skip, but trigger.misfire_policy is catchup; expected the two to be the same"},
      {"/dedupe_key_strategy", "\"never\"", "dedupe_key_strategy", "'never' is none"},
      {"/trigger/misfire_policy", "", "dedupe_key_strategy", "is catchup, but trigger.misfire_policy is skip"},
  };
}

std::vector<Bad> bad_event() {
  return {
      {"/dedupe_key_strategy", "\"skip\"", "dedupe_key_strategy", "misses no ticks", true},
      {"/trigger/types", "", "trigger.types", "is missing; expected a list of event types such as", true},
      {"/trigger/types", "[]", "trigger.types", "is empty, so no event would match", true},
      {"/trigger/types", "\"order.*\"", "trigger.types", "expected a list of event types", true},
      {"/trigger/types/0", "\"\"", "trigger.types[0]", "is empty", true},
      {"/trigger/types/0", "7", "trigger.types[0]", "is 7; expected a text such as \"order.*\"", true},
      {"/trigger/source", "\"\"", "trigger.source", "is \"\"; expected 1 to 1024 bytes", true},
      {"/trigger/overlap", "\"skip\"", "trigger.overlap", "unknown key; expected type, types, source or filter", true},
      {"/trigger/filter", "[]", "trigger.filter",
       R"(is []; expected an object such as {"/data/country": ["CH", "AT"]})", true},
      {"/trigger/filter", R"({"country": "CH"})", "trigger.filter[\"country\"]", "does not begin with a slash", true},
      {"/trigger/filter", R"({"/data/a~2": 1})", "trigger.filter[\"/data/a~2\"]", "neither ~0 nor ~1", true},
      {"/trigger/filter", R"({"": 1})", "trigger.filter[\"\"]", "names no attribute", true},
      {"/trigger/filter", R"({"/Data/x": 1})", "trigger.filter[\"/Data/x\"]", "begins with no attribute's name", true},
      {"/trigger/filter", R"({"/subject/x": 1})", "trigger.filter[\"/subject/x\"]", "which has no parts", true},
      {"/trigger/filter", R"({"/data/x": []})", "trigger.filter[\"/data/x\"]", "a list of 1 to 100 values", true},
      {"/trigger/filter", R"({"/data/x": {}})", "trigger.filter[\"/data/x\"]", "one of \"equals\", \"in\"", true},
      {"/trigger/filter", R"({"/data/x": {"is": 1}})", "trigger.filter[\"/data/x\"].is", "unknown key", true},
      {"/trigger/filter", R"({"/data/x": {"exists": 1}})", "trigger.filter[\"/data/x\"].exists", "true or false", true},
      {"/trigger/filter", R"({"/data/x": {"in": 1}})", "trigger.filter[\"/data/x\"].in", "a list of 1 to 100", true},
      {"/input", "\"{{scheduled_for}}\"", "input", "an activity with an event trigger does not have", true},
  };
}

TEST(Activity, BadDefinitionsGetAnErrorThatNamesTheMemberAndWhatWasExpected) {
  std::vector<Bad> all = bad_cron();
  for (const Bad& bad : bad_event()) { all.push_back(bad); }
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.pointer + " = " + bad.value);
    json document = bad.event ? event_activity() : cron_activity();
    ASSERT_EQ(refusal_of(document).field, "");
    const json::json_pointer pointer(bad.pointer);
    if (bad.value.empty()) {
      document.at(pointer.parent_pointer()).erase(pointer.back());
    } else {
      document[pointer] = json::parse(bad.value);
    }
    const Refusal refusal = refusal_of(document);
    EXPECT_EQ(refusal.field, bad.field);
    EXPECT_THAT(refusal.message, HasSubstr(bad.part));
    EXPECT_EQ(refusal_of(document, "activities.x").field, "activities.x." + bad.field);
  }
}

TEST(Activity, EndBeforeStartIsRefused) {
  json document = cron_activity();
  document["trigger"]["start"] = "2026-03-02T00:00:00Z";
  document["trigger"]["end"] = "2026-03-01T00:00:00Z";
  EXPECT_THAT(refusal_of(document).message,
              HasSubstr("trigger.end: 2026-03-01T00:00:00Z is before start, 2026-03-02T00:00:00Z; expected"));
  document["trigger"]["end"] = "2026-03-02T07:00:00Z";  // the first tick is at 08:00
  EXPECT_THAT(refusal_of(document).message, HasSubstr("is before the first tick, 2026-03-02T08:00:00Z"));
  document["trigger"]["end"] = "2026-03-02T08:00:00Z";
  EXPECT_EQ(refusal_of(document).message, "");
}

TEST(Activity, WhatIsNoJsonObjectOrTooLargeIsRefused) {
  EXPECT_THROW((void)parse_activity("{"), InvalidJson);
  EXPECT_THROW((void)parse_activity(R"({"id": "a", "id": "b"})"), InvalidJson);
  EXPECT_EQ(refusal_of(json::array()).field, "activity");
  json large = event_activity();
  large["input"] = std::string(64 << 10, 'x');
  EXPECT_THROW((void)parse_activity(large.dump()), PayloadTooLarge);
}

TEST(Activity, WhatIsTakenCanBeReadAgainWithItsDefaultsWrittenOut) {
  json large = json::parse(R"({"id": "a", "trigger": {"type": "cron", "cron": "@daily"}, "target": {"task": "t"}})");
  large["input"] = "";
  std::size_t taken = 0;
  for (std::size_t left = 300; left > 0; left -= 20) {
    large["input"] =
        std::string((64 << 10) - large.dump().size() + large["input"].get<std::string>().size() - left, 'x');
    const std::string text = large.dump();
    ASSERT_EQ(text.size(), (64U << 10) - left);
    try {
      const std::string encoded = encode_activity(parse_activity(text));
      EXPECT_EQ(encode_activity(parse_activity(encoded)), encoded);
      ++taken;
    } catch (const PayloadTooLarge& error) { EXPECT_THAT(error.what(), HasSubstr("activity: ")); }
  }
  EXPECT_GT(taken, 0U);
  EXPECT_LT(taken, 15U);
}

}  // namespace
}  // namespace hapax::schedule
