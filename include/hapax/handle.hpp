// Handle: an execution as its caller sees it.
#pragma once

#include <hapax/json.hpp>
#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hapax {

namespace detail {
class AppState;
}

// What cancel() did.
enum class CancelAnswer : std::uint8_t {
  cancelled,  // it was pending, and has ended
  requested,  // it runs; its handler is told within about a second
  finished,   // it had ended already
  not_found,
};

// An execution without its result's type. A small value: copies speak of the same execution. Any thread may use it. It
// keeps the app's store open.
class AnyHandle {
 public:
  // Of nothing; every member but id() and the assignments throws UsageError.
  AnyHandle() = default;

  [[nodiscard]] const Uuid& id() const { return id_; }
  // Whether the enqueue that gave this handle made the execution, or met it under the same key.
  [[nodiscard]] bool created() const { return created_; }
  // When not created: the first creation's time.
  [[nodiscard]] std::optional<Time> deduplicated_from() const { return deduplicated_from_; }
  // 1 for the first execution under its key. Of a workflow that continued as new: the run this handle was given for.
  [[nodiscard]] int run() const { return run_; }

  // As it is now. Throws ResultExpired when the store has no record of it any more.
  [[nodiscard]] Status status() const;

  // Waits until it has ended, also while the store can't be reached for a time; so do all that wait here.
  Status wait() const;
  // True when it has ended within `at_most`.
  [[nodiscard]] bool wait_for(Duration at_most) const;

  // The result as JSON text; waits for it. Throws ExecutionFailed (its name is ExecutionFailed, ExecutionCancelled or
  // ExecutionTimedOut), WaitTimeout and ResultExpired.
  [[nodiscard]] std::string result_json() const;
  [[nodiscard]] std::string result_json_for(Duration at_most) const;

  // Calls back once, on a thread of the library's, when it has ended: (result JSON, nullptr), or ("", error) with what
  // result_json() would throw. Must be quick and not throw.
  void on_result(std::function<void(std::string, std::exception_ptr)> callback) const;

  CancelAnswer cancel(std::string_view reason = "cancelled by its caller") const;

  // Of a workflow: see WorkflowHandle.
  void signal_json(std::string_view name, std::string payload_json, std::optional<std::string> once = {}) const;
  [[nodiscard]] std::string query_json(std::string_view name, const std::string& question_json) const;

 protected:
  friend class App;
  friend class detail::AppState;

  std::shared_ptr<detail::AppState> state_;
  Uuid id_;
  bool created_ = false;
  bool local_ = false;  // a worker of this process got it at once
  int run_ = 1;
  std::optional<Time> deduplicated_from_;
};

// The same with the result's type; Out may be void.
template <class Out>
class Handle : public AnyHandle {
 public:
  Handle() = default;
  explicit Handle(AnyHandle handle) : AnyHandle(std::move(handle)) {}

  // The result; waits for it. Throws as result_json() does.
  Out result() const { return decode_result(result_json()); }
  // Throws WaitTimeout when it has not ended within `at_most`.
  Out result_for(Duration at_most) const { return decode_result(result_json_for(at_most)); }

  [[nodiscard]] static Out decode_result(const std::string& json) {
    if constexpr (!std::is_void_v<Out>) {
      return detail::decode<Out>(json, "result");
    } else {
      (void)json;
    }
  }
};

}  // namespace hapax
