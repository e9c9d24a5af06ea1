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
// After a crash, or when the run resumes in another process, the function runs again from its beginning; its calls on
// the context then return the recorded results. So the function must make the same calls in the same order each time:
// docs/guides/determinism.md has the rules.
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

// The default options of a workflow's runs; StartOptions override them one by one.
struct WorkflowOptions {
  std::string queue = "default";
  int priority = 0;
  std::optional<Duration> deadline{};  // of the run, from its start; it then ends as timed_out, without compensation
  int max_lost = 4;                    // how many workers in a row may die while running it before it is a dead letter
  Reuse reuse = Reuse::failed_only;    // whether a new start may reuse the ID of an ended run
  std::optional<Duration> dedup_window{};
};

// A workflow's descriptor. In and Out convert to and from nlohmann::json; Out may be void. A plain value, like Task.
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

// Options of App::start. An option that is not set comes from WorkflowOptions.
struct StartOptions {
  std::string workflow_id{};  // required: names this run, such as "order-456"; 1 to 255 bytes of UTF-8
  OnConflict on_conflict = OnConflict::return_existing;  // when the run that holds the ID has not ended
  std::optional<Reuse> reuse{};                          // when the run that holds the ID has ended
  std::optional<Duration> wait_timeout{};                // for OnConflict::wait
  std::optional<std::string> queue{};
  std::optional<Duration> delay{};
  std::optional<Time> run_at{};
  std::optional<int> priority{};
  std::optional<Duration> deadline{};
  std::vector<std::string> tags{};
  nlohmann::json metadata{};  // an object, or null for none
  std::string traceparent{};  // W3C trace context, as in EnqueueOptions
  std::string tracestate{};
};

// A handle on a workflow's run. result() follows runs that continue as new.
template <class Out>
class WorkflowHandle : public Handle<Out> {
 public:
  WorkflowHandle() = default;
  explicit WorkflowHandle(AnyHandle handle) : Handle<Out>(std::move(handle)) {}

  // Sends a signal; returns when the signal is durably buffered, whether the workflow waits for it yet or not. A second
  // signal with the same `once` key changes nothing. Throws WrongStatus when the workflow has ended, and NotFound.
  template <class Payload>
  void signal(std::string_view name, const Payload& payload, std::optional<std::string> once = {}) const {
    this->signal_json(name, detail::encode_strict(payload, "payload"), std::move(once));
  }
  void signal(std::string_view name) const { this->signal_json(name, "null"); }

  // Asks the function registered with ctx.on_query. The run's journal is read and replayed in this process, which must
  // have the workflow's function. Changes nothing. Throws NotFound for an unknown query or run, and WrongStatus when
  // the workflow has ended or its journal does not fit the code.
  template <class Answer>
  [[nodiscard]] Answer query(std::string_view name) const {
    return detail::decode<Answer>(this->query_json(name, "null"), "answer");
  }
  template <class Answer, class Question>
  [[nodiscard]] Answer query(std::string_view name, const Question& question) const {
    return detail::decode<Answer>(this->query_json(name, detail::encode_strict(question, "question")), "answer");
  }
};

// The fate of a child workflow when its parent ends first.
enum class ParentClose : std::uint8_t {
  cancel,     // the child is asked to end, and may compensate
  terminate,  // a child that has not begun is ended at once; one that has begun is cancelled
  abandon,    // the child goes on by itself
};

}  // namespace hapax
