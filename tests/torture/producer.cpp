#include "torture/log.hpp"
#include "torture/own_writes.hpp"
#include "torture/plan.hpp"
#include "torture/roles.hpp"

#include "base/fault.hpp"
#include "engine/engine.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hapax::torture {
namespace {

constexpr std::int64_t backlog_limit = 3000;  // above it producers pause, so that a run can end
constexpr std::size_t remembered = 64;

// Keys change with the clock: all producers use the same few at the same time and return to each a little later.
std::string shared_key(base::Random& random) {
  const auto tenths =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count() /
      100;
  return "k-" + std::to_string(tenths / 5 - below(random, 4)) + "-" + std::to_string(below(random, 3));
}

class Producer {
 public:
  Producer(const Options& options, store::Store& store)
      : store_(store),
        writes_(own_writes(store, options.url)),
        log_(options.folder, options.role, options.number),
        random_(options.seed * 1000003 + static_cast<std::uint64_t>(options.number)) {}

  void run() {
    for (int turn = 0; !told_to_end(); ++turn) {
      try {
        act();
        if (turn % 50 == 0) wait_for_room();
      } catch (const StoreUnavailable& error) {
        log_.write(Event::note, error.name());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      } catch (const base::FaultInjected&) { log_.write(Event::note, "FaultInjected"); }
      std::this_thread::sleep_for(std::chrono::microseconds(below(random_, 12'000)));
    }
  }

 private:
  void act() {
    const int draw = below(random_, 100);
    if (draw < 50) {
      admit({random_request(random_)});
    } else if (draw < 62) {
      std::vector<store::NewExecution> batch;
      for (int left = 2 + below(random_, 40); left > 0; --left) batch.push_back(random_request(random_));
      if (one_in(random_, 2)) batch.push_back(keyed_request(shared_key(random_)));
      admit(batch);
    } else if (draw < 82) {
      admit({keyed_request(shared_key(random_))});
    } else if (draw < 88) {
      enqueue_in_transaction();
    } else if (draw < 92) {
      cancel();
    } else {
      observe();
    }
  }

  void admit(const std::vector<store::NewExecution>& items) {
    // After an unknown answer the producer repeats the request with the same IDs, which must be safe.
    for (int attempt = 0;; ++attempt) {
      try {
        acknowledge(items, store_.admit(items));
        return;
      } catch (const StoreUnavailable& error) {
        log_.write(Event::note, error.name());
        if (attempt == 3 || told_to_end()) return;
      } catch (const base::FaultInjected&) {
        log_.write(Event::note, "FaultInjected");
        if (attempt == 3) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50 << attempt));
    }
  }

  void acknowledge(const std::vector<store::NewExecution>& items, const std::vector<store::Admission>& admissions) {
    for (std::size_t index = 0; index < items.size(); ++index) {
      const auto& admission = admissions.at(index);
      if (admission.created()) {
        const auto& identity = items[index].identity;
        log_.write(Event::acknowledged, admission.id, items[index].task, identity ? identity->key : "", admission.run);
        recent_.push_back(admission.id);
      } else if (admission.verdict == store::AdmissionVerdict::deduplicated) {
        log_.write(Event::duplicate, admission.id);
      } else {
        log_.write(Event::note, "unexpected-admission", static_cast<int>(admission.verdict));
      }
      if (admission.status == Status::completed && admission.result) {
        log_.write(Event::observed, admission.id, to_string(admission.status), *admission.result);
      }
    }
    while (recent_.size() > remembered) recent_.pop_front();
  }

  // Commits an enqueue and a row in torture_outbox together. If the commit is unknown, the log gets no acknowledgement;
  // the checker compares the two tables.
  void enqueue_in_transaction() {
    const auto item = request("outbox", chaos_queues().back());
    std::vector<store::Admission> admissions;
    writes_->write({.table = "torture_outbox", .id = item.id},
                   [&](store::Transaction& tx) { admissions = tx.admit(std::span(&item, 1)); });
    acknowledge({item}, admissions);
  }

  void cancel() {
    if (recent_.empty()) return;
    const Uuid id = recent_[static_cast<std::size_t>(below(random_, static_cast<int>(recent_.size())))];
    const auto results = store_.cancel(std::span(&id, 1), "torture");
    log_.write(Event::cancel, id, static_cast<int>(results.at(0).verdict), to_string(results.at(0).status));
  }

  void observe() {
    const std::vector<Uuid> ids(recent_.begin(), recent_.end());
    for (const auto& outcome : store_.outcomes(ids)) {
      if (!outcome || !is_terminal(outcome->status)) continue;
      log_.write(Event::observed, outcome->id, to_string(outcome->status), outcome->result.value_or(""));
    }
  }

  void wait_for_room() {
    while (!told_to_end()) {
      std::int64_t waiting = 0;
      for (const auto& queue : store_.queues("default")) waiting += queue.ready + queue.delayed;
      if (waiting < backlog_limit) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  store::Store& store_;
  std::unique_ptr<OwnWrites> writes_;
  Log log_;
  base::SeededRandom random_;
  std::deque<Uuid> recent_;
};

}  // namespace

int run_producer(const Options& options) {
  const auto store = open_patiently(options);
  Producer(options, *store).run();
  return 0;
}

int run_engine_producer(const Options& options) {
  std::shared_ptr<store::Store> store = open_patiently(options);
  const auto engine = std::make_shared<engine::Engine>(store);
  Log log(options.folder, options.role, options.number);
  std::vector<std::jthread> threads;
  for (int index = 0; index < 4; ++index) {
    threads.emplace_back([&, index] {
      base::SeededRandom random(options.seed * 1000003 + static_cast<std::uint64_t>(options.number * 10 + index));
      while (!told_to_end()) {
        const auto item = one_in(random, 4) ? keyed_request(shared_key(random)) : random_request(random);
        try {
          const auto admission = engine->admit(item);
          if (admission.created()) {
            log.write(Event::acknowledged, admission.id, item.task, item.identity ? item.identity->key : "",
                      admission.run);
          } else {
            log.write(Event::duplicate, admission.id);
          }
        } catch (const StoreUnavailable& error) {
          log.write(Event::note, error.name());
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        } catch (const base::FaultInjected&) { log.write(Event::note, "FaultInjected"); }
        std::this_thread::sleep_for(std::chrono::microseconds(below(random, 40'000)));
      }
    });
  }
  return 0;
}

}  // namespace hapax::torture
