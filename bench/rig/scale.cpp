// Neither history nor backlog slows claims. Two stores of the same kind, one small and one big, are measured in turn, so
// that a drifting machine hits both; the medians' ratio is the figure.
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

class Bare {  // the seam alone: no engine, one session
 public:
  explicit Bare(const std::string& label, const store::OpenOptions& options = {})
      : store_(store::open(fresh_store_url(label), options)) {
    session_.id = base::new_uuid7();
    session_.worker = "bench";
    session_.lease = std::chrono::hours(12);
    session_.queues = {QueueRef{}};
    store_->open_session(session_);
  }

  void add(int count) {
    while (count > 0) {
      std::vector<NewExecution> items(static_cast<std::size_t>(std::min(count, limits::bulk_batch)));
      for (NewExecution& item : items) {
        item.id = base::new_uuid7();
        item.task = "noop";
        item.input = R"({"i":1})";
      }
      (void)store_->admit(items);
      count -= static_cast<int>(items.size());
    }
  }

  // Claims and completes `count` executions in batches of `batch`; returns seconds.
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
  // A lease of hours ends when the clock is moved by days.
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
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (Bare* bare : {&small, &big}) {
      bare->add(per_round);
      const double rate = per_round / bare->run(per_round, 500);
      if (round >= 0) (bare == &small ? small_rates : big_rates).push_back(rate);
    }
  }
  std::cout << R"({"n":)" << finished << R"(,"empty_per_s":)" << median(small_rates) << R"(,"full_per_s":)"
            << median(big_rates) << R"(,"ratio":)" << median(big_rates) / median(small_rates) << "}\n";
}

// What all of them cost while the clean-up goes through them: drains with it running and without, in turn.
void scale_cleanup() {
  const int finished = env_int("N", 10'000'000);
  const int rounds = env_int("ROUNDS", 7);
  constexpr int per_round = 20'000;
  const auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
  Bare bare("big", {.clock_offset_us = offset});
  for (int done = 0; done < finished; done += 100'000) {
    bare.add(100'000);
    (void)bare.run(100'000, 1000);
    if (done % 1'000'000 == 0) progress("cleanup: " + std::to_string(done) + " of " + std::to_string(finished));
  }
  *offset = Duration(std::chrono::hours(24 * 8)).count();  // all of it has expired
  bare.renew();
  base::SystemRandom random;
  std::atomic<std::int64_t> deleted{0};
  std::vector<double> calm;
  std::vector<double> cleaning;
  for (int round = -1; round < rounds; ++round) {
    for (const bool cleans : {false, true}) {
      bare.add(per_round);
      engine::Sweeper sweeper(bare.store(), random,
                              {.retention_interval = std::chrono::microseconds(60),
                               .on_swept = [&](const SweepReport& report) { deleted += report.expired; }});
      engine::StepThread thread([&](Time now) { return sweeper.step(now); });
      if (cleans) thread.start();
      const double rate = per_round / bare.run(per_round, 500);
      thread.stop();
      if (round >= 0) (cleans ? cleaning : calm).push_back(rate);
    }
  }
  std::cout << R"({"n":)" << finished << R"(,"calm_per_s":)" << median(calm) << R"(,"cleaning_per_s":)"
            << median(cleaning) << R"(,"deleted":)" << deleted << R"(,"ratio":)" << median(cleaning) / median(calm)
            << "}\n";
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
      bare->add(claims_per_round * batch);  // outside the clock: the backlog stays as it was
      if (round >= 0) (bare == &small ? small_ms : big_ms).push_back(ms);
    }
  }
  std::cout << R"({"n":)" << backlog << R"(,"small_ms_per_claim":)" << median(small_ms) << R"(,"big_ms_per_claim":)"
            << median(big_ms) << R"(,"ratio":)" << median(big_ms) / median(small_ms) << "}\n";
}

}  // namespace rig
