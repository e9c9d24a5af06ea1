// A request's fields as a body, and back.
#include "api/request_fields.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

namespace hapax::http {
namespace {

api::RequestFields request_all_of_it() {
  api::RequestFields fields;
  fields.task = "pay";
  fields.input = R"({"n":1.0})";
  fields.options = {.task_id = "k \"1\"",
                    .queue = "q",
                    .delay = std::chrono::seconds(1),
                    .run_at = Time(std::chrono::microseconds(1'772'355'600'000'001)),
                    .priority = -7,
                    .max_attempts = 2,
                    .on_conflict = OnConflict::wait,
                    .reuse = Reuse::allow,
                    .wait_timeout = std::chrono::seconds(5),
                    .tags = {"a", "b"},
                    .timeout = std::chrono::seconds(3),
                    .deadline = std::chrono::microseconds(4),
                    .retry = RetryPolicy{.base = std::chrono::seconds(1), .multiplier = 1.1, .jitter = Jitter::equal},
                    .throttle = std::chrono::minutes(1),
                    .debounce = std::chrono::minutes(2),
                    .keep_last = true,
                    .concurrency_key = "c",
                    .ordering_key = "o",
                    .weight = 3,
                    .traceparent = "00-1-2-01",
                    .tracestate = "a=b"};
  fields.metadata = R"({"z":1})";
  return fields;
}

TEST(RequestJson, IsReadAsTheSameFields) {
  const std::string json = api::request_json(request_all_of_it());
  EXPECT_EQ(api::request_json(api::parse_request(json, {}, "body")), json);
  const EnqueueOptions read = api::parse_request(json, {}, "body").options;
  EXPECT_EQ(read.tags, request_all_of_it().options.tags);
  EXPECT_EQ(read.priority, -7);
  EXPECT_EQ(read.run_at, request_all_of_it().options.run_at);
  EXPECT_EQ(read.deadline, std::chrono::microseconds(4));
  EXPECT_EQ(read.retry, request_all_of_it().options.retry);
  api::RequestFields workflow;
  workflow.kind = model::Kind::workflow;
  workflow.task = "order";
  workflow.options.task_id = "o-1";
  api::RequestFields defaults;
  defaults.kind = model::Kind::workflow;
  EXPECT_EQ(api::parse_request(api::request_json(workflow), defaults, "body").options.task_id, "o-1");
}

std::optional<RetryPolicy> retry_of(const std::string& json, api::RequestFields defaults = {}) {
  return api::make_request(api::parse_request(json, std::move(defaults), "body"), "default",
                           engine::CatalogueCache::Entry{})
      .retry;
}

TEST(RequestRetry, IsTakenAsExecutionsShowIt) {
  const RetryPolicy whole{
      .base = std::chrono::seconds(1), .cap = std::chrono::minutes(1), .multiplier = 3, .jitter = Jitter::none};
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":{"base":"1s","cap":"1m","multiplier":3,"jitter":"none"}})"), whole);
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":{"base":"2m"}})")->cap, std::chrono::minutes(2));
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":null})"), std::nullopt);
  api::RequestFields fields;
  fields.task = "pay";
  fields.options.retry = RetryPolicy{.base = std::chrono::seconds(1)};
  EXPECT_EQ(api::parse_request(api::request_json(fields), {}, "body").options.retry, fields.options.retry);
}

TEST(RequestRetry, OfTheRequestReplacesTheDefaults) {
  const api::RequestFields flat = api::parse_request(R"({"retry_base":"5s"})", {}, "body");
  EXPECT_EQ(retry_of(R"({"task":"pay","retry":{"cap":"1m"}})", flat)->base, RetryPolicy{}.base);
  EXPECT_EQ(retry_of(R"({"task":"pay","retry_cap":"1m"})", flat)->base, std::chrono::seconds(5));
  api::RequestFields object;
  object.options.retry = RetryPolicy{.base = std::chrono::seconds(5), .jitter = Jitter::none};
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
  fields.options.queue = "q\xff";
  EXPECT_THROW((void)api::request_json(fields), InvalidArgument);
  fields.options.queue = "q";
  fields.metadata = "{]";
  EXPECT_THROW((void)api::request_json(fields), InvalidJson);
}

}  // namespace
}  // namespace hapax::http
