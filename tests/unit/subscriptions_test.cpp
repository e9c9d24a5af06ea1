#include "schedule/subscriptions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hapax::schedule {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

EventTrigger trigger(const std::string& text) { return parse_event_trigger(json::parse(text), "trigger"); }

Event event(const std::string& type, const std::string& source = "/shop", const std::string& data = "null") {
  return parse_event(R"({"specversion":"1.0","id":"1","subject":"s/1","tenant":"acme","retries":3,"type":")" + type +
                     R"(","source":")" + source + R"(","data":)" + data + "}");
}

std::vector<std::size_t> matching(const std::vector<EventTrigger>& triggers, const Event& sent) {
  std::vector<const EventTrigger*> all;
  all.reserve(triggers.size());
  for (const EventTrigger& one : triggers) { all.push_back(&one); }
  return Subscriptions(all).matching(sent);
}

TEST(Pattern, AStarStandsForAnyTextDotsIncluded) {
  EXPECT_TRUE(matches_pattern("order.*", "order.created"));
  EXPECT_TRUE(matches_pattern("order.*", "order.item.added"));
  EXPECT_TRUE(matches_pattern("order.*", "order."));
  EXPECT_FALSE(matches_pattern("order.*", "order"));
  EXPECT_FALSE(matches_pattern("order.*", "Order.created"));
  EXPECT_FALSE(matches_pattern("order.*", "reorder.created"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("*.created", "a.b.created"));
  EXPECT_FALSE(matches_pattern("*.created", "a.created.b"));
  EXPECT_TRUE(matches_pattern("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches_pattern("a*b*c", "a-c-b"));
  EXPECT_TRUE(matches_pattern("a.b", "a.b"));
  EXPECT_FALSE(matches_pattern("a.b", "axb"));
  EXPECT_FALSE(matches_pattern("a", "ab"));
}

TEST(Subscriptions, ByTypeAndOnceEach) {
  const std::vector<EventTrigger> triggers = {trigger(R"({"types":["order.created"]})"),
                                              trigger(R"({"types":["order.*","*.created","order.created"]})"),
                                              trigger(R"({"types":["*"]})"), trigger(R"({"types":["invoice.*"]})")};
  EXPECT_THAT(matching(triggers, event("order.created")), ElementsAre(0, 1, 2));
  EXPECT_THAT(matching(triggers, event("order.paid")), ElementsAre(1, 2));
  EXPECT_THAT(matching(triggers, event("x")), ElementsAre(2));
  EXPECT_THAT(matching({}, event("x")), IsEmpty());
}

TEST(Subscriptions, BySource) {
  const std::vector<EventTrigger> triggers = {trigger(R"({"types":["*"],"source":"/shop"})"),
                                              trigger(R"({"types":["*"],"source":"/shop*"})"),
                                              trigger(R"({"types":["*"]})")};
  EXPECT_THAT(matching(triggers, event("t", "/shop")), ElementsAre(0, 1, 2));
  EXPECT_THAT(matching(triggers, event("t", "/shop/eu")), ElementsAre(1, 2));
  EXPECT_THAT(matching(triggers, event("t", "/bank")), ElementsAre(2));
}

TEST(Subscriptions, ByFilter) {
  const std::string data = R"({"country":"CH","total":1.0,"tags":[1,2],"none":null,"a/b":true,"big":9007199254740993})";
  const std::vector<std::pair<const char*, bool>> filters = {
      {R"({"/data/country":"CH"})", true},
      {R"({"/data/country":"ch"})", false},
      {R"({"/data/country":["AT","CH"]})", true},
      {R"({"/data/country":{"in":["AT","DE"]}})", false},
      {R"({"/data/total":1})", true},
      {R"({"/data/total":"1"})", false},
      {R"({"/data/big":9007199254740993})", true},
      {R"({"/data/big":9007199254740992})", false},
      {R"({"/data/tags":{"equals":[1,2]}})", true},
      {R"({"/data/tags":[1,2]})", false},
      {R"({"/data/tags/1":2})", true},
      {R"({"/data/none":null})", true},
      {R"({"/data/nowhere":null})", false},
      {R"({"/data/none":{"exists":true}})", true},
      {R"({"/data/nowhere":{"exists":true}})", false},
      {R"({"/data/nowhere":{"exists":false}})", true},
      {R"({"/data/country":{"exists":false}})", false},
      {R"({"/data/a~1b":true})", true},
      {R"({"/subject":"s/1"})", true},
      {R"({"/tenant":"acme","/retries":3})", true},
      {R"({"/tenant":"acme","/retries":4})", false},
      {R"({"/data":{"exists":true}})", true},
      {R"({})", true},
  };
  std::vector<EventTrigger> triggers;
  std::vector<std::size_t> expected;
  for (const auto& [filter, holds] : filters) {
    triggers.push_back(trigger(std::string(R"({"types":["t"],"filter":)") + filter + "}"));
    EXPECT_EQ(matching({triggers.back()}, event("t", "/shop", data)).size(), holds ? 1U : 0U) << filter;
    if (holds) { expected.push_back(triggers.size() - 1); }
  }
  EXPECT_EQ(matching(triggers, event("t", "/shop", data)), expected);
}

TEST(Subscriptions, AFilterOfDataDoesNotHoldWithoutData) {
  const Event bare = parse_event(R"({"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"AAEC"})");
  EXPECT_THAT(matching({trigger(R"({"types":["t"],"filter":{"/data/x":{"exists":true}}})"),
                        trigger(R"({"types":["t"],"filter":{"/data_base64":"AAEC"}})")},
                       bare),
              ElementsAre(1));
}

// The index gives the same matches as trying all triggers.
TEST(Subscriptions, AgreesWithTryingEachTrigger) {
  constexpr unsigned seed = 20260301;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto word = [&](std::string_view letters, std::size_t most) {
    std::string text(1 + random() % most, ' ');
    for (char& letter : text) { letter = letters[random() % letters.size()]; }
    return text;
  };
  std::vector<EventTrigger> triggers(300);
  for (EventTrigger& one : triggers) {
    one.types = {word("ab*.", 5), word("ab.", 4)};
    if (random() % 2 == 0) { one.source = word("s*", 3); }
    if (random() % 2 == 0) {
      one.filter = {{.pointer = "/data/x", .test = Condition::Test::any_of, .values = {std::to_string(random() % 3)}}};
    }
  }
  std::size_t found = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string x = std::to_string(random() % 3);
    const Event sent = event(word("ab.", 6), word("s", 3), "{\"x\":" + x + "}");
    std::vector<std::size_t> expected;
    for (std::size_t number = 0; number < triggers.size(); ++number) {
      const EventTrigger& one = triggers[number];
      const bool type = matches_pattern(one.types[0], sent.type) || matches_pattern(one.types[1], sent.type);
      const bool source = !one.source || matches_pattern(*one.source, sent.source);
      if (type && source && (one.filter.empty() || one.filter[0].values[0] == x)) { expected.push_back(number); }
    }
    found += expected.size();
    ASSERT_EQ(matching(triggers, sent), expected) << encode_event(sent);
  }
  EXPECT_GT(found, 1000U);
}

}  // namespace
}  // namespace hapax::schedule
