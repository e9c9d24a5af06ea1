// Task: a named, typed unit of work. Input JSON in, result JSON out.
//
//   const hapax::Task<Order, Payment> charge_card{"charge_card", {.queue = "payments", .max_attempts = 6}};
//
// A descriptor is a plain value: producers and workers each have one, often in a shared header. The handler is given to
// the app that works (App::handle), and may live in another program than the producer.
#pragma once

#include <hapax/json.hpp>
#include <hapax/policy.hpp>
#include <hapax/time.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hapax {

// What every enqueue of a task starts from; EnqueueOptions override it one by one.
struct TaskOptions {
  std::string queue = "default";
  int max_attempts = 4;                // in total, the first included
  std::optional<RetryPolicy> retry{};  // none: 500 ms doubling to 30 s, full jitter
  std::optional<Duration> timeout{};   // of one attempt; a failed attempt of type "Timeout" when it is over
  std::optional<Duration> deadline{};  // of the whole execution, from its admission; it ends as timed_out
  int priority = 0;                    // higher first, -32768 to 32767
  int max_lost = 4;                    // how many workers it may take down before it is a dead letter
  Reuse reuse = Reuse::failed_only;    // what a new enqueue may do with the key of an ended execution

  // These and reuse, if set, put the task into the store's catalogue, which every door reads; a program that declares it
  // otherwise gets ConflictingDeclaration. Without a strategy, requests are the same only by the key they carry.
  std::optional<IdentityStrategy> identity_strategy{};
  std::vector<std::string> identity_keys{};       // JSON Pointers into the input, for contextual
  std::optional<IdentityScope> identity_scope{};  // none: task
  std::optional<Fingerprint> fingerprint{};       // none: the whole input, or the identity_keys
  std::optional<Duration> dedup_window{};         // holds the key at least so long after the end; none: the queue's
};

// What the library needs to know of a task, without its types.
struct TaskSpec {
  std::string name{};
  TaskOptions options{};
};

// In and Out convert to and from nlohmann::json; Out may be void. Names are checked when the task is used.
template <class In, class Out = void>
class Task {
 public:
  using input_type = In;
  using result_type = Out;

  explicit Task(std::string name, TaskOptions options = {}) : spec_{std::move(name), std::move(options)} {
    detail::require_json_types<In, Out>();
  }

  [[nodiscard]] const std::string& name() const { return spec_.name; }
  [[nodiscard]] const TaskOptions& options() const { return spec_.options; }
  [[nodiscard]] const TaskSpec& spec() const { return spec_; }

 private:
  TaskSpec spec_;
};

// A task without types.
using JsonTask = Task<nlohmann::json, nlohmann::json>;

}  // namespace hapax
