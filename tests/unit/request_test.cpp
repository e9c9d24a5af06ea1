// A request's fields as a body, and back.
#include "api/request_fields.hpp"

#include "model/validate.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

namespace hapax::http {
namespace {

api::RequestFields request_all_of_it() {
  api::RequestFields fields;
  fields.task = "pay";
  fields.input = R"({"n":1.0})";
  fields.task_id = "k \"1\"";
  fields.queue = "q";
  fields.on_conflict = "wait";
  fields.wait_timeout = "5s";
  fields.reuse = "allow";
  fields.throttle = "1m";
  fields.debounce = "2m";
  fields.keep_last = true;
  fields.concurrency_key = "c";
  fields.ordering_key = "o";
  fields.weight = 3;
  fields.delay = "1s";
  fields.run_at = "2026-03-01T09:00:00Z";
  fields.priority = -7;
  fields.max_attempts = 2;
  fields.retry_base = "1s";
  fields.retry_cap = "2s";
  fields.timeout = "3s";
  fields.deadline = "4s";
  fields.tags = {"a", "b"};
  fields.metadata = R"({"z":1})";
  fields.traceparent = "00-1-2-01";
  fields.tracestate = "a=b";
  return fields;
}

TEST(RequestJson, IsReadAsTheSameFields) {
  const std::string json = api::request_json(request_all_of_it());
  EXPECT_EQ(api::request_json(api::parse_request(json, {}, "body")), json);
  EXPECT_EQ(api::parse_request(json, {}, "body").tags, request_all_of_it().tags);
  EXPECT_EQ(api::parse_request(json, {}, "body").priority, -7);
  api::RequestFields workflow;
  workflow.kind = model::Kind::workflow;
  workflow.task = "order";
  workflow.task_id = "o-1";
  api::RequestFields defaults;
  defaults.kind = model::Kind::workflow;
  EXPECT_EQ(api::parse_request(api::request_json(workflow), defaults, "body").task_id, "o-1");
}

// The retry policy of a request that is made and then checked, as every admission does.
std::optional<RetryPolicy> retry_of(const std::string& json, api::RequestFields defaults = {}) {
  const model::NewExecution request = api::make_request(api::parse_request(json, std::move(defaults), "body"),
                                                        "default", engine::CatalogueCache::Entry{});
  model::check_new_execution(request);
  return request.retry;
}

TEST(RequestRetry, IsTakenAsExecutionsShowIt) {
  const RetryPolicy whole{
      .base = std::chrono::seconds(1), .cap = std::chrono::minutes(1), .multiplier = 3, .jitter = Jitter::none};
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":{"base":"1s","cap":"1m","multiplier":3,"jitter":"none"}})"), whole);
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":{"base":"2m"}})")->cap, std::chrono::minutes(2));
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":null})"), std::nullopt);
  api::RequestFields fields;
  fields.task = "pay";
  fields.retry = R"({"base":"1s"})";
  EXPECT_EQ(api::parse_request(api::request_json(fields), {}, "body").retry, fields.retry);
}

TEST(RequestRetry, OfTheRequestReplacesTheDefaults) {
  api::RequestFields flat;
  flat.retry_base = "5s";
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":{"cap":"1m"}})", flat)->base, RetryPolicy{}.base);
  api::RequestFields object;
  object.retry = R"({"base":"5s","jitter":"none"})";
  EXPECT_EQ(retry_of(R"({"task":"pay","retry_cap":"1m"})", object)->jitter, Jitter::full);
}

TEST(RequestRetry, NamesThePartThatCannotBe) {
  const auto refused = [](const std::string& json) -> std::string {
    try {
      (void)retry_of(json);
    } catch (const InvalidArgument& error) { return error.field(); }
    return "";
  };
  EXPECT_EQ(refused(R"({"task":"pay","retry":{"base":"soon"}})"), "retry.base");
  EXPECT_EQ(refused(R"({"task":"pay","retry":{"jitter":"some"}})"), "retry.jitter");
  EXPECT_EQ(refused(R"({"task":"pay","retry":{"first":"1s"}})"), "retry.first");
  EXPECT_EQ(refused(R"({"task":"pay","retry":{"multiplier":0.5}})"), "retry.multiplier");
  EXPECT_EQ(refused(R"({"task":"pay","retry":"1s"})"), "retry");
  EXPECT_EQ(refused(R"({"task":"pay","retry":{"base":"1s"},"retry_cap":"1m"})"), "retry");
}

TEST(RequestJson, RefusesWhatJsonCannotSay) {
  api::RequestFields fields;
  fields.task = "pay";
  fields.input = "{";
  EXPECT_THROW((void)api::request_json(fields), InvalidJson);
  fields.input = "null";
  fields.queue = "q\xff";
  EXPECT_THROW((void)api::request_json(fields), InvalidArgument);
  fields.queue = "q";
  fields.metadata = "{]";
  EXPECT_THROW((void)api::request_json(fields), InvalidJson);
}

}  // namespace
}  // namespace hapax::http
