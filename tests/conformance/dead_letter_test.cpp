// Dead letters: list, retry, discard, annotate.
#include "conformance/fixture.hpp"

#include "base/limits.hpp"

namespace hapax::conformance {

namespace {

class DeadLetterConformance : public Conformance {
 protected:
  Uuid dead(const NewExecution& item, const std::string& message = "broken") {
    (void)admit_id(item);
    bring_to(item.id, Status::running);
    EXPECT_EQ(finish(failed({.id = item.id, .fence = get(item.id).fence}, message)), FinishVerdict::accepted);
    return item.id;
  }

  std::vector<Uuid> dead_letters(std::optional<std::string> queue = std::nullopt) {
    std::vector<Uuid> ids;
    for (const Execution& letter : store().list({.queue = std::move(queue), .dead_only = true})) {
      ids.push_back(letter.id);
    }
    return ids;
  }

  RetryResult retry(const Uuid& id, bool new_effect_key = false) {
    const RetryRequest request{.id = id, .new_id = base::new_uuid7(), .new_effect_key = new_effect_key};
    const std::vector<RetryResult> results = store().retry({&request, 1});
    EXPECT_EQ(results.size(), 1U);
    if (results.at(0).verdict == RetryVerdict::created) { EXPECT_EQ(results[0].existing, request.new_id); }
    return results[0];
  }
};

// ---- The list ------------------------------------------------------------------------------------------------------

TEST_F(DeadLetterConformance, TheListHasTheFailedOnesOnlyNewestFirst) {
  const Uuid first = dead(request());
  bring_to(admit_id(request()), Status::completed);
  bring_to(admit_id(request()), Status::cancelled);
  bring_to(admit_id(request()), Status::timed_out);
  const Uuid elsewhere = dead(request("work", "other"));
  const Uuid last = dead(request());
  (void)admit_id(request());

  EXPECT_EQ(dead_letters(), (std::vector{last, elsewhere, first}));
  EXPECT_EQ(dead_letters("default"), (std::vector{last, first}));
  for (const QueueInfo& info : store().queues("default")) {
    EXPECT_EQ(info.dead, info.queue.name == "other" ? 1 : 2) << info.queue.name;
  }
}

TEST_F(DeadLetterConformance, ADeadLetterTellsItsErrorAndItsHistory) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  Finish first = failed(claim_one(me), "one");
  first.kind = FinishKind::retry;
  ASSERT_EQ(finish(first), FinishVerdict::accepted);
  ASSERT_EQ(finish(failed(claim_one(me), "two")), FinishVerdict::accepted);

  const Execution letter = store().list({.dead_only = true}).at(0);

  EXPECT_EQ(letter.id, id);
  EXPECT_TRUE(letter.dead);
  EXPECT_EQ(letter.status, Status::failed);
  EXPECT_EQ(letter.error, (ErrorInfo{.type = "Broken", .message = "two", .detail = ""}));
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].error->message, "one");
  EXPECT_EQ(attempts[1].error->message, "two");
}

// ---- Retry ---------------------------------------------------------------------------------------------------------

TEST_F(DeadLetterConformance, ARetryIsANewRunOfTheSameWork) {
  NewExecution item = keyed("a", R"({"n":1})");
  item.queue.name = "payments";
  item.priority = 5;
  item.max_attempts = 7;
  item.max_lost = 3;
  item.retry = RetryPolicy{.base = 2s};
  item.attempt_timeout = 9s;
  item.deadline = 5h;
  item.labels = {.tags = {"red"}, .metadata = R"({"a":1})", .traceparent = ""};
  item.delay = 0s;
  const Uuid old = dead(item);
  advance(2h);

  const RetryResult result = retry(old);

  EXPECT_EQ(result.verdict, RetryVerdict::created);
  EXPECT_EQ(result.run, 2);
  EXPECT_EQ(result.status, Status::pending);
  const Execution fresh = get(result.existing);
  const Execution before = get(old);
  EXPECT_EQ(fresh.status, Status::pending);
  EXPECT_EQ(fresh.run, 2);
  EXPECT_EQ(fresh.attempt, 0);
  EXPECT_EQ(fresh.fence, 0);
  EXPECT_EQ(fresh.lost, 0);
  EXPECT_EQ(fresh.queue, item.queue);
  EXPECT_EQ(fresh.task, item.task);
  EXPECT_EQ(fresh.input, item.input);
  EXPECT_EQ(fresh.priority, item.priority);
  EXPECT_EQ(fresh.max_attempts, item.max_attempts);
  EXPECT_EQ(fresh.max_lost, item.max_lost);
  EXPECT_EQ(fresh.retry, item.retry);
  EXPECT_EQ(fresh.attempt_timeout, item.attempt_timeout);
  EXPECT_EQ(fresh.deadline, fresh.created_at + 5h) << "as long from now as the old one's was from its creation";
  EXPECT_EQ(fresh.labels, item.labels);
  EXPECT_EQ(fresh.identity, item.identity->hash);
  EXPECT_EQ(fresh.identity_key, "a");
  EXPECT_EQ(fresh.run_at, fresh.created_at);
  EXPECT_GE(fresh.created_at, before.created_at + 2h);
  EXPECT_EQ(fresh.effect_key, before.effect_key);
  EXPECT_FALSE(fresh.error);
  EXPECT_FALSE(fresh.retried_as);
  EXPECT_EQ(before.status, Status::failed);
  EXPECT_EQ(before.retried_as, fresh.id);
  EXPECT_FALSE(before.dead);
  EXPECT_TRUE(dead_letters().empty());
  EXPECT_EQ(store().holder(item.identity->hash), fresh.id);
}

TEST_F(DeadLetterConformance, ARetryWithoutIdentityKeepsTheFirstOnesEffectKey) {
  const Uuid first = dead(request());
  const Uuid next = retry(first).existing;
  bring_to(next, Status::failed);

  const RetryResult third = retry(next);

  EXPECT_EQ(third.run, 3);
  EXPECT_EQ(get(third.existing).effect_key, get(first).effect_key);
}

TEST_F(DeadLetterConformance, ARetryMayAskForAnotherEffectKey) {
  for (const NewExecution& item : {request(), keyed("a")}) {
    const Uuid first = dead(item);
    const Uuid other = retry(first, true).existing;
    EXPECT_NE(get(other).effect_key, get(first).effect_key);
    EXPECT_TRUE(get(other).effect_key.starts_with("hx_"));
    bring_to(other, Status::failed);
    EXPECT_EQ(get(retry(other).existing).effect_key, get(other).effect_key) << "and the next run keeps it";
  }
}

TEST_F(DeadLetterConformance, CancelledAndTimedOutOnesMayBeRetriedToo) {
  for (const Status ended : {Status::cancelled, Status::timed_out}) {
    const Uuid id = admit_id(keyed(std::string(to_string(ended))));
    bring_to(id, ended);
    const RetryResult result = retry(id);
    EXPECT_EQ(result.verdict, RetryVerdict::created);
    EXPECT_EQ(status(result.existing), Status::pending);
  }
}

TEST_F(DeadLetterConformance, WhatHasNotFailedIsNotRetried) {
  const Uuid pending = admit_id(request());
  EXPECT_EQ(retry(pending).verdict, RetryVerdict::not_finished);
  bring_to(pending, Status::running);
  const RetryResult running = retry(pending);
  EXPECT_EQ(running.verdict, RetryVerdict::not_finished);
  EXPECT_EQ(running.status, Status::running);
  bring_to(pending, Status::completed);
  EXPECT_EQ(retry(pending).verdict, RetryVerdict::completed);
  EXPECT_EQ(retry(base::new_uuid7()).verdict, RetryVerdict::not_found);
}

TEST_F(DeadLetterConformance, ADeadLetterIsRetriedOnce) {
  for (const NewExecution& item : {request(), keyed("a")}) {
    const Uuid old = dead(item);
    const Uuid fresh = retry(old).existing;
    bring_to(fresh, Status::running);

    const RetryResult again = retry(old);

    EXPECT_EQ(again.verdict, RetryVerdict::already_retried);
    EXPECT_EQ(again.existing, fresh);
    EXPECT_EQ(again.status, Status::running);
    EXPECT_EQ(again.run, 2);
    bring_to(fresh, Status::completed);
  }
}

TEST_F(DeadLetterConformance, ANewerRunOfTheIdentityForbidsTheRetryOfAnOlderOne) {
  const Uuid old = dead(keyed("a"));
  const Uuid newer = admit_id(keyed("a"));
  for (const Status now : {Status::pending, Status::running, Status::failed}) {
    bring_to(newer, now);
    const RetryResult result = retry(old);
    EXPECT_EQ(result.verdict, RetryVerdict::identity_held);
    EXPECT_EQ(result.existing, newer);
    EXPECT_EQ(result.status, now);
    EXPECT_EQ(result.run, 2);
  }
  EXPECT_TRUE(get(old).dead);
  EXPECT_FALSE(get(old).retried_as);
}

TEST_F(DeadLetterConformance, TheRetriedRunAnswersForTheIdentityAndItsInput) {
  const Uuid fresh = retry(dead(keyed("a", "1"))).existing;

  const Admission same = admit(keyed("a", "1"));
  EXPECT_EQ(same.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(same.id, fresh);
  EXPECT_EQ(same.run, 2);
  EXPECT_EQ(admit(keyed("a", "2")).verdict, AdmissionVerdict::mismatch);
}

TEST_F(DeadLetterConformance, ADrainingQueueTakesRetries) {
  const Uuid id = dead(request());
  store().configure_queue({}, {.draining = true});

  EXPECT_EQ(retry(id).verdict, RetryVerdict::created);
}

TEST_F(DeadLetterConformance, ManyAreRetriedInOneCallAndAnsweredInOrder) {
  const Uuid plain = dead(request());
  const Uuid with_key = dead(keyed("a"));
  const Uuid pending = admit_id(request());
  std::vector<RetryRequest> requests;
  for (const Uuid& id : {pending, with_key, base::new_uuid7(), plain}) {
    requests.push_back({.id = id, .new_id = base::new_uuid7()});
  }

  const std::vector<RetryResult> results = store().retry(requests);

  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].verdict, RetryVerdict::not_finished);
  EXPECT_EQ(results[1].verdict, RetryVerdict::created);
  EXPECT_EQ(results[2].verdict, RetryVerdict::not_found);
  EXPECT_EQ(results[3].verdict, RetryVerdict::created);
  EXPECT_EQ(get(requests[3].new_id).task, "work");
}

// ---- Discard and annotate ------------------------------------------------------------------------------------------

TEST_F(DeadLetterConformance, ADiscardedLetterLeavesTheListButNotTheHistory) {
  const Uuid one = dead(request());
  const Uuid other = dead(request());
  const Uuid pending = admit_id(request());
  const std::vector<Uuid> ids = {one, pending, base::new_uuid7()};

  EXPECT_EQ(store().discard(ids), 1);
  EXPECT_EQ(store().discard(ids), 0);

  EXPECT_EQ(dead_letters(), std::vector{other});
  EXPECT_EQ(status(one), Status::failed);
  EXPECT_FALSE(get(one).dead);
  EXPECT_EQ(status(pending), Status::pending);
  EXPECT_EQ(store().queues("default").at(0).dead, 1);
}

TEST_F(DeadLetterConformance, ANoteIsKeptWithWhatHasFinished) {
  const Uuid letter = dead(request());
  const Uuid done = admit_id(request());
  bring_to(done, Status::completed);
  const Uuid pending = admit_id(request());
  const std::vector<Uuid> ids = {letter, pending, done, base::new_uuid7()};

  EXPECT_EQ(store().annotate(ids, "vendor is down"), 2);
  EXPECT_EQ(get(letter).note, "vendor is down");
  EXPECT_EQ(get(done).note, "vendor is down");
  EXPECT_EQ(get(pending).note, "");
  EXPECT_TRUE(get(letter).dead);
  EXPECT_EQ(store().annotate({&letter, 1}, ""), 1);
  EXPECT_EQ(get(letter).note, "");
}

TEST_F(DeadLetterConformance, ANoteIsMadeStorable) {
  const Uuid id = dead(request());
  const std::string bad = std::string("a\0\xff", 3) + std::string(10'000, 'x');

  EXPECT_EQ(store().annotate({&id, 1}, bad), 1);

  EXPECT_TRUE(get(id).note.starts_with("a\\x00\\xff")) << get(id).note;
  EXPECT_EQ(get(id).note.size(), limits::note_bytes);
}

}  // namespace

}  // namespace hapax::conformance
