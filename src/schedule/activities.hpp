// Activities: what people and programs do with the activities of a namespace (SPEC S1, S6). Reads the state, decides, and
// hands the change in with the revision it has seen; when somebody else was first, it begins again.
//
// Any thread. Every call is over when it returns; errors are InvalidArgument and its kin, NotFound, and what the store throws.
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
  Activities(engine::Engine& engine, std::string ns);

  struct Applied {
    model::ActivityState state;
    bool created = false;
    bool changed = false;  // or it was there just so
  };
  // Makes it or gives it another definition. New ones, and those whose timetable changes, count their ticks from now;
  // others go on where they are, paused ones stay paused.
  Applied apply(const Activity& activity, std::string_view actor);

  [[nodiscard]] std::optional<model::ActivityState> find(std::string_view id);
  [[nodiscard]] model::ActivityState get(std::string_view id);                                   // throws NotFound
  [[nodiscard]] std::vector<model::ActivityState> list(const model::ActivityQuery& query = {});  // `ns` is its own
  [[nodiscard]] std::vector<model::ActivityVersion> versions(std::string_view id);

  // Of one that is paused already, the note is changed.
  model::ActivityState pause(std::string_view id, std::string_view note, std::string_view actor);
  // Ticks of the pause are missed ones, but for those of the last misfire_grace.
  model::ActivityState resume(std::string_view id, std::string_view actor);
  void remove(std::string_view id, std::string_view actor);

  struct Started {
    std::string run_id;
    model::Admission admission;  // of the target
  };
  // Runs it now, paused or not. The same key again meets the first run; without a key every call is a run. Runs that may
  // not overlap wait for each other, whatever the policy.
  struct Manual {
    std::optional<std::string> key;
    std::optional<Event> event;  // for one with an event trigger
  };
  Started trigger(std::string_view id, const Manual& manual, std::string_view actor);

  struct Backfill {
    std::int64_t ticks = 0;  // of the range
    std::int64_t started = 0;
    std::int64_t existing = 0;  // had run already
    std::int64_t refused = 0;
    std::string trouble;            // why
    std::optional<Time> next_from;  // it was broken off: where to go on
  };
  // Both ends inside. `progress`, after each batch, gets what was done so far and how many ticks are left, and says whether
  // to go on.
  using BackfillProgress = std::function<bool(const Backfill&, std::int64_t left)>;
  Backfill backfill(std::string_view id, const TickRange& range, std::string_view actor,
                    const BackfillProgress& progress = {});

  // Its runs, newest first. The task instances of one are those whose parent is its execution.
  [[nodiscard]] std::vector<model::Execution> runs(std::string_view id, model::ListQuery query);

  [[nodiscard]] const std::string& ns() const { return ns_; }

 private:
  // Changes it by what `make` says of its state, until nobody else was first. An empty change is not made.
  using MakeChange = std::function<std::optional<model::ActivityChange>(const model::ActivityState*)>;
  struct Changed {
    std::optional<model::ActivityChange> change;
    model::ActivityReply reply;
  };
  Changed change(std::string_view id, const MakeChange& make);
  [[nodiscard]] model::ActivityChange change_of(std::string_view id, const model::ActivityState* state,
                                                std::string_view actor, std::string action) const;
  // Of the newest run that completed.
  [[nodiscard]] std::optional<std::string> last_result(const Uuid& activity);
  void tell(const model::ActivityChange& change);
  [[nodiscard]] NotFound not_found(std::string_view id) const;

  engine::Engine& engine_;
  const std::string ns_;
  engine::CatalogueCache catalogue_;
};

}  // namespace hapax::schedule
