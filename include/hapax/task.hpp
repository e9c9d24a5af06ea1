// Task: a named, typed unit of work. Input JSON in, result JSON out.
//
//   const hapax::Task<Order, Payment> charge_card{"charge_card", {.queue = "payments", .max_attempts = 6}};
//
// A descriptor is a plain value: producers and workers each have one, often in a shared header. The handler is
// registered with the app that works (App::handle), and may live in another program than the producer.
#pragma once

#include <hapax/detail/json_codec.hpp>
#include <hapax/policy.hpp>
#include <hapax/time.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hapax {

// The default options of a task's enqueues; EnqueueOptions override them one by one.
struct TaskOptions {
  std::string queue = "default";
  int max_attempts = 4;                // in total, the first included
  std::optional<RetryPolicy> retry{};  // none: 500 ms doubling to 30 s, full jitter
  std::optional<Duration> timeout{};   // of one attempt; a longer attempt fails with the type "Timeout"
  std::optional<Duration> deadline{};  // of the execution, from its admission; after it the execution is timed_out
  int priority = 0;                    // higher runs first, -32768 to 32767
  int max_lost = 4;                    // how many workers may die while running it before it is a dead letter
  Reuse reuse = Reuse::failed_only;    // whether a new enqueue may reuse the key of an ended execution

  // If one of these or `reuse` is set, the task is written into the store's catalogue, which all programs and servers
  // on the store read. A program that declares it differently gets ConflictingDeclaration. Without a strategy, only the
  // key that a request carries is its identity.
  std::optional<IdentityStrategy> identity_strategy{};
  std::vector<std::string> identity_keys{};       // for contextual: JSON Pointers into the input
  std::optional<IdentityScope> identity_scope{};  // none: task
  std::optional<Fingerprint> fingerprint{};       // none: the whole input, or the identity_keys
  std::optional<Duration> dedup_window{};         // hold the key at least this long after the end; none: the queue's
};

// A task without its types.
struct TaskSpec {
  std::string name{};
  TaskOptions options{};
};

// A task's descriptor. In and Out convert to and from nlohmann::json; Out may be void. The constructor does not check
// the name: the first use throws InvalidArgument for a bad one.
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

// A task whose input and result are any JSON.
using JsonTask = Task<nlohmann::json, nlohmann::json>;

}  // namespace hapax
