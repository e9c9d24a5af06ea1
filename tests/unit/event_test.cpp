#include "schedule/event.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hapax::schedule {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view whole =
    R"({"specversion":"1.0","id":"evt_1","source":"/shop","type":"order.created","subject":"order/456",)"
    R"("time":"2026-03-01T10:00:00+01:00","datacontenttype":"application/json","dataschema":"https://x/y",)"
    R"("tenant":"acme","retries":3,"urgent":true,"data":{"n":1.0}})";

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const InvalidArgument& error) { return error.what(); }
  return "";
}

std::string refusal_of(std::string_view text, MissingId missing = MissingId::hash) {
  return message_of([&] { (void)parse_event(text, missing); });
}

std::string changed(std::string_view name, const json& value) {
  json event = json::parse(whole);
  event[std::string(name)] = value;
  return event.dump();
}

TEST(Event, AStructuredEventIsReadWithAllItsAttributes) {
  const Event event = parse_event(whole);
  EXPECT_EQ(event.id, "evt_1");
  EXPECT_EQ(event.source, "/shop");
  EXPECT_EQ(event.type, "order.created");
  EXPECT_EQ(event.subject, "order/456");
  EXPECT_EQ(event.time, parse_time("2026-03-01T09:00:00Z"));
  EXPECT_EQ(event.datacontenttype, "application/json");
  EXPECT_EQ(event.dataschema, "https://x/y");
  EXPECT_EQ(event.data, "{\"n\":1.0}");
  EXPECT_EQ(event.extensions, (std::vector<std::pair<std::string, std::string>>{
                                  {"retries", "3"}, {"tenant", "\"acme\""}, {"urgent", "true"}}));
}

TEST(Event, EncodedItReadsBackAndKeepsTheBytesOfItsData) {
  const std::string encoded = encode_event(parse_event(whole));
  EXPECT_EQ(encoded,
            R"({"specversion":"1.0","id":"evt_1","source":"/shop","type":"order.created","subject":"order/456",)"
            R"("time":"2026-03-01T09:00:00Z","datacontenttype":"application/json","dataschema":"https://x/y",)"
            R"("retries":3,"tenant":"acme","urgent":true,"data":{"n":1.0}})");
  EXPECT_EQ(encode_event(parse_event(encoded)), encoded);
}

TEST(Event, NullAttributesAreNotGivenAndNullDataIs) {
  const Event event =
      parse_event(R"({"specversion":"1.0","id":"1","source":"s","type":"t","subject":null,"tenant":null,"data":null})");
  EXPECT_FALSE(event.subject);
  EXPECT_TRUE(event.extensions.empty());
  EXPECT_EQ(event.data, "null");
}

TEST(Event, BadEnvelopesGetAnErrorThatNamesTheAttribute) {
  EXPECT_THAT(refusal_of("[]"), HasSubstr("event: is no JSON object; expected one such as {\"specversion\""));
  EXPECT_THAT(refusal_of("{"), HasSubstr("event: "));
  EXPECT_THAT(refusal_of(R"({"id":"1","source":"s","type":"t"})"),
              HasSubstr("specversion: is missing; expected \"1.0\""));
  EXPECT_THAT(refusal_of(R"({"specversion":"1.0","id":"1","type":"t"})"),
              HasSubstr("source: is missing; expected a text such as \"/shop\""));
  EXPECT_THAT(refusal_of(R"({"specversion":"1.0","id":"1","source":"s"})"),
              HasSubstr("type: is missing; expected a text such as \"order.created\""));
  EXPECT_THAT(refusal_of(changed("specversion", "0.3")), HasSubstr("specversion: is '0.3'; expected \"1.0\""));
  EXPECT_THAT(refusal_of(changed("id", 7)), HasSubstr("id: is 7; expected a text such as \"evt_abc123\""));
  EXPECT_THAT(refusal_of(changed("id", "")), HasSubstr("id: is empty"));
  EXPECT_THAT(refusal_of(changed("id", std::string(256, 'x'))), HasSubstr("id: has 256 bytes; expected at most 255"));
  EXPECT_THAT(refusal_of(changed("source", "a\nb")), HasSubstr("source: 'a\\x0ab' has control characters"));
  EXPECT_THAT(refusal_of(changed("type", "")), HasSubstr("type: is empty"));
  EXPECT_THAT(refusal_of(changed("subject", "")), HasSubstr("subject: is empty"));
  EXPECT_THAT(refusal_of(changed("time", "noon")), HasSubstr("time: "));
  EXPECT_THAT(refusal_of(changed("specVersion", "1.0")), HasSubstr("did you mean \"specversion\"?"));
  EXPECT_THAT(refusal_of(changed("my_tenant", "x")),
              HasSubstr("my_tenant: is no attribute's name; expected at most 64"));
  EXPECT_THAT(refusal_of(changed("tenant", json::object())), HasSubstr("tenant: is {}; expected a text, a boolean or"));
  EXPECT_THAT(refusal_of(changed("retries", 3000000000)), HasSubstr("retries: is 3000000000; expected"));
  EXPECT_THAT(refusal_of(changed("data_base64", "AAEC")), HasSubstr("data_base64: given together with data"));
  EXPECT_EQ(refusal_of(whole), "");
}

TEST(Event, Base64IsChecked) {
  const auto event = [](const std::string& text) {
    return R"({"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":")" + text + "\"}";
  };
  for (const char* good : {"AAEC", "AA==", "AAA=", "+/9z", ""}) { EXPECT_EQ(refusal_of(event(good)), "") << good; }
  for (const char* bad : {"AAE", "A===", "AA=A", "AA-_", "===="}) {
    EXPECT_THAT(refusal_of(event(bad)), HasSubstr("data_base64: '" + std::string(bad) + "' is not base64")) << bad;
  }
}

TEST(Event, SizeDepthAndNumberOfAttributesAreBounded) {
  EXPECT_THROW((void)parse_event(changed("data", std::string(limits::event_bytes, 'x'))), PayloadTooLarge);
  const auto nested = [](std::size_t depth) {
    return R"({"specversion":"1.0","id":"1","source":"s","type":"t","data":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}";
  };
  EXPECT_EQ(refusal_of(nested(40)), "");
  EXPECT_THAT(refusal_of(nested(41)), HasSubstr("data: has more than 40"));
  json many = json::parse(whole);
  for (int i = 0; i < 40; ++i) { many["x" + std::to_string(i)] = i; }
  EXPECT_THAT(refusal_of(many.dump()), HasSubstr("event: has more than 42 attributes"));
}

TEST(Event, WhatIsTakenCanBeWrittenAndTakenAgain) {
  const std::string start = R"({"specversion":"1.0","source":"s","type":"t","data":")";
  const std::string most = start + std::string(limits::event_bytes - start.size() - 2, 'x') + "\"}";
  ASSERT_EQ(most.size(), limits::event_bytes);
  EXPECT_THROW((void)parse_event(most), PayloadTooLarge);  // the generated id must fit too
  const std::string less = start + std::string(limits::event_bytes - start.size() - 100, 'x') + "\"}";
  EXPECT_EQ(encode_event(parse_event(encode_event(parse_event(less)))), encode_event(parse_event(less)));
}

TEST(Event, WithoutAnIdItGetsTheHashOfWhatItSays) {
  const auto id_of = [](std::string_view more) {
    return parse_event(R"({"specversion":"1.0","source":"/shop","type":"order.created")" + std::string(more) + "}").id;
  };
  const std::string id = id_of(R"(,"data":{"a":1,"b":"x"})");
  // Never changes: a sender that repeats an event after an upgrade must meet its first one.
  EXPECT_EQ(id, "sha256-2982c2c47a040cfeb909f77fd23a25d0ad1e45ad33b080270cdf20f91a01aa12");
  EXPECT_EQ(id_of(R"(,"data":{ "b":"\u0078", "a":1.0 },"time":"2026-03-01T09:00:00Z","attempt":2)"), id);
  EXPECT_EQ(id_of(R"(,"id":null,"data":{"a":1,"b":"x"})"), id);
  EXPECT_NE(id_of(R"(,"data":{"a":2,"b":"x"})"), id);
  EXPECT_NE(id_of(R"(,"subject":"s","data":{"a":1,"b":"x"})"), id);
  EXPECT_NE(id_of(R"(,"data":null)"), id_of(""));
  EXPECT_NE(id_of(R"(,"data":"AAEC")"), id_of(R"(,"data_base64":"AAEC")"));
}

TEST(Event, WithoutAnIdItIsRefusedWhenOneIsRequired) {
  EXPECT_THAT(refusal_of(R"({"specversion":"1.0","source":"s","type":"t"})", MissingId::refuse),
              HasSubstr("id: is missing, and require_event_id is set; expected one that stays the same"));
  EXPECT_EQ(refusal_of(whole, MissingId::refuse), "");
}

TEST(Event, ABatchNamesTheEventThatIsWrong) {
  const std::string good(whole);
  EXPECT_EQ(parse_event_batch("[" + good + "," + good + "]").size(), 2U);
  EXPECT_TRUE(parse_event_batch("[]").empty());
  EXPECT_THAT(message_of([&] { (void)parse_event_batch("[" + good + "," + changed("type", "") + "]"); }),
              HasSubstr("events[1].type: is empty; expected a text such as"));
  EXPECT_THAT(message_of([&] { (void)parse_event_batch("[7]"); }), HasSubstr("events[0].event: is no JSON object"));
  EXPECT_THROW((void)parse_event_batch(good), InvalidJson);
  std::string many = "[7";
  for (int i = 0; i < limits::events_per_batch; ++i) { many += ",7"; }
  EXPECT_THAT(message_of([&] { (void)parse_event_batch(many + "]"); }), HasSubstr("1001 events in one batch"));
}

Event binary(std::vector<std::pair<std::string, std::string>> more, std::string_view body) {
  std::vector<std::pair<std::string, std::string>> headers = {{"Host", "x"},
                                                              {"CE-SpecVersion", "1.0"},
                                                              {"ce-id", "evt_1"},
                                                              {"ce-source", "/shop"},
                                                              {"ce-type", "order.created"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return parse_binary_event({.headers = std::move(headers), .body = body});
}

TEST(Event, ABinaryEventIsTheSameAsAStructuredOne) {
  const Event event = binary({{"ce-subject", "order/456"},
                              {"ce-time", " 2026-03-01T09:00:00Z "},
                              {"ce-dataschema", "https://x/y"},
                              {"Content-Type", "application/json"},
                              {"ce-tenant", "Z%C3%bcrich 100%"}},
                             " {\"n\":1.0}\n");
  EXPECT_EQ(encode_event(event),
            R"({"specversion":"1.0","id":"evt_1","source":"/shop","type":"order.created","subject":"order/456",)"
            R"("time":"2026-03-01T09:00:00Z","datacontenttype":"application/json","dataschema":"https://x/y",)"
            R"("tenant":"Zürich 100%","data":{"n":1.0}})");
}

TEST(Event, ABodyIsTakenByItsContentType) {
  EXPECT_EQ(binary({}, "[1]").data, "[1]");
  EXPECT_EQ(binary({{"content-type", "application/vnd.x+json; charset=utf-8"}}, "[1]").data, "[1]");
  EXPECT_EQ(binary({{"content-type", "text/plain"}}, "a \"b\"").data, R"("a \"b\"")");
  EXPECT_EQ(binary({{"content-type", "application/octet-stream"}}, std::string_view("\0\x01\x02\xff", 4)).data_base64,
            "AAEC/w==");
  EXPECT_EQ(binary({{"content-type", "image/png"}}, "ab").data_base64, "YWI=");
  EXPECT_FALSE(binary({{"content-type", "image/png"}}, "").data_base64);
}

TEST(Event, AHeadersValueInDoubleQuotesIsUnquoted) {
  const auto tenant = [](const std::string& value) {
    return binary({{"ce-tenant", value}}, "").extensions.at(0).second;
  };
  EXPECT_EQ(tenant("\"acme\""), "\"acme\"");
  EXPECT_EQ(tenant("\"a \\\"b\\\\ %C3%BC\""), R"("a \"b\\ ü")");
  EXPECT_EQ(tenant("\"\""), "\"\"");
  EXPECT_EQ(tenant("a\"b"), R"("a\"b")");
  EXPECT_EQ(tenant("\"a\" b"), R"("\"a\" b")");
  const Event quoted = parse_binary_event({.headers = {{"ce-specversion", "\"1.0\""},
                                                       {"ce-id", "\"evt_1\""},
                                                       {"ce-source", "\"/shop\""},
                                                       {"ce-type", "\"t\""}},
                                           .body = ""});
  EXPECT_EQ(quoted.id, "evt_1");
  EXPECT_EQ(quoted.source, "/shop");
}

// An event without an id is the same event in either mode.
TEST(Event, DataIsTheSameInStructuredAndBinaryMode) {
  const auto both = [](const std::string& type, std::string_view body, const std::string& member) {
    std::vector<std::pair<std::string, std::string>> headers = {
        {"ce-specversion", "1.0"}, {"ce-source", "s"}, {"ce-type", "t"}};
    if (!type.empty()) { headers.emplace_back("content-type", type); }
    const Event by_headers = parse_binary_event({.headers = std::move(headers), .body = body});
    const std::string content = type.empty() ? "" : R"("datacontenttype":")" + type + "\",";
    const Event by_json = parse_event(R"({"specversion":"1.0","source":"s","type":"t",)" + content + member + "}");
    EXPECT_EQ(by_headers.id, by_json.id) << type << " " << member;
    if (!body.empty() && by_headers.data_base64.has_value() == by_json.data_base64.has_value()) {
      EXPECT_EQ(encode_event(by_headers), encode_event(by_json)) << type;
    }
  };
  both("application/xml", "<a b=\"1\"/>", R"("data":"<a b=\"1\"/>")");
  both("application/soap+xml; charset=utf-8", "<a/>", R"("data":"<a/>")");
  both("text/xml", "<a/>", R"("data":"<a/>")");
  both("text/plain", "hello", R"("data":"hello")");
  both("application/json", "{\"n\":1}", R"("data":{"n":1})");
  both("application/octet-stream", std::string_view("\0\x01\x02", 3), R"("data_base64":"AAEC")");
  both("application/octet-stream", "", R"("data_base64":"")");
  both("", "[1]", R"("data":[1])");
  both("text/plain", "hello", R"("data_base64":"aGVsbG8=")");
  both("application/xml", "<a/>", R"("data_base64":"PGEvPg==")");
  both("application/json", "{\"n\": 1.0}", R"("data_base64":"eyJuIjoxfQ==")");
  both("text/plain", "\xff", R"("data_base64":"/w==")");
}

TEST(Event, ExtensionsAreBoundedAsTheSchemaSays) {
  const auto with = [](int extensions) {
    std::string text = R"({"specversion":"1.0","source":"s","type":"t")";
    for (int i = 0; i < extensions; ++i) { text += ",\"e" + std::to_string(i) + "\":1"; }
    return text + "}";
  };
  EXPECT_EQ(refusal_of(with(38)), "");  // one more is the generated id
  EXPECT_EQ(refusal_of(encode_event(parse_event(with(38)))), "");
  EXPECT_THAT(refusal_of(with(39)), HasSubstr("event: has more than 42 attributes"));
  EXPECT_EQ(refusal_of(changed(std::string(64, 'x'), 1)), "");
  EXPECT_THAT(refusal_of(changed(std::string(65, 'x'), 1)), HasSubstr("is no attribute's name; expected at most 64"));
  EXPECT_THAT(refusal_of(changed("my_tenant", nullptr)), HasSubstr("is no attribute's name"));
}

TEST(Event, TraceContextNeverRefusesAnEvent) {
  for (const json& bad :
       {json("x"), json(std::string(2000, 'x')), json("a\nb"), json(7), json::object(), json(nullptr)}) {
    EXPECT_EQ(refusal_of(changed("traceparent", bad)), "") << bad;
    EXPECT_EQ(refusal_of(changed("tracestate", bad)), "") << bad;
  }
  EXPECT_NO_THROW((void)binary({{"ce-traceparent", "%ff"}, {"ce-traceparent", "2"}, {"ce-tracestate", "%0a"}}, ""));
}

TEST(Event, BadBinaryEventsAreRefused) {
  EXPECT_THAT(message_of([] { (void)binary({}, "{"); }), HasSubstr("data: "));
  EXPECT_THAT(message_of([] { (void)binary({{"ce-id", "2"}}, ""); }), HasSubstr("id: is given twice"));
  EXPECT_THAT(message_of([] { (void)binary({{"ce-data", "2"}}, ""); }), HasSubstr("data: is a header"));
  EXPECT_THAT(message_of([] { (void)binary({{"ce-tenant", "%ff"}}, ""); }), HasSubstr("tenant: "));
  EXPECT_THAT(message_of([] { (void)parse_binary_event({}); }), HasSubstr("specversion: is missing"));
  EXPECT_THROW((void)binary({}, std::string(limits::event_bytes + 1, ' ')), PayloadTooLarge);
  EXPECT_THROW((void)binary({{"content-type", "image/png"}}, std::string(200 << 10, 'x')), PayloadTooLarge);
}

TEST(Event, PointersFindWhatIsInTheEnvelope) {
  const Event event = parse_event(whole);
  EXPECT_EQ(value_at(event, "/data/n"), "1.0");
  EXPECT_EQ(value_at(event, "/data"), "{\"n\":1.0}");
  EXPECT_EQ(value_at(event, "/subject"), "\"order/456\"");
  EXPECT_EQ(value_at(event, "/tenant"), "\"acme\"");
  EXPECT_EQ(value_at(event, "/specversion"), "\"1.0\"");
  EXPECT_EQ(value_at(event, "/time"), "\"2026-03-01T09:00:00Z\"");
  EXPECT_EQ(value_at(event, "/data/none"), std::nullopt);
  EXPECT_EQ(value_at(event, "/none"), std::nullopt);
  EXPECT_EQ(value_at(event, "/data_base64"), std::nullopt);
}

}  // namespace
}  // namespace hapax::schedule
