#include "telemetry/tracer.hpp"

#include "telemetry/trace_ids.hpp"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace hapax::telemetry {
namespace {

const std::string caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const Uuid id = *Uuid::parse("01890a5d-ac96-774b-bcce-b302099a8057");

class TracerTest : public testing::Test {
 protected:
  // What trace_request() makes of the caller's context, as the execution keeps it.
  std::string kept(const std::string& traceparent) {
    TraceContext trace{.traceparent = traceparent, .tracestate = "a=b"};
    tracer_.trace_request(id, trace);
    EXPECT_EQ(trace.tracestate, "a=b");
    return trace.traceparent;
  }

  std::vector<nlohmann::json> spans_;
  std::vector<nlohmann::json> lines_;
  Tracer tracer_{{.span = [this](const std::string& text) { spans_.push_back(nlohmann::json::parse(text)); },
                  .log = [this](const std::string& text) { lines_.push_back(nlohmann::json::parse(text)); },
                  .now_ns = [] { return std::int64_t{1'000'000'000'000}; }}};
};

TEST_F(TracerTest, OneTraceFromTheCallerToTheStep) {
  const std::string own = kept(caller);
  const ObservedTask task{
      .id = id, .namespace_name = "n", .queue = "q", .task = "pay", .traceparent = own, .tracestate = "a=b"};
  const ObservedAdmission admission{.task = task, .execution = id, .caller_trace = caller};
  tracer_.on_admissions({.admissions = {&admission, 1}, .took = std::chrono::milliseconds(2)});
  TraceContext for_handler{.traceparent = own, .tracestate = "a=b"};
  tracer_.trace_attempt(id, 3, for_handler);
  tracer_.on_step_ended({.task = task, .fence = 3, .step = "charge", .ran_for = std::chrono::milliseconds(5)});
  tracer_.on_attempt_ended({.task = task,
                            .attempt = 2,
                            .fence = 3,
                            .ran_for = std::chrono::milliseconds(20),
                            .ended_ago = std::chrono::milliseconds(1)});
  ASSERT_EQ(spans_.size(), 3U);
  const nlohmann::json& enqueue = spans_[0];
  const nlohmann::json& step = spans_[1];
  const nlohmann::json& attempt = spans_[2];
  for (const nlohmann::json& span : spans_) {
    EXPECT_EQ(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(span["traceState"], "a=b");
  }
  EXPECT_EQ(enqueue["parentSpanId"], "b7ad6b7169203331");
  EXPECT_EQ(attempt["parentSpanId"], enqueue["spanId"]);
  EXPECT_EQ(step["parentSpanId"], attempt["spanId"]);
  EXPECT_EQ(for_handler.traceparent,
            "00-0af7651916cd43dd8448eb211c80319c-" + attempt["spanId"].get<std::string>() + "-01");
  EXPECT_EQ(enqueue["name"], "enqueue pay");
  EXPECT_EQ(step["name"], "step charge");
  EXPECT_EQ(attempt["name"], "pay");
  EXPECT_EQ(attempt["endTimeUnixNano"], "999999000000");
  EXPECT_EQ(attempt["startTimeUnixNano"], "999979000000");
  EXPECT_EQ(enqueue["startTimeUnixNano"], "999998000000");
}

TEST_F(TracerTest, ARequestWithoutAContextBeginsATrace) {
  const std::string own = kept("");
  const ObservedTask task{.id = id, .task = "pay", .traceparent = own};
  const ObservedAdmission admission{.task = task, .execution = id};
  tracer_.on_admissions({.admissions = {&admission, 1}});
  ASSERT_EQ(spans_.size(), 1U);
  EXPECT_FALSE(spans_[0].contains("parentSpanId"));
  EXPECT_EQ(spans_[0]["traceId"], trace_of(id));
  EXPECT_TRUE(parse_traceparent(own));
}

TEST_F(TracerTest, AnExecutionOfAProgramWithoutATracerHasItsAttemptsInOneTrace) {
  const ObservedTask task{.id = id, .task = "pay"};
  tracer_.on_attempt_ended({.task = task, .fence = 1, .outcome = AttemptOutcome::retried, .error_type = "Timeout"});
  tracer_.on_attempt_ended({.task = task, .fence = 2});
  ASSERT_EQ(spans_.size(), 2U);
  EXPECT_EQ(spans_[0]["traceId"], spans_[1]["traceId"]);
  EXPECT_NE(spans_[0]["spanId"], spans_[1]["spanId"]);
  EXPECT_EQ(spans_[0]["status"]["code"], 2);
  EXPECT_EQ(spans_[0]["status"]["message"], "Timeout");
  EXPECT_FALSE(spans_[1].contains("status"));
}

TEST_F(TracerTest, ATraceThatIsNotSampledHasNoSpansAndIsPassedOn) {
  std::string unsampled = caller;
  unsampled.back() = '0';
  EXPECT_EQ(kept(unsampled), unsampled);
  const ObservedTask task{.id = id, .task = "pay", .traceparent = unsampled};
  const ObservedAdmission admission{.task = task, .execution = id, .caller_trace = unsampled};
  tracer_.on_admissions({.admissions = {&admission, 1}});
  tracer_.on_attempt_ended({.task = task, .fence = 1});
  tracer_.on_step_ended({.task = task, .fence = 1, .step = "s"});
  EXPECT_TRUE(spans_.empty());
}

TEST_F(TracerTest, TextsThatAreNoUtf8AreStillJson) {
  tracer_.on_log(LogLevel::warning, "bad \xff\x01 \"text\"", {{"worker", "w\n1"}});
  tracer_.on_step_ended(
      {.task = {.id = id, .task = "pay"}, .fence = 1, .step = "\xc3(", .failed = true, .error_type = "E"});
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0]["severityNumber"], 13);
  EXPECT_EQ(lines_[0]["attributes"][0]["value"]["stringValue"], "w\n1");
  EXPECT_EQ(spans_.size(), 1U);
}

TEST(MetricsJsonTest, HasSumsGaugesAndHistograms) {
  Metrics metrics;
  metrics.counter("c", "Help", {{"a", "b"}}).add(3);
  metrics.gauge("g", "").set(-2);
  const std::vector<double> bounds{1, 2.5};
  metrics.histogram("h", "", {}, bounds).observe(2.0);
  metrics.declare("nothing", "counter", "");
  MetricsJson json(5, 7);
  metrics.visit(json);
  const nlohmann::json request = nlohmann::json::parse(json.request(attributes_json({{"service.name", "s"}})));
  const nlohmann::json& list = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["sum"]["isMonotonic"], true);
  EXPECT_EQ(list[0]["sum"]["dataPoints"][0]["asDouble"], 3);
  EXPECT_EQ(list[0]["sum"]["dataPoints"][0]["startTimeUnixNano"], "5");
  EXPECT_EQ(list[1]["gauge"]["dataPoints"][0]["asDouble"], -2);
  EXPECT_EQ(list[2]["histogram"]["dataPoints"][0]["bucketCounts"], nlohmann::json({"0", "1", "0"}));
  EXPECT_EQ(list[2]["histogram"]["dataPoints"][0]["explicitBounds"], nlohmann::json({1.0, 2.5}));
  EXPECT_EQ(request["resourceMetrics"][0]["resource"]["attributes"][0]["key"], "service.name");
}

}  // namespace
}  // namespace hapax::telemetry
