// Ticker: starts what schedules are due for (SPEC S7).
//
// Every process that works runs one. There is no leader and no lock: all of them look at what is due, and the store takes
// the first who advances an activity's cursor. Looks when the next activity is due, and once a second for those that other
// processes made; a look reads only what is due. One thread calls step().
//
// Cost: a look is one call of the store, also with thousands of activities; what is due is done by one more call, in batches
// of up to 64 activities.
#pragma once

#include "engine/catalogue_cache.hpp"
#include "engine/dispatcher.hpp"
#include "engine/engine.hpp"
#include "schedule/activity.hpp"
#include "schedule/tick.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hapax::schedule {

class Ticker {
 public:
  struct Options {
    Duration look = std::chrono::seconds(1);          // for what others made
    Duration spread = std::chrono::milliseconds(10);  // so that many tickers do not look at one instant
    // For people: a tick that ran already, one that could not be started, a store that does not answer. What it throws is
    // dropped.
    std::function<void(std::string_view)> on_trouble;
    // After each look that the store has answered: the schedules are alive.
    std::function<void()> on_looked;
  };

  Ticker(engine::Engine& engine, Options options);
  [[nodiscard]] Time step(Time now);

  // Does what is due, once; the next instant by the store's clock when something is, if there is one. Throws what the store
  // throws.
  struct Look {
    int due = 0;
    int activities = 0;  // that this ticker advanced
    Time now{};          // the store's
    std::optional<Time> next;
  };
  [[nodiscard]] Look look();

 private:
  struct Read {
    std::string definition;
    std::shared_ptr<const Activity> activity;  // null: it cannot be read
    std::string trouble;
  };

  [[nodiscard]] const Read& read(const model::ActivityState& state);
  [[nodiscard]] model::ActivityChange change_of(const model::DueActivity& due, Time now);
  [[nodiscard]] engine::CatalogueCache& catalogue(const std::string& ns);
  void apply(std::span<const model::ActivityChange> changes, std::span<const model::DueActivity> due, Look& look);
  void apply_alone(const model::ActivityChange& change, const model::DueActivity& due, Look& look);
  void put_off(const model::DueActivity& due, Time now, const std::string& trouble);
  void applied(const model::ActivityChange& change, const model::ActivityReply& reply, Look& look);
  void say(const std::string& text) const;

  engine::Engine& engine_;
  Options options_;
  engine::Backoff backoff_;
  std::unordered_map<Uuid, Read> read_;  // by the activity's uuid
  std::map<std::string, engine::CatalogueCache> catalogues_;
};

// Starts the ticker of this process, if it does not run yet. It ends with the engine.
void start_ticker(engine::Engine& engine, Ticker::Options options);

}  // namespace hapax::schedule
