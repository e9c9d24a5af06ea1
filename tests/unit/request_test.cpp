// A request's fields as a body, and back.
#include "wire/request.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

namespace hapax::wire {
namespace {

RequestFields all_of_it() {
  RequestFields fields;
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
  return fields;
}

TEST(RequestJson, IsReadAsTheSameFields) {
  const std::string json = request_json(all_of_it());
  EXPECT_EQ(request_json(parse_request(json, {}, "body")), json);
  EXPECT_EQ(parse_request(json, {}, "body").tags, all_of_it().tags);
  EXPECT_EQ(parse_request(json, {}, "body").priority, -7);
  RequestFields workflow;
  workflow.kind = model::Kind::workflow;
  workflow.task = "order";
  workflow.task_id = "o-1";
  RequestFields defaults;
  defaults.kind = model::Kind::workflow;
  EXPECT_EQ(parse_request(request_json(workflow), defaults, "body").task_id, "o-1");
}

TEST(RequestJson, RefusesWhatJsonCannotSay) {
  RequestFields fields;
  fields.task = "pay";
  fields.input = "{";
  EXPECT_THROW((void)request_json(fields), InvalidJson);
  fields.input = "null";
  fields.queue = "q\xff";
  EXPECT_THROW((void)request_json(fields), InvalidArgument);
  fields.queue = "q";
  fields.metadata = "{]";
  EXPECT_THROW((void)request_json(fields), InvalidJson);
}

}  // namespace
}  // namespace hapax::wire
