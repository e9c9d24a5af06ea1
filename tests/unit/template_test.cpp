#include "schedule/template.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/payload_limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hapax::schedule {
namespace {

using testing::HasSubstr;

std::string render(std::string_view json, TriggerKind kind = TriggerKind::event) {
  PlaceValues values;
  values[Place::activity_id] = "\"on-order\"";
  values[Place::event_subject] = R"("a \"b\" ü")";
  values[Place::event_data] = R"({ "order" : {"id": 7, "tags": ["x", {"y": 1.0}], "note": null}, "ok": true })";
  values[Place::scheduled_for] = "\"2026-03-01T09:00:00+00:00\"";
  values[Place::window] = R"({"from":"A","to":"B","missed":3})";
  std::string out;
  Template(json, kind, "input").render(out, values);
  base::check_json(out, "rendered");
  return out;
}

TEST(Template, ATextThatIsOnlyAPlaceBecomesTheValue) {
  EXPECT_EQ(render(R"("{{event.data/order/id}}")"), "7");
  EXPECT_EQ(render(R"({"a": ["{{ event.data/order/tags }}"], "b": "{{event.data/ok}}"})"),
            R"({"a":[["x", {"y": 1.0}]],"b":true})");
  EXPECT_EQ(render(R"("{{event.subject}}")"), R"("a \"b\" ü")");
  EXPECT_EQ(render(R"(["{{window}}", "{{window/missed}}", "{{scheduled_for}}"])", TriggerKind::cron),
            R"([{"from":"A","to":"B","missed":3},3,"2026-03-01T09:00:00+00:00"])");
}

TEST(Template, InALongerTextTheValuesTextGoesIn) {
  EXPECT_EQ(render(R"("order {{event.data/order/id}} of {{event.subject}}!")"), R"("order 7 of a \"b\" ü!")");
  EXPECT_EQ(render(R"("<{{event.data/order/tags}}>")"), R"("<[\"x\",{\"y\":1}]>")");
  EXPECT_EQ(render(R"("<{{event.data/order/note}}{{event.data/nowhere}}>")"), R"("<>")");
}

TEST(Template, WhatIsNotThereIsNull) {
  EXPECT_EQ(render(R"("{{event.data/nowhere/at/all}}")"), "null");
  EXPECT_EQ(render(R"("{{last_result/x}}")", TriggerKind::cron), "null");
}

TEST(Template, NamesOfMembersAndDoubledBracesAreTakenAsTheyAre) {
  EXPECT_EQ(render(R"({"{{event.id}}": "{{{{event.id}}"})"), R"({"{{event.id}}":"{{event.id}}"})");
  EXPECT_EQ(render(R"("{{{{")"), R"("{{")");
  EXPECT_EQ(render(R"("}} { {")"), R"("}} { {")");
}

TEST(Template, ValuesAreFilledInUpToThePayloadLimitAndNotBeyond) {
  std::string many = "[";
  for (int place = 0; place < 256; ++place) { many += "\"{{event.data}}\","; }
  many += "0]";
  const Template made(many, TriggerKind::event, "input");
  PlaceValues values;
  const std::string data = '"' + std::string(200'000, 'x') + '"';
  values[Place::event_data] = data;
  std::string out;
  EXPECT_THROW(made.render(out, values), PayloadTooLarge);
  EXPECT_LT(out.size(), base::payload_limit() + 2 * data.size());
  values[Place::event_data] = "7";
  out.clear();
  EXPECT_NO_THROW(made.render(out, values));
}

TEST(Template, PlacesAreCounted) {
  std::string places;
  for (int place = 0; place < 256; ++place) { places += "{{event.id}}"; }
  EXPECT_NO_THROW(Template('"' + places + '"', TriggerKind::event, "input"));
  try {
    Template('"' + places + "{{event.id}}\"", TriggerKind::event, "input");
    FAIL() << "257 places are too many";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("input: has 257 places; expected at most 256"));
  }
}

TEST(Template, WithoutPlacesItIsItsCanonicalForm) {
  EXPECT_EQ(render(R"({ "b": 1.0, "a": "\u00fc\n" })"), R"({"a":"ü\n","b":1})");
  EXPECT_EQ(render("null"), "null");
}

TEST(Template, ItKnowsWhichPlacesItUses) {
  const Template made(R"({"a": "{{last_result/x}}"})", TriggerKind::cron, "input");
  EXPECT_TRUE(made.uses(Place::last_result));
  EXPECT_FALSE(made.uses(Place::window));
}

TEST(Template, UnknownPlacesAreErrorsWhenItIsRead) {
  const auto message = [](std::string_view json, TriggerKind kind = TriggerKind::event) -> std::string {
    try {
      (void)Template(json, kind, "tasks[0].input");
    } catch (const InvalidArgument& error) { return error.what(); }
    return "";
  };
  EXPECT_THAT(message(R"("{{event.dta}}")"),
              HasSubstr("tasks[0].input: has the place {{event.dta}}, which is unknown; did "
                        "you mean \"event.data\"?"));
  EXPECT_THAT(message(R"("{{}}")"), HasSubstr("which is unknown; expected activity.id, activity.name, run_id, event,"));
  EXPECT_THAT(message(R"("{{scheduled_for}}")"), HasSubstr("an event trigger does not have"));
  EXPECT_THAT(message(R"("{{event}}")", TriggerKind::cron), HasSubstr("a cron trigger does not have"));
  EXPECT_THAT(message(R"("a {{event.id")"), HasSubstr("which has no end; expected }}"));
  EXPECT_THAT(message(R"("{{event.id/x}}")"), HasSubstr("but event.id has no parts"));
  EXPECT_THAT(message(R"("{{event.data/a~b}}")"), HasSubstr("neither ~0 nor ~1"));
  EXPECT_THAT(message(std::string(17, '[') + std::string(17, ']')), HasSubstr("more than 16 objects and lists"));
  EXPECT_EQ(message(std::string(16, '[') + std::string(16, ']')), "");
}

TEST(Template, DepthIsCountedOutsideOfTexts) {
  EXPECT_EQ(json_depth_of("1"), 0U);
  EXPECT_EQ(json_depth_of(R"({"a": [1, {}], "b": "[[[[\"[["})"), 3U);
}

}  // namespace
}  // namespace hapax::schedule
