#include "herd/linear.hpp"
#include "herd/operations.hpp"
#include "herd/scenes.hpp"

#include "torture/plan.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

namespace hapax::herd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int threads_per_process = 3;
constexpr int kills_per_thousand_keys = 3;

class HistoryPlay {
 public:
  HistoryPlay(Stage& stage, const HistorySize& size)
      : stage_(stage),
        size_(size),
        scene_(stage, "history", {{"keys", size.keys}, {"threads", threads_per_process}}),
        scribe_(scene_.folder(), "controller", 0) {}

  void run() {
    for (int index = 0; index < size_.processes; ++index) scene_.children().start({.role = "player"});
    scene_.gate().open();
    hurt();
    scene_.wait_for("player", seconds(60));
    for (const auto& [session, player] : read_history(scene_.folder()).open_sessions) close(session);
    for (int key = 0; key < size_.keys; ++key) look_at(key);
    check();
  }

 private:
  [[nodiscard]] std::int64_t share_done() {
    return scene_.gate().taken() * 1000 / (std::int64_t{size_.keys} * operations_per_key);
  }

  // Kills are spread over the operations, not over time, so that a slow machine has as many.
  void hurt() {
    const int kills = std::max(4, size_.keys * kills_per_thousand_keys / 1000);
    for (int kill = 1; kill <= kills; ++kill) {
      const std::int64_t due = 1000 * kill / (kills + 2);
      if (!scene_.wait_until(seconds(300), [&] { return share_done() >= due; })) {
        scene_.violation("the players came to a stop");
        return;
      }
      auto& living = scene_.children().living();
      if (living.empty()) return;
      auto& victim = living[static_cast<std::size_t>(torture::below(stage_.random(), static_cast<int>(living.size())))];
      const int number = victim.number;
      scene_.children().kill(victim);
      stage_.findings().count("players killed");
      (void)scene_.wait_until(seconds(20), [&] { return scene_.children().find(number) == nullptr; });
      close_sessions_of(number);
      scene_.children().start({.role = "player"});
      if (kill % 3 == 0) stage_.cut_connections(4);
    }
    (void)scene_.wait_until(seconds(300), [&] { return share_done() >= 1000; });
  }

  // Closes the sessions of a killed player, which releases its claims.
  void close_sessions_of(int player) {
    for (const auto& record : torture::read_log(scene_.folder(), "player", player)) {
      if (record.words.at(0) == "s") close(Uuid::parse(record.words.at(1)).value());
    }
  }

  void close(const Uuid& session) {
    const auto number = scribe_.begin({"close", session.to_string()});
    patiently([&] { stage_.store().close_session(session); });
    scribe_.answer(number, {"closed"});
  }

  void look_at(int key) {
    const auto number = scribe_.begin({"holder", std::to_string(key)});
    std::optional<Uuid> id;
    patiently([&] { id = stage_.store().holder(hash_of(key)); });
    scribe_.answer(number, {id ? id->to_string() : "-"});
  }

  template <class Call>
  static void patiently(const Call& call) {
    for (int left = 100;; --left) {
      try {
        return call();
      } catch (const StoreUnavailable&) {
        if (left == 0) throw;
        std::this_thread::sleep_for(milliseconds(20));
      }
    }
  }

  void check() {
    const History history = read_history(scene_.folder());
    for (const auto& words : history.strangers) scene_.violation(words);
    for (const auto& [what, number] : history.counts) stage_.findings().count("history: " + what, number);
    if (static_cast<int>(history.keys.size()) < size_.keys) scene_.violation("keys without a history");
    int asked_for = 0;
    for (const auto& [key, operations] : history.keys) {
      check_key(key, operations, history.lost_claims);
      if (operations.size() > 2) ++asked_for;
    }
    stage_.findings().count("keys checked", asked_for);
    check_store(history);
  }

  void check_key(int key, std::vector<Operation> operations, const std::vector<LostClaim>& lost_claims) {
    Verdict verdict = check_history(operations);
    if (verdict != Verdict::linearizable && !lost_claims.empty()) {
      // A claim whose answer was lost may have taken this key's execution for a while.
      for (const auto& lost : lost_claims) {
        operations.push_back(lost.claim);
        operations.insert(operations.end(), lost.releases.begin(), lost.releases.end());
      }
      verdict = check_history(operations);
      stage_.findings().count("keys that met a lost claim");
    }
    if (verdict == Verdict::linearizable) return;
    scene_.violation("key " + std::to_string(key) +
                     (verdict == Verdict::broken ? " has no order:\n" : " was too much to decide:\n") +
                     describe(operations));
  }

  // The store agrees with the acknowledgements, and each identity has at most one live execution.
  void check_store(const History& history) {
    std::set<Uuid> present;
    std::map<base::Digest, int> live;
    store::ListQuery query;
    query.queue = "history";
    query.payloads = false;
    query.limit = 1000;
    while (true) {
      const auto page = stage_.store().list(query);
      for (const auto& one : page) {
        present.insert(one.id);
        if (!history.key_of.contains(one.id)) scene_.violation("nobody asked for " + one.id.to_string());
        if (!is_terminal(one.status) && one.identity && ++live[*one.identity] == 2) {
          scene_.violation("two live executions of " + one.identity_key);
        }
      }
      if (page.empty()) break;
      query.after = page.back().id;
    }
    for (const auto& id : history.created) {
      if (!present.contains(id)) scene_.violation("an acknowledged execution is gone: " + id.to_string());
    }
    stage_.findings().count("executions of the history", static_cast<std::int64_t>(present.size()));
  }

  Stage& stage_;
  HistorySize size_;
  Scene scene_;
  Scribe scribe_;
};

}  // namespace

void history(Stage& stage, const HistorySize& size) { HistoryPlay(stage, size).run(); }

}  // namespace hapax::herd
