#include "model/validate.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/uuid7.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::HasSubstr;

NewExecution good_request() {
  NewExecution request;
  request.id = base::new_uuid7();
  request.task = "charge_card";
  request.input = R"({"id":"456"})";
  return request;
}

struct Refusal {
  std::string name;
  std::string field;
  std::string message;
};

Refusal refusal_of(const std::function<void()>& check) {
  try {
    check();
  } catch (const InvalidArgument& error) { return {error.name(), error.field(), error.what()}; }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

Refusal refusal(const std::function<void(NewExecution&)>& spoil) {
  NewExecution request = good_request();
  spoil(request);
  return refusal_of([&request] { check_new_execution(request); });
}

void expect_taken(const std::function<void(NewExecution&)>& change) {
  NewExecution request = good_request();
  change(request);
  EXPECT_NO_THROW(check_new_execution(request));
}

TEST(CheckName, Takes1To200BytesOfUtf8) {
  for (const std::string& name : {"q"s, "payments"s, "Zürich 😀"s, std::string(200, 'x')}) {
    EXPECT_NO_THROW(check_name(name, "queue")) << name;
  }
}

TEST(CheckName, RefusalsSayWhatCameAndWhatWasExpected) {
  const auto message = [](const std::string& name) {
    return refusal_of([&name] { check_name(name, "queue"); }).message;
  };
  EXPECT_EQ(message(""), "queue: is empty; expected 1 to 200 bytes of UTF-8 without control characters");
  EXPECT_EQ(message(std::string(300, 'x')),
            "queue: '" + std::string(200, 'x') +
                "…' (300 bytes) is too long; expected 1 to 200 bytes of UTF-8 without control "
                "characters");
  EXPECT_THAT(message("a\nb"), HasSubstr("'a\\x0ab' has control characters"));
  EXPECT_THAT(message("\xc2\x85"), HasSubstr("has control characters"));
  EXPECT_THAT(message("a\0b"s), HasSubstr("'a\\x00b' has control characters"));
  EXPECT_THAT(message("caf\xe9"), HasSubstr("'caf\\xe9' is not UTF-8"));
}

TEST(CheckKey, Takes1To255BytesAndRefusesTheRestByItsOwnName) {
  EXPECT_NO_THROW(check_key("payment-123"));
  EXPECT_NO_THROW(check_key(std::string(255, 'k')));
  for (const std::string& key : {""s, std::string(256, 'k'), "a\tb"s, "\xff"s}) {
    const Refusal got = refusal_of([&key] { check_key(key); });
    EXPECT_EQ(got.name, "InvalidIdempotencyKey");
    EXPECT_EQ(got.field, "task_id");
    EXPECT_THAT(got.message, HasSubstr("expected 1 to 255 bytes"));
    EXPECT_THAT(got.message, HasSubstr("such as charge-order-456"));
  }
}

TEST(CheckNewExecution, TakesAPlainRequest) {
  expect_taken([](NewExecution&) {});
}

TEST(CheckNewExecution, ChecksTheNames) {
  EXPECT_EQ(refusal([](NewExecution& r) { r.queue.namespace_name = ""; }).field, "namespace");
  EXPECT_EQ(refusal([](NewExecution& r) { r.queue.name = std::string(300, 'q'); }).field, "queue");
  EXPECT_EQ(refusal([](NewExecution& r) { r.task = "a\x1b"; }).field, "task");
}

TEST(CheckNewExecution, BoundsThePriority) {
  expect_taken([](NewExecution& r) { r.priority = -32768; });
  expect_taken([](NewExecution& r) { r.priority = 32767; });
  EXPECT_EQ(refusal([](NewExecution& r) { r.priority = 32768; }).message,
            "priority: 32768 is out of range; expected -32768 to 32767");
  EXPECT_EQ(refusal([](NewExecution& r) { r.priority = -32769; }).field, "priority");
}

TEST(CheckNewExecution, BoundsTheDelay) {
  expect_taken([](NewExecution& r) { r.delay = limits::delay_max; });
  EXPECT_EQ(refusal([](NewExecution& r) { r.delay = -1us; }).message,
            "delay: -1us is out of range; expected 0 to 3660d");
  EXPECT_EQ(refusal([](NewExecution& r) { r.delay = limits::delay_max + 1us; }).field, "delay");
  EXPECT_EQ(refusal([](NewExecution& r) { r.delay = Duration::min(); }).field, "delay");
}

TEST(CheckNewExecution, BoundsRunAt) {
  const auto asked = [](const NewExecution& r) {
    return Time(std::chrono::milliseconds(base::uuid7_milliseconds(r.id)));
  };
  expect_taken([&](NewExecution& r) { r.run_at = asked(r) + limits::delay_max; });
  expect_taken([&](NewExecution& r) { r.run_at = asked(r) - 1h; });
  EXPECT_EQ(refusal([&](NewExecution& r) { r.run_at = asked(r) + limits::delay_max + 1us; }).field, "run_at");
  const Refusal both = refusal([&](NewExecution& r) {
    r.run_at = asked(r);
    r.delay = 1s;
  });
  EXPECT_EQ(both.message, "run_at: was given together with a delay; expected one of them");
}

TEST(CheckNewExecution, BoundsAttempts) {
  expect_taken([](NewExecution& r) { r.max_attempts = 1; });
  expect_taken([](NewExecution& r) { r.max_attempts = 1000; });
  EXPECT_EQ(refusal([](NewExecution& r) { r.max_attempts = 0; }).message,
            "max_attempts: 0 is out of range; expected 1 to 1000");
  EXPECT_EQ(refusal([](NewExecution& r) { r.max_attempts = 1001; }).field, "max_attempts");
  EXPECT_EQ(refusal([](NewExecution& r) { r.max_lost = 0; }).field, "max_lost");
}

TEST(CheckNewExecution, BoundsTimeouts) {
  expect_taken([](NewExecution& r) { r.attempt_timeout = 1us; });
  expect_taken([](NewExecution& r) { r.deadline = 24h; });
  EXPECT_EQ(refusal([](NewExecution& r) { r.attempt_timeout = 0s; }).message,
            "timeout: 0 is out of range; expected more than 0 to 3660d");
  EXPECT_EQ(refusal([](NewExecution& r) { r.deadline = -1s; }).field, "deadline");
  EXPECT_EQ(refusal([](NewExecution& r) { r.deadline = Duration::max(); }).field, "deadline");
}

TEST(CheckNewExecution, BoundsTheRetryPolicy) {
  expect_taken([](NewExecution& r) { r.retry = RetryPolicy{.base = 0s, .cap = 0s, .multiplier = 1}; });
  EXPECT_EQ(refusal([](NewExecution& r) { r.retry = RetryPolicy{.base = -1s}; }).field, "retry.base");
  EXPECT_EQ(refusal([](NewExecution& r) { r.retry = RetryPolicy{.cap = Duration::max()}; }).field, "retry.cap");
  for (const double multiplier : {0.5, -1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(refusal([&](NewExecution& r) { r.retry = RetryPolicy{.multiplier = multiplier}; }).field,
              "retry.multiplier");
  }
}

TEST(CheckNewExecution, BoundsTheInput) {
  expect_taken([](NewExecution& r) { r.input = "\"" + std::string(limits::payload_default - 2, 'x') + "\""; });
  const Refusal got =
      refusal([](NewExecution& r) { r.input = "\"" + std::string(limits::payload_default - 1, 'x') + "\""; });
  EXPECT_EQ(got.name, "PayloadTooLarge");
  EXPECT_EQ(got.message, "input: 1048577 bytes, the limit is 1048576 bytes");
}

TEST(CheckNewExecution, TheBoundIsASetting) {
  EXPECT_EQ(base::payload_limit(), limits::payload_default);
  base::set_payload_limit(2 << 20);
  expect_taken([](NewExecution& r) { r.input = "\"" + std::string((2 << 20) - 2, 'x') + "\""; });
  const Refusal got = refusal([](NewExecution& r) { r.input = "\"" + std::string((2 << 20) - 1, 'x') + "\""; });
  EXPECT_EQ(got.message, "input: 2097153 bytes, the limit is 2097152 bytes");
  base::set_payload_limit(limits::payload_min);
  EXPECT_EQ(refusal([](NewExecution& r) { r.input = "\"" + std::string(1023, 'x') + "\""; }).name, "PayloadTooLarge");
  base::set_payload_limit(limits::payload_default);
  for (const std::size_t bad : {limits::payload_min - 1, limits::payload_max + 1}) {
    EXPECT_THROW(base::set_payload_limit(bad), InvalidArgument);
  }
  EXPECT_EQ(base::payload_limit(), limits::payload_default) << "one that is refused changes nothing";
}

TEST(CheckNewExecution, TheInputMustBeJson) {
  const Refusal got = refusal([](NewExecution& r) { r.input = "{\"a\":"; });
  EXPECT_EQ(got.name, "InvalidJson");
  EXPECT_EQ(got.field, "input");
  EXPECT_EQ(refusal([](NewExecution& r) { r.input = ""; }).name, "InvalidJson");
}

TEST(CheckNewExecution, ChecksTheEffectKey) {
  expect_taken([](NewExecution& r) { r.effect_key = "order-7"; });
  EXPECT_EQ(refusal([](NewExecution& r) { r.effect_key = ""; }).field, "effect_key");
}

TEST(CheckNewExecution, ChecksTags) {
  expect_taken([](NewExecution& r) { r.labels.tags.assign(20, "tag"); });
  EXPECT_EQ(refusal([](NewExecution& r) { r.labels.tags.assign(21, "tag"); }).message,
            "tags: 21 tags were given; expected at most 20");
  EXPECT_EQ(refusal([](NewExecution& r) { r.labels.tags = {"good", ""}; }).field, "tags");
}

TEST(CheckNewExecution, MetadataMustBeAnObjectWithinItsLimit) {
  expect_taken([](NewExecution& r) { r.labels.metadata = " {\"customer\": \"acme\"} "; });
  EXPECT_THAT(refusal([](NewExecution& r) { r.labels.metadata = "[1]"; }).message,
              HasSubstr("metadata: '[1]' is not a JSON object"));
  EXPECT_EQ(refusal([](NewExecution& r) { r.labels.metadata = "{"; }).name, "InvalidJson");
  EXPECT_EQ(refusal([](NewExecution& r) { r.labels.metadata = "  "; }).name, "InvalidJson");
  EXPECT_EQ(refusal([](NewExecution& r) {
              r.labels.metadata = "{\"a\":\"" + std::string(limits::metadata_bytes, 'x') + "\"}";
            }).name,
            "PayloadTooLarge");
}

// Callers of the check decide what part of it is passed on (labels.hpp).
TEST(CheckNewExecution, TraceContextNeverRefusesWork) {
  for (const std::string& any : {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"s, "x"s,
                                 "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x"s}) {
    expect_taken([&](NewExecution& r) { r.labels.traceparent = any; });
  }
}

}  // namespace
}  // namespace hapax::model
