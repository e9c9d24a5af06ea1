// Workflow: a named function whose progress is journaled, so that it survives any crash.
//
//   const hapax::Workflow<Order, Receipt> process_order{"process_order"};
//   app.handle(process_order, [](hapax::WorkflowContext& ctx, const Order& order) {
//     Payment payment = ctx.run(charge_card, order);       // a task through its queue, sent once
//     ctx.sleep(24h);                                       // holds no thread, survives restarts
//     ctx.step("survey", [&] { mail_survey(order); });      // inline, recorded
//     return Receipt{payment.id};
//   });
//   auto handle = app.start(process_order, order, {.workflow_id = "order-" + order.id});
//
// The function runs again from its beginning whenever it goes on after a crash or in another process, and is given what
// was recorded instead of doing it again. So it must ask for the same things in the same order each time: docs/guides/
// determinism.md has the rules.
#pragma once

#include <hapax/handle.hpp>
#include <hapax/policy.hpp>
#include <hapax/task.hpp>
#include <hapax/time.hpp>

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax {

// What every start of a workflow begins from.
struct WorkflowOptions {
  std::string queue = "default";
  int priority = 0;
  std::optional<Duration> deadline{};  // of the whole run, from its start; it ends as timed_out, without compensation
  int max_lost = 4;                    // how many workers in a row it may take down before it is a dead letter
  Reuse reuse = Reuse::failed_only;    // what a new start may do with the id of an ended run
  std::optional<Duration> dedup_window{};
};

// In and Out convert to and from nlohmann::json; Out may be void. A plain value, like Task.
template <class In, class Out = void>
class Workflow {
 public:
  using input_type = In;
  using result_type = Out;

  explicit Workflow(std::string name, const WorkflowOptions& options = {})
      : spec_{std::move(name),
              {.queue = options.queue,
               .max_attempts = 1,
               .deadline = options.deadline,
               .priority = options.priority,
               .max_lost = options.max_lost,
               .reuse = options.reuse,
               .dedup_window = options.dedup_window}} {
    detail::require_json_types<In, Out>();
  }

  [[nodiscard]] const std::string& name() const { return spec_.name; }
  [[nodiscard]] const TaskSpec& spec() const { return spec_; }

 private:
  TaskSpec spec_;
};

struct StartOptions {
  std::string workflow_id{};  // always required: what this run is, e.g. "order-456"; 1 to 255 bytes of UTF-8
  OnConflict on_conflict = OnConflict::return_existing;  // when the id's holder is live
  std::optional<Reuse> reuse{};                          // when it has ended
  std::optional<Duration> wait_timeout{};                // for OnConflict::wait
  std::optional<std::string> queue{};
  std::optional<Duration> delay{};
  std::optional<Time> run_at{};
  std::optional<int> priority{};
  std::optional<Duration> deadline{};
  std::vector<std::string> tags{};
  nlohmann::json metadata{};  // an object, or null for none
  std::string traceparent{};
};

// A workflow's run as its caller sees it. result() follows runs that continue as new.
template <class Out>
class WorkflowHandle : public Handle<Out> {
 public:
  WorkflowHandle() = default;
  explicit WorkflowHandle(AnyHandle handle) : Handle<Out>(std::move(handle)) {}

  // Sends a signal; returns when it is durably buffered, whether the workflow waits for it yet or not. With `once`, a
  // second signal under that key changes nothing. Throws WrongStatus when the workflow has ended, and NotFound.
  template <class Payload>
  void signal(std::string_view name, const Payload& payload, std::optional<std::string> once = {}) const {
    this->signal_json(name, detail::encode_strict(payload, "payload"), std::move(once));
  }
  void signal(std::string_view name) const { this->signal_json(name, "null"); }

  // Asks the workflow's function for what it registered with ctx.on_query: its journal is read and played in this
  // process, which must have its handler, up to where it stands. Changes nothing. Throws NotFound for an unknown query.
  template <class Answer>
  [[nodiscard]] Answer query(std::string_view name) const {
    return detail::decode<Answer>(this->query_json(name, "null"), "answer");
  }
  template <class Answer, class Question>
  [[nodiscard]] Answer query(std::string_view name, const Question& question) const {
    return detail::decode<Answer>(this->query_json(name, detail::encode_strict(question, "question")), "answer");
  }
};

// What a workflow does when its parent ends before it (SPEC W4).
enum class ParentClose : std::uint8_t {
  cancel,     // it is asked to end, and may compensate
  terminate,  // the same as cancel for one that has begun; one that has not is ended at once
  abandon,    // it goes on by itself
};

}  // namespace hapax
