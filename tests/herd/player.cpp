#include "herd/operations.hpp"
#include "herd/roles.hpp"
#include "herd/stage.hpp"

#include "base/uuid7.hpp"
#include "engine/engine.hpp"
#include "model/identity.hpp"
#include "torture/plan.hpp"
#include "torture/roles.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

namespace hapax::herd {
namespace {

using torture::below;
using torture::one_in;

constexpr std::size_t remembered = 24;
constexpr std::size_t held_at_most = 4;

struct Shared {
  const torture::Options& options;
  nlohmann::json plan;
  Gate gate;
  Scribe scribe;
  std::shared_ptr<store::Store> store;
  engine::Engine engine;
};

// One thread of a process: draws operations on the keys that all processes use at the moment.
class Player {
 public:
  Player(Shared& shared, int thread)
      : shared_(shared),
        store_(*shared.store),
        random_(shared.options.seed * 1000003 + static_cast<std::uint64_t>(shared.options.number * 100 + thread)),
        keys_(shared.plan.at("keys")) {}

  void run() {
    open_session();
    const std::int64_t last = std::int64_t{keys_} * operations_per_key;
    for (std::int64_t turn = 0; turn < last && !torture::told_to_end();) {
      turn = shared_.gate.take();
      act(turn);
    }
    while (!held_.empty()) finish_some();
    close_session();
  }

 private:
  // Half of the operations go to the current key, the others to its neighbourhood.
  int key_at(std::int64_t turn) {
    const std::int64_t here = std::min<std::int64_t>(turn / operations_per_key, keys_ - 1);
    if (one_in(random_, 2)) return static_cast<int>(here);
    const std::int64_t first = here / neighbourhood * neighbourhood;
    return static_cast<int>(std::min<std::int64_t>(first + below(random_, neighbourhood), keys_ - 1));
  }

  void act(std::int64_t turn) {
    const int draw = below(random_, 100);
    if (draw < 45) {
      admit(turn);
    } else if (draw < 72) {
      work();
    } else if (draw < 79) {
      cancel();
    } else if (draw < 87) {
      retry();
    } else if (draw < 94) {
      ask_holder(key_at(turn));
    } else {
      get();
    }
  }

  // Records a call with its times; the exception's type says whether the call may have taken effect.
  template <class Call>
  void told(const std::vector<std::int64_t>& numbers, const Call& call) {
    try {
      call();
    } catch (const CommitUnknown&) {
      for (const auto number : numbers) shared_.scribe.answer(number, {"unknown"});
    } catch (const StoreUnavailable&) {
      for (const auto number : numbers) shared_.scribe.answer(number, {"nothing"});
    } catch (const store::Blocked&) {
      for (const auto number : numbers) shared_.scribe.answer(number, {"nothing"});
    }
  }

  store::NewExecution request(int key) {
    store::NewExecution item = torture::request("history", "history");
    const bool other = one_in(random_, 20);
    item.input = R"({"key":)" + std::to_string(key) + (other ? R"(,"other":true})" : "}");
    model::IdentityClaim identity;
    identity.hash = hash_of(key);
    identity.key = std::to_string(key);
    identity.fingerprint = model::input_fingerprint(item.input);
    const int conflict = below(random_, 100);
    identity.on_conflict = conflict < 70   ? OnConflict::return_existing
                           : conflict < 85 ? OnConflict::reject
                           : conflict < 90 ? OnConflict::wait
                                           : OnConflict::terminate_existing;
    const int reuse = below(random_, 100);
    identity.reuse = reuse < 70 ? Reuse::failed_only : reuse < 80 ? Reuse::reject : Reuse::allow;
    item.identity = identity;
    return item;
  }

  std::int64_t begin_admission(const store::NewExecution& item) {
    const auto& identity = *item.identity;
    const bool other = item.input.find("other") != std::string::npos;
    return shared_.scribe.begin({"admit", identity.key, item.id.to_string(),
                                 std::to_string(static_cast<int>(identity.on_conflict)),
                                 std::to_string(static_cast<int>(identity.reuse)), other ? "1" : "0"});
  }

  void end_admission(std::int64_t number, const store::Admission& admission) {
    shared_.scribe.answer(number, {std::to_string(static_cast<int>(admission.verdict)), admission.id.to_string(),
                                   std::to_string(static_cast<int>(admission.status)), std::to_string(admission.run),
                                   admission.result.value_or("0")});
    remember(admission.id);
  }

  void admit(std::int64_t turn) {
    std::vector<store::NewExecution> items{request(key_at(turn))};
    if (one_in(random_, 3)) {
      for (int more = 1 + below(random_, 5); more > 0; --more) items.push_back(request(key_at(turn)));
    }
    std::vector<std::int64_t> numbers;
    for (const auto& item : items) numbers.push_back(begin_admission(item));
    told(numbers, [&] {
      std::vector<store::Admission> admissions;
      if (items.size() == 1 && shared_.options.number % 2 == 0) {
        admissions.push_back(shared_.engine.admit(items[0]));
      } else {
        admissions = store_.admit(items);
      }
      for (std::size_t index = 0; index < items.size(); ++index) end_admission(numbers[index], admissions.at(index));
    });
  }

  void work() {
    if (held_.empty() || (held_.size() < held_at_most && one_in(random_, 2))) {
      claim();
    } else {
      finish_some();
    }
  }

  void claim() {
    store::ClaimRequest request;
    request.session = session_;
    request.claim_number = ++claim_number_;
    request.queues = {{.namespace_name = "default", .name = "history"}};
    request.limit = 1 + below(random_, 3);
    const auto number = shared_.scribe.begin({"claim", session_.to_string()});
    told({number}, [&] {
      const auto claims = store_.claim(request).claims;
      std::vector<std::string> words{"claimed"};
      for (const auto& one : claims) {
        words.push_back(one.id.to_string());
        words.push_back(std::to_string(one.fence));
        held_.push_back({.id = one.id, .fence = one.fence});
      }
      shared_.scribe.answer(number, words);
    });
  }

  void finish_some() {
    std::vector<store::Finish> finishes;
    std::vector<std::int64_t> numbers;
    for (int left = 1 + below(random_, 2); left > 0 && !held_.empty(); --left) {
      store::Finish finish;
      finish.id = held_.front().id;
      finish.fence = held_.front().fence;
      held_.pop_front();
      const int draw = below(random_, 100);
      finish.kind = draw < 35   ? store::FinishKind::completed
                    : draw < 75 ? store::FinishKind::failed
                    : draw < 88 ? store::FinishKind::retry
                                : store::FinishKind::released;
      const std::int64_t result = shared_.options.number * 10'000'000LL + (++results_ * 100) + thread_tag_;
      finish.result = std::to_string(result);
      if (finish.kind != store::FinishKind::completed) finish.error = model::ErrorInfo{"Doomed", "by lot", ""};
      numbers.push_back(shared_.scribe.begin({"finish", finish.id.to_string(), std::to_string(finish.fence),
                                              std::to_string(static_cast<int>(finish.kind)), finish.result}));
      finishes.push_back(finish);
    }
    told(numbers, [&] {
      const auto verdicts = store_.finish(finishes);
      for (std::size_t index = 0; index < finishes.size(); ++index) {
        shared_.scribe.answer(numbers[index], {std::to_string(static_cast<int>(verdicts.at(index)))});
      }
    });
  }

  void cancel() {
    if (recent_.empty()) return;
    const Uuid id = draw_recent();
    const auto number = shared_.scribe.begin({"cancel", id.to_string()});
    told({number}, [&] {
      const auto answer = store_.cancel(std::span(&id, 1), "by lot").at(0);
      shared_.scribe.answer(
          number, {std::to_string(static_cast<int>(answer.verdict)), std::to_string(static_cast<int>(answer.status))});
    });
  }

  void retry() {
    if (recent_.empty()) return;
    const store::RetryRequest request{.id = draw_recent(), .new_id = base::new_uuid7()};
    const auto number = shared_.scribe.begin({"retry", request.id.to_string(), request.new_id.to_string()});
    told({number}, [&] {
      const auto answer = store_.retry(std::span(&request, 1)).at(0);
      shared_.scribe.answer(number, {std::to_string(static_cast<int>(answer.verdict)), answer.existing.to_string(),
                                     std::to_string(answer.run)});
      if (answer.verdict == store::RetryVerdict::created) remember(answer.existing);
    });
  }

  void ask_holder(int key) {
    const auto number = shared_.scribe.begin({"holder", std::to_string(key)});
    told({number}, [&] {
      const auto id = store_.holder(hash_of(key));
      shared_.scribe.answer(number, {id ? id->to_string() : "-"});
      if (id) remember(*id);
    });
  }

  void get() {
    if (recent_.empty()) return;
    const Uuid id = draw_recent();
    const auto number = shared_.scribe.begin({"get", id.to_string()});
    told({number}, [&] {
      const auto found = store_.get(id);
      shared_.scribe.answer(number, {found ? std::to_string(static_cast<int>(found->status)) : "-"});
    });
  }

  void open_session() {
    store::NewSession session;
    session.id = session_ = base::new_uuid7();
    session.worker = "player-" + std::to_string(shared_.options.number);
    session.lease =
        std::chrono::hours(1);  // leases never run out: the controller closes the sessions of killed players
    session.queues = {{.namespace_name = "default", .name = "history"}};
    shared_.scribe.session(session_);
    for (int left = 100; left > 0; --left) {
      try {
        store_.open_session(session);
        return;
      } catch (const StoreUnavailable&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
    }
  }

  // If the close is not answered, the controller repeats it.
  void close_session() {
    const auto number = shared_.scribe.begin({"close", session_.to_string()});
    told({number}, [&] {
      store_.close_session(session_);
      shared_.scribe.answer(number, {"closed"});
    });
  }

  void remember(const Uuid& id) {
    recent_.push_back(id);
    if (recent_.size() > remembered) recent_.pop_front();
  }
  // Recent executions are drawn more often.
  Uuid draw_recent() {
    const auto back = static_cast<std::size_t>(below(random_, 1 + below(random_, static_cast<int>(recent_.size()))));
    return recent_[recent_.size() - 1 - back];
  }

  Shared& shared_;
  store::Store& store_;
  base::SeededRandom random_;
  int keys_;
  Uuid session_;
  std::int64_t claim_number_ = 0;
  std::deque<store::Held> held_;
  std::deque<Uuid> recent_;

  static inline std::atomic<int> threads_{0};
  int thread_tag_ = threads_.fetch_add(1);
  std::int64_t results_ = 0;
};

}  // namespace

base::Digest hash_of(int key) {
  // Half of the identities come from a key, half from the whole input.
  const std::string text = std::to_string(key);
  return model::identity_hash({.namespace_name = "default",
                               .scope = model::Scope::task,
                               .name = "history",
                               .key = key % 2 == 0 ? "key-" + text : R"({"key":)" + text + "}"});
}

int run_player(const torture::Options& options) {
  std::shared_ptr<store::Store> store = torture::open_patiently(options);
  Shared shared{.options = options,
                .plan = read_plan(options.folder),
                .gate = Gate(options.folder),
                .scribe = Scribe(options.folder, options.role, options.number),
                .store = store,
                .engine = engine::Engine(store)};
  if (!shared.gate.wait()) return 0;
  std::vector<std::jthread> threads;
  for (int index = 0; index < shared.plan.at("threads").get<int>(); ++index) {
    threads.emplace_back([&shared, index] { Player(shared, index).run(); });
  }
  return 0;
}

}  // namespace hapax::herd
