// Neither history nor backlog slows claims. Two stores of the same kind, one small and one big, are measured in turns,
// so that drift of the machine affects both; the result is the ratio of the medians.
#include "rig.hpp"

#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/uuid7.hpp"
#include "engine/step_thread.hpp"
#include "engine/sweeper.hpp"
#include "store/open.hpp"

#include <atomic>
#include <iostream>
#include <memory>

namespace rig {
namespace {

using namespace hapax;
using namespace hapax::model;

// The same ID as if it had been made `by` later: the SQLite store finds expired executions by the hour in their IDs.
Uuid later(Uuid id, Duration by) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  std::uint64_t stamp = 0;
  for (std::size_t i = 0; i < 6; ++i) stamp = stamp << 8 | id.bytes[i];
  stamp += static_cast<std::uint64_t>(ms);
  for (std::size_t i = 6; i-- > 0; stamp >>= 8) id.bytes[i] = static_cast<std::uint8_t>(stamp);
  return id;
}

class Bare {  // the store interface alone: no engine, one session
 public:
  explicit Bare(const std::string& label, const store::OpenOptions& options = {})
      : store_(store::open(fresh_store_url(label), options)) {
    session_.id = base::new_uuid7();
    session_.worker = "bench";
    session_.lease = std::chrono::hours(12);
    session_.queues = {QueueRef{}};
    store_->open_session(session_);
  }

  void add(int count, Duration ahead = Duration{0}) {
    while (count > 0) {
      std::vector<NewExecution> items(static_cast<std::size_t>(std::min(count, limits::bulk_batch)));
      for (NewExecution& item : items) {
        item.id = later(base::new_uuid7(), ahead);
        item.task = "noop";
        item.input = R"({"i":1})";
      }
      (void)store_->admit(items);
      count -= static_cast<int>(items.size());
    }
  }

  // Claims and completes `count` executions in batches of `batch`. Returns seconds.
  double run(int count, int batch) {
    const auto start = Clock::now();
    std::vector<Finish> finishes;
    int left = count;
    while (left > 0 || !finishes.empty()) {
      ClaimRequest request;
      request.session = session_.id;
      request.claim_number = ++claim_number_;
      request.queues = session_.queues;
      request.limit = std::min(batch, left);
      const Exchange reply = store_->exchange(finishes, left > 0 ? &request : nullptr);
      finishes.clear();
      for (const Claim& claim : reply.claim.claims) {
        Finish finish;
        finish.id = claim.id;
        finish.fence = claim.fence;
        finishes.push_back(std::move(finish));
      }
      left -= static_cast<int>(reply.claim.claims.size());
      if (left > 0 && reply.claim.claims.empty()) throw std::runtime_error("the queue is empty too early");
    }
    return seconds_since(start);
  }

  [[nodiscard]] store::Store& store() { return *store_; }
  // A new session: the lease of hours has ended when the clock moves by days.
  void renew() {
    session_.id = base::new_uuid7();
    store_->open_session(session_);
    claim_number_ = 0;
  }

 private:
  std::unique_ptr<store::Store> store_;
  NewSession session_;
  std::int64_t claim_number_ = 0;
};

void progress(const std::string& text) { std::cerr << text << std::endl; }

}  // namespace

void scale_history() {
  const int finished = env_int("N", 5'000'000);
  const int rounds = env_int("ROUNDS", 5);
  constexpr int per_round = 20'000;
  Bare small("small");
  Bare big("big");
  for (int done = 0; done < finished; done += 100'000) {
    big.add(100'000);
    (void)big.run(100'000, 1000);
    if (done % 1'000'000 == 0) progress("history: " + std::to_string(done) + " of " + std::to_string(finished));
  }
  std::vector<double> small_rates;
  std::vector<double> big_rates;
  for (int round = -1; round < rounds; ++round) {  // the first round warms up
    for (Bare* bare : {&small, &big}) {
      bare->add(per_round);
      const double rate = per_round / bare->run(per_round, 500);
      if (round >= 0) (bare == &small ? small_rates : big_rates).push_back(rate);
    }
  }
  std::cout << R"({"n":)" << finished << R"(,"empty_per_s":)" << median(small_rates) << R"(,"full_per_s":)"
            << median(big_rates) << R"(,"ratio":)" << median(big_rates) / median(small_rates) << "}\n";
}

// The cost of claims while the clean-up deletes history: drains with and without the clean-up, in turns.
//
// The executions end on as many days as there are rounds, and before each round one more day expires. So each measured
// clean-up has one day to delete (SQLite) or one partition to drop (PostgreSQL), and none finishes during the warm-up
// round.
void scale_cleanup() {
  const int finished = env_int("N", 10'000'000);
  const int rounds = env_int("ROUNDS", 7);
  constexpr int per_round = 60'000;
  constexpr int chunk = 100'000;
  const auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
  Bare bare("big", {.clock_offset_us = offset});
  const auto go_to_day = [&](int day) {
    *offset = Duration(std::chrono::hours(24 * day)).count();
    bare.renew();
    (void)bare.store().sweep({});
  };
  const auto filling = Clock::now();
  int done = 0;
  for (int day = 0; day < rounds; ++day) {
    go_to_day(day);
    (void)bare.store().sweep({.retention = true});  // creates the partitions of the coming days
    const auto until = static_cast<int>(static_cast<std::int64_t>(finished) * (day + 1) / rounds);
    for (; done < until; done += std::min(chunk, until - done)) {
      const int some = std::min(chunk, until - done);
      bare.add(some, Duration(offset->load()));
      (void)bare.run(some, 1000);
    }
    progress("cleanup: " + std::to_string(done) + " of " + std::to_string(finished) + " after " +
             std::to_string(static_cast<int>(seconds_since(filling))) + " s");
  }
  const double fill_s = seconds_since(filling);
  base::SystemRandom random;
  std::atomic<std::int64_t> deleted{0};
  const auto drain = [&](bool cleans) {
    bare.add(per_round, Duration(offset->load()));
    engine::Sweeper sweeper(bare.store(), random,
                            {.retention_interval = std::chrono::microseconds(60),
                             .on_swept = [&](const SweepReport& report) { deleted += report.expired; }});
    engine::StepThread thread([&](Time now) { return sweeper.step(now); });
    if (cleans) thread.start();
    const double rate = per_round / bare.run(per_round, 500);
    thread.stop();
    return rate;
  };
  (void)drain(false);
  std::vector<double> calm;
  std::vector<double> cleaning;
  int worked = 0;  // rounds in which the clean-up deleted something
  for (int round = 0; round < rounds; ++round) {
    go_to_day(8 + round);  // records are kept for seven days
    calm.push_back(drain(false));
    const std::int64_t before = deleted;
    cleaning.push_back(drain(true));
    worked += deleted > before ? 1 : 0;
  }
  if (worked == 0) throw std::runtime_error("the clean-up had nothing to do: nothing was measured");
  std::cout << R"({"n":)" << finished << R"(,"fill_s":)" << fill_s << R"(,"calm_per_s":)" << median(calm)
            << R"(,"cleaning_per_s":)" << median(cleaning) << R"(,"deleted":)" << deleted
            << R"(,"rounds_that_deleted":)" << worked << R"(,"ratio":)" << median(cleaning) / median(calm) << "}\n";
}

void scale_backlog() {
  const int backlog = env_int("N", 1'000'000);
  const int rounds = env_int("ROUNDS", 7);
  constexpr int small_backlog = 10'000;
  constexpr int claims_per_round = 50;
  constexpr int batch = 100;
  Bare small("small");
  Bare big("big");
  small.add(small_backlog);
  for (int done = 0; done < backlog; done += 100'000) {
    big.add(std::min(100'000, backlog - done));
    if (done % 200'000 == 0) progress("backlog: " + std::to_string(done) + " of " + std::to_string(backlog));
  }
  std::vector<double> small_ms;
  std::vector<double> big_ms;
  for (int round = -1; round < rounds; ++round) {
    for (Bare* bare : {&small, &big}) {
      const double ms = bare->run(claims_per_round * batch, batch) * 1000 / claims_per_round;
      bare->add(claims_per_round * batch);  // not timed: restores the backlog
      if (round >= 0) (bare == &small ? small_ms : big_ms).push_back(ms);
    }
  }
  std::cout << R"({"n":)" << backlog << R"(,"small_ms_per_claim":)" << median(small_ms) << R"(,"big_ms_per_claim":)"
            << median(big_ms) << R"(,"ratio":)" << median(big_ms) / median(small_ms) << "}\n";
}

}  // namespace rig
