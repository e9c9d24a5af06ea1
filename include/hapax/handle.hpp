// Handle: one execution, as the program that enqueued it sees it.
#pragma once

#include <hapax/detail/json_codec.hpp>
#include <hapax/inspect.hpp>
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

// A handle without the result's type. A small value: copies refer to the same execution. Any thread may use it. A
// handle keeps the app's store open.
class AnyHandle {
 public:
  // An empty handle: members that need an execution throw UsageError.
  AnyHandle() = default;

  [[nodiscard]] const Uuid& id() const { return id_; }
  // True when the call that returned this handle created the execution; false when an execution under the same key
  // answered.
  [[nodiscard]] bool created() const { return created_; }
  // When not created: when the execution that answered was created.
  [[nodiscard]] std::optional<Time> deduplicated_from() const { return deduplicated_from_; }
  // The run number under the key, from 1. For a workflow that continued as new: the number of the run this handle was
  // made for.
  [[nodiscard]] int run() const { return run_; }

  // The status now; for a workflow that continued as new, that of its last run. Throws ResultExpired when the store no
  // longer has the record.
  [[nodiscard]] Status status() const;

  // Waits until the execution has ended and returns its status. All waiting calls go on waiting while the store cannot
  // be reached, and throw UsageError inside App::transaction of this app.
  Status wait() const;
  // True when the execution ended within `at_most`.
  [[nodiscard]] bool wait_for(Duration at_most) const;

  // Waits for the result and returns it as JSON text. Throws ExecutionFailed when the execution did not complete (the
  // error's name() is ExecutionFailed, ExecutionCancelled or ExecutionTimedOut) and ResultExpired. result_json_for
  // throws WaitTimeout when the execution has not ended within `at_most`.
  [[nodiscard]] std::string result_json() const;
  [[nodiscard]] std::string result_json_for(Duration at_most) const;

  // Calls `callback` once when the execution has ended, on a thread of the library: (result JSON, nullptr), or ("",
  // error) with what result_json() would throw. The callback must return quickly and not throw.
  void on_result(std::function<void(std::string, std::exception_ptr)> callback) const;

  // Cancels the execution if it is pending, asks it to stop if it runs.
  CancelAnswer cancel(std::string_view reason = "cancelled by its caller") const;

  // For workflows only; see WorkflowHandle.
  void signal_json(std::string_view name, std::string payload_json, std::optional<std::string> once = {}) const;
  [[nodiscard]] std::string query_json(std::string_view name, const std::string& question_json) const;

 protected:
  friend class App;
  friend class detail::AppState;

  std::shared_ptr<detail::AppState> state_;
  Uuid id_;
  bool created_ = false;
  bool local_ = false;  // admitted and claimed for a worker of this process in one step
  int run_ = 1;
  std::optional<Time> deduplicated_from_;
};

// A handle with the result's type; Out may be void.
template <class Out>
class Handle : public AnyHandle {
 public:
  Handle() = default;
  explicit Handle(AnyHandle handle) : AnyHandle(std::move(handle)) {}

  // Waits for the result. Throws what result_json() throws, and InvalidArgument when the result does not convert to
  // Out.
  Out result() const { return decode_result(result_json()); }
  // As result(); throws WaitTimeout when the execution has not ended within `at_most`.
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
