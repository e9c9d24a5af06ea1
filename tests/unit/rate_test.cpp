#include "model/rate.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;

constexpr Time start{std::chrono::hours(500'000)};

TEST(RateLimits, AreReadAndWritten) {
  EXPECT_EQ(parse_rate_limit("100/sec"), (RateLimit{.count = 100, .per = 1s}));
  EXPECT_EQ(parse_rate_limit("30/min burst 5"), (RateLimit{.count = 30, .per = 1min, .burst = 5}));
  EXPECT_EQ(parse_rate_limit("7 / hour"), (RateLimit{.count = 7, .per = 1h}));
  EXPECT_EQ(parse_rate_limit("1/day"), (RateLimit{.count = 1, .per = 24h}));
  EXPECT_EQ(parse_rate_limit("5/s"), (RateLimit{.count = 5, .per = 1s}));
  for (const char* text : {"100/sec", "30/min burst 5", "7/hour", "1/day"}) {
    EXPECT_EQ(format_rate_limit(parse_rate_limit(text)), text);
  }
}

TEST(RateLimits, ThatAreNoneAreRefusedWithAnExample) {
  for (const char* text : {"fast", "", "100", "/sec", "0/sec", "-1/sec", "100/week", "1.5/sec", "100/sec burst",
                           "100/sec burst -1", "100/secburst 3", "9999999/sec", "100 per second"}) {
    try {
      (void)parse_rate_limit(text, "rate_limit");
      ADD_FAILURE() << text;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.field(), "rate_limit");
      EXPECT_NE(std::string(error.what()).find("\"100/sec\""), std::string::npos) << error.what();
    }
  }
}

// Starts as soon as the meter allows; each look comes up to `late` after the allowed time.
std::vector<Time> starts_of(const RateLimit& limit, Duration length, Duration late, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Time> starts;
  std::optional<Time> arrival;
  for (Time now = start; now < start + length;) {
    RateMeter meter(limit, arrival, now);
    while (meter.allows(1)) {
      meter.start(1);
      starts.push_back(now);
    }
    arrival = meter.arrival();
    now += meter.wait(1) + Duration(std::uniform_int_distribution<Duration::rep>(0, late.count())(random));
    EXPECT_LE(starts.size(), 100'000U);
  }
  return starts;
}

TEST(RateLimits, NoStretchHasMoreThanLimitAndBurstAndNearlyAllOfItIsReached) {
  const struct {
    RateLimit limit;
    Duration late;
  } rows[] = {{{.count = 100, .per = 1s}, 15ms},
              {{.count = 10, .per = 1s}, 15ms},
              {{.count = 1, .per = 1s}, 15ms},
              {{.count = 1000, .per = 1s, .burst = 50}, 15ms},
              {{.count = 37, .per = 1s, .burst = 5}, 15ms},
              {{.count = 90, .per = 1min}, 1s}};
  for (const auto& row : rows) {
    SCOPED_TRACE(format_rate_limit(row.limit));
    const std::vector<Time> starts = starts_of(row.limit, 20 * row.limit.per, row.late, 7);
    for (const auto& [periods, most] : {std::pair<int, std::int64_t>{1, row.limit.count + row.limit.burst},
                                        {10, 10 * row.limit.count + row.limit.burst}}) {
      std::size_t from = 0;
      for (std::size_t i = 0; i < starts.size(); ++i) {
        while (starts[i] - starts[from] >= periods * row.limit.per) { ++from; }
        ASSERT_LE(i - from + 1, static_cast<std::size_t>(most));
      }
    }
    EXPECT_GE(static_cast<double>(starts.size()), 0.95 * 20 * static_cast<double>(row.limit.count));
  }
}

TEST(RateLimits, AHeavyStartWaitsAndIsPaidFor) {
  const RateLimit limit{.count = 10, .per = 1s, .burst = 4};
  RateMeter meter(limit, std::nullopt, start);
  EXPECT_TRUE(meter.allows(5));
  meter.start(5);
  EXPECT_FALSE(meter.allows(1));
  RateMeter later(limit, meter.arrival(), start + 105ms);
  EXPECT_TRUE(later.allows(1));
  EXPECT_FALSE(later.allows(3));
  EXPECT_GT(later.wait(3), Duration{0});
  RateMeter empty(limit, meter.arrival(), start + 1h);
  EXPECT_TRUE(empty.allows(1000)) << "heavier than the bucket: when it is empty";
  empty.start(1000);
  EXPECT_GT(empty.wait(1), 90s);
}

TEST(RateLimits, TheHeaviestThatIsAllowedIsAllowedAndNoHeavierOne) {
  const RateLimit limit{.count = 7, .per = 1s, .burst = 9};
  RateMeter meter(limit, std::nullopt, start);
  EXPECT_TRUE(meter.allows(meter.heaviest())) << "of an empty bucket any";
  for (int spent = 1; spent <= 10; ++spent) {
    meter.start(1);
    const int heaviest = meter.heaviest();
    EXPECT_EQ(heaviest, 10 - spent);
    if (heaviest > 0) { EXPECT_TRUE(meter.allows(heaviest)); }
    EXPECT_FALSE(meter.allows(heaviest + 1));
  }
}

TEST(RateLimits, WaitingAsLongAsSaidIsEnough) {
  const RateLimit limit{.count = 7, .per = 1s, .burst = 2};
  std::optional<Time> arrival;
  Time now = start;
  for (int i = 0; i < 1000; ++i) {
    const int weight = i % 4 + 1;
    RateMeter meter(limit, arrival, now);
    now += meter.wait(weight);
    RateMeter then(limit, arrival, now);
    ASSERT_TRUE(then.allows(weight)) << i;
    then.start(weight);
    arrival = then.arrival();
  }
}

TEST(RateLimits, AClockThatIsSetBackHoldsUpNothing) {
  const RateLimit limit{.count = 10, .per = 1s, .burst = 5};
  RateMeter before(limit, std::nullopt, start);
  before.start(1000);
  const Duration furthest = RateMeter(limit, before.arrival(), start).wait(1);
  EXPECT_GT(furthest, 90s) << "what it owes by starts counts";
  EXPECT_EQ(RateMeter(limit, before.arrival(), start - 24h).wait(1), Duration{0});
}

TEST(RateLimits, ANewFasterLimitIsNotHeldUpByTheOldOne) {
  RateMeter slow({.count = 1, .per = 24h}, std::nullopt, start);
  slow.start(1);
  for (const RateLimit& limit : {RateLimit{.count = 100, .per = 1s}, RateLimit{.count = 60, .per = 1min, .burst = 7},
                                 RateLimit{.count = 1'000'000, .per = 1s}}) {
    SCOPED_TRACE(format_rate_limit(limit));
    const Time changed = start + 1s;
    RateMeter fast(limit, arrival_under(limit, slow.arrival(), changed), changed);
    ASSERT_TRUE(fast.allows(1));
    fast.start(1);
    EXPECT_FALSE(fast.allows(1)) << "the burst is not given anew";
    const Time next = changed + fast.wait(1);
    EXPECT_LE(next - changed, limit.per / limit.count * 102 / 100 + 1us);
    EXPECT_TRUE(RateMeter(limit, fast.arrival(), next).allows(1));
  }
}

TEST(RateLimits, ANewSlowerLimitCountsWhatWasSpent) {
  const RateLimit slow{.count = 1, .per = 1min, .burst = 3};
  const Time spent = start + 200s;
  EXPECT_EQ(arrival_under(slow, spent, start), start + debt_carried_over(slow));
  EXPECT_EQ(arrival_under(slow, start + 10ms, start), start + 10ms) << "less than a full bucket stays as it was";
  EXPECT_EQ(arrival_under(slow, std::nullopt, start), std::nullopt);
  EXPECT_EQ(arrival_under(std::nullopt, spent, start), std::nullopt);
}

}  // namespace
}  // namespace hapax::model
