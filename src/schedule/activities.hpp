// Activities: the operations on a namespace's activities, for the API, the command line and the library. Each operation
// reads the state, computes a change and submits it with the revision it has read; if another process changed the
// activity meanwhile, the operation starts again (decision 24).
//
// Any thread may call. A call returns after its change is committed. Errors are InvalidArgument and types derived from
// it, NotFound, and the store's errors.
#pragma once

#include <hapax/error.hpp>

#include "engine/catalogue_cache.hpp"
#include "engine/engine.hpp"
#include "schedule/activity.hpp"
#include "schedule/event.hpp"
#include "schedule/misfire.hpp"
#include "schedule/tick.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::schedule {

class Activities {
 public:
  Activities(engine::Engine& engine, std::string namespace_name);

  struct Applied {
    model::ActivityState state;
    bool created = false;
    bool changed = false;  // false: the activity already has this definition
  };
  // Creates the activity or replaces its definition. A new activity, or one whose timetable changes, has ticks from now
  // on. Otherwise the cursor stays. A paused activity stays paused.
  Applied apply(const Activity& activity, std::string_view actor);

  [[nodiscard]] std::optional<model::ActivityState> find(std::string_view id);
  [[nodiscard]] model::ActivityState get(std::string_view id);  // throws NotFound
  [[nodiscard]] std::vector<model::ActivityState> list(
      const model::ActivityQuery& query = {});  // ignores query.namespace_name
  [[nodiscard]] std::vector<model::ActivityVersion> versions(std::string_view id);

  // If the activity is paused already, only the note changes.
  model::ActivityState pause(std::string_view id, std::string_view note, std::string_view actor);
  // Ticks during the pause count as missed, except those within the last misfire_grace, which run.
  model::ActivityState resume(std::string_view id, std::string_view actor);
  void remove(std::string_view id, std::string_view actor);

  struct Started {
    std::string run_id;
    model::Admission admission;  // of the target
  };
  // Starts a run now, even if the activity is paused. A second call with the same key returns the first run; without a
  // key every call starts a run. Unless the overlap policy is `allow`, the run waits for the activity's earlier runs.
  struct Manual {
    std::optional<std::string> key;
    std::optional<Event> event;  // only for an activity with an event trigger
  };
  Started trigger(std::string_view id, const Manual& manual, std::string_view actor);

  struct Backfill {
    std::int64_t ticks = 0;  // processed so far
    std::int64_t started = 0;
    std::int64_t existing = 0;  // ticks that had run already
    std::int64_t refused = 0;
    std::string trouble;            // the latest reason for a refusal
    std::optional<Time> next_from;  // `progress` stopped the backfill: where the next one continues
  };
  // Runs the ticks of a range, both ends included. After each batch `progress` gets the report so far and the number of
  // ticks left, and returns whether to continue.
  using BackfillProgress = std::function<bool(const Backfill&, std::int64_t left)>;
  Backfill backfill(std::string_view id, const TickRange& range, std::string_view actor,
                    const BackfillProgress& progress = {});

  // The activity's runs, newest first. A run's task instances are the executions whose parent is the run.
  [[nodiscard]] std::vector<model::Execution> runs(std::string_view id, model::ListQuery query);

  [[nodiscard]] const std::string& namespace_name() const { return namespace_name_; }

 private:
  // Submits the change that `make` returns for the current state. Retries with a fresh state while other processes
  // change the activity first, up to 100 times, then throws StoreBusy. Does nothing if `make` returns none.
  using MakeChange = std::function<std::optional<model::ActivityChange>(const model::ActivityState*)>;
  struct Changed {
    std::optional<model::ActivityChange> change;
    model::ActivityReply reply;
  };
  Changed change(std::string_view id, const MakeChange& make);
  [[nodiscard]] model::ActivityChange change_of(std::string_view id, const model::ActivityState* state,
                                                std::string_view actor, std::string action) const;
  // The result of the newest completed run.
  [[nodiscard]] std::optional<std::string> last_result(const Uuid& activity);
  void tell(const model::ActivityChange& change);
  [[nodiscard]] NotFound not_found(std::string_view id) const;

  engine::Engine& engine_;
  const std::string namespace_name_;
  std::shared_ptr<engine::CatalogueCache> catalogue_;
};

}  // namespace hapax::schedule
