// The documents that the API answers and the command line prints, read back: a table shows the document's facts.
#include "api/execution_read.hpp"

#include "api/execution_json.hpp"
#include "base/json_view.hpp"

#include <gmock/gmock.h>

namespace hapax::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Uuid uuid(char last) { return *Uuid::parse(std::string("0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4") + last); }

// No field has its usual value.
model::Execution all_of_it() {
  model::Execution e;
  e.id = uuid('1');
  e.queue = {.namespace_name = "shop", .name = "payments"};
  e.task = "pay \"now\"";
  e.kind = model::Kind::workflow;
  e.status = Status::timed_out;
  e.input = R"({"n":1.50,"big":9007199254740993,"a":[{"b":"\u0007"}]})";
  e.result = R"([1,2])";
  e.error = model::ErrorInfo{"Timeout", "no \x1b[31m answer", "a\nb"};
  e.priority = -5;
  e.run = 3;
  e.attempt = 2;
  e.max_attempts = 7;
  e.lost = 1;
  e.max_lost = 9;
  e.fence = 12;
  e.created_at = Time(1'700'000'000'123'456us);
  e.run_at = Time(1'700'000'001s);
  e.started_at = Time(1'700'000'002s);
  e.finished_at = Time(1'700'000'003s);
  e.expires_at = Time(1'700'000'004s);
  e.deadline = Time(253402300799s);
  e.attempt_timeout = 1500ms;
  e.retry = RetryPolicy{.base = 2s, .cap = 1h, .multiplier = 1.25, .jitter = Jitter::equal};
  e.identity = base::sha256("who");
  e.identity_key = "k";
  e.effect_key = "hx_1";
  e.parent = uuid('2');
  e.session = uuid('3');
  e.worker = "w-1";
  e.cancel_requested = true;
  e.progress = 0.25;
  e.progress_message = "page 1";
  e.dead = true;
  e.retried_as = uuid('4');
  e.note = "asked the bank";
  e.labels = {.tags = {"a", "b"},
              .metadata = R"({"z":1,"a":2})",
              .traceparent = "00-1-2-01",
              .tracestate = "a=b",
              .actor = "api (billing)"};
  e.waiting = true;
  e.stuck = "other code";
  e.continued_as = uuid('5');
  return e;
}

TEST(ReadExecution, SaysAgainWhatTheDocumentSaid) {
  const std::string document = execution_json(all_of_it(), true);
  EXPECT_EQ(execution_json(read_execution(document), true), document);
}

TEST(ReadExecution, OfOneWithoutAnythingToo) {
  model::Execution bare;
  bare.id = uuid('1');
  bare.retry = RetryPolicy{};
  bare.input = "null";
  const std::string document = execution_json(bare, true);
  EXPECT_EQ(execution_json(read_execution(document), true), document);
}

TEST(ReadExecution, PassesByWhatALaterReleaseAdds) {
  EXPECT_EQ(read_execution(R"({"id":"0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e41","status":"pending","colour":{"a":[1]}})").id,
            uuid('1'));
}

TEST(ReadExecution, RefusesWhatItCannotBe) {
  for (const char* odd : {"[]", "7", R"({"status":"napping"})", R"({"status":"pending","id":"x"})",
                          R"({"status":"pending","attempt":"two"})", R"({"status":"pending","attempt":99999999999})",
                          R"({"status":"pending","created_at":"soon"})", R"({"status":"pending","tags":"a"})"}) {
    EXPECT_THROW((void)read_execution(odd), base::BadAnswer) << odd;
  }
}

TEST(ReadAttemptsAndTimeline, SayAgainWhatTheDocumentSaid) {
  const std::vector<model::Attempt> attempts = {
      {.number = 1,
       .worker = "w",
       .started_at = Time(1s),
       .ended_at = Time(2s),
       .outcome = "failed",
       .error = {{"A", "b", "c"}}},
      {.number = 2, .worker = {}, .started_at = {}, .ended_at = {}, .outcome = "running", .error = {}}};
  EXPECT_EQ(attempts_json(read_attempts(attempts_json(attempts))), attempts_json(attempts));
  std::vector<TimelineEntry> timeline(2);
  timeline[0] = {
      .position = 4, .kind = "task", .name = "pay", .status = "failed", .at = Time(5s), .ended_at = Time(6s)};
  timeline[0].attempts = 3;
  timeline[0].child = uuid('7');
  timeline[0].input = "{\"a\":1.0}";
  timeline[0].error = ErrorDetails{"T", "m", "d"};
  timeline[0].detail = "{}";
  timeline[1].kind = "now";
  timeline[1].status = "recorded";
  EXPECT_EQ(timeline_json(read_timeline(timeline_json(timeline))), timeline_json(timeline));
}

TEST(ReadQueue, SaysAgainWhatTheDocumentSaid) {
  model::QueueInfo queue{
      .queue = {.namespace_name = "shop", .name = "q"}, .settings = {}, .ready = 1, .delayed = 2, .parked = 3};
  EXPECT_EQ(queue_json(read_queue(queue_json(queue))), queue_json(queue));
  queue.settings.paused = true;
  queue.settings.retention = 48h;
  queue.settings.failed_retention = 0s;
  queue.settings.limits = {.rate = parse_rate_limit("30/min burst 5"), .key_rate = {}, .concurrency = 4};
  queue.oldest_ready = 1500us;
  EXPECT_EQ(queue_json(read_queue(queue_json(queue))), queue_json(queue));
}

TEST(ReadAdmission, SaysAgainWhatTheDocumentSaid) {
  model::Admission admission{
      .verdict = model::AdmissionVerdict::deduplicated, .id = uuid('1'), .status = Status::completed};
  admission.run = 2;
  admission.deduplicated_from = Time(5s);
  admission.result = R"({"paid":1.0})";
  const std::string document = admission_json(admission, std::nullopt);
  EXPECT_EQ(admission_json(read_admission(document), std::nullopt), document);
  EXPECT_TRUE(read_admission(R"({"id":null,"created":false,"status":"pending","run":null})").id.is_nil());
}

TEST(CheckAnswer, TakesPayloadsAsDeepAsTheyMayBe) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_NO_THROW(base::check_answer(R"({"executions":[{"input":)" + deep + "}]}", "http://x"));
  EXPECT_THROW(base::check_answer("<html>", "http://x"), base::BadAnswer);
  EXPECT_THROW(base::check_answer("{} {}", "http://x"), base::BadAnswer);
  EXPECT_THROW(base::check_answer("", "http://x"), base::BadAnswer);
}

}  // namespace
}  // namespace hapax::api
