// Ticker: fires due schedules.
//
// Every worker process runs one ticker. There is no leader and no lock: every ticker reads the due activities, and the
// store accepts the first change that advances an activity's cursor. A ticker looks when the next activity is due, and
// at least once a second for activities that other processes created. One thread calls step().
//
// Cost: a look is one store call that reads only due activities, even if there are thousands of others. The due
// activities take one more call per 64 of them, or more calls if their executions exceed the size of one transaction.
#pragma once

#include "engine/backoff.hpp"
#include "engine/catalogue_cache.hpp"
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
    Duration look = std::chrono::seconds(1);          // longest wait between looks
    Duration spread = std::chrono::milliseconds(10);  // random extra delay, so that tickers do not look all at once
    // Log messages: a tick that ran already, a tick that could not be started, a store that does not answer. Exceptions
    // of the callback are ignored.
    std::function<void(std::string_view)> on_trouble;
    // Called after each successful look, as a sign of life.
    std::function<void()> on_looked;
  };

  Ticker(engine::Engine& engine, Options options);
  [[nodiscard]] Time step(Time now);

  // Handles the due activities once. Throws the store's errors.
  struct Look {
    int due = 0;
    int activities = 0;        // advanced by this ticker
    Time now{};                // the store's clock
    std::optional<Time> next;  // when to look again, by the store's clock; none: no activity has a tick left
  };
  [[nodiscard]] Look look();

 private:
  struct Read {
    std::string definition;
    std::shared_ptr<const Activity> activity;  // null: this build cannot read the definition
    std::string trouble;
  };

  [[nodiscard]] const Read& read(const model::ActivityState& state);
  [[nodiscard]] model::ActivityChange change_of(const model::DueActivity& due, Time now);
  [[nodiscard]] engine::CatalogueCache& catalogue(const std::string& namespace_name);
  void apply(std::span<const model::ActivityChange> changes, std::span<const model::DueActivity> due, Look& look);
  void apply_alone(const model::ActivityChange& change, const model::DueActivity& due, Look& look);
  void store_postponed(const model::DueActivity& due, Time now, const std::string& trouble);
  void applied(const model::ActivityChange& change, const model::ActivityReply& reply, Look& look);
  void say(const std::string& text) const;

  engine::Engine& engine_;
  Options options_;
  engine::Backoff backoff_;
  std::unordered_map<Uuid, Read> read_;  // by the activity's uuid
  std::map<std::string, std::shared_ptr<engine::CatalogueCache>> catalogues_;
};

// Starts the process's ticker if it is not running yet. The ticker stops with the engine.
void start_ticker(engine::Engine& engine, Ticker::Options options);

}  // namespace hapax::schedule
