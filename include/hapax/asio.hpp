// For Asio programs: the blocking calls with completion tokens (callbacks, use_future, spawn's yield_context, …).
//
//   hapax::asio::async_enqueue(app, charge_card, order, {}, [](std::exception_ptr error, hapax::Handle<Payment> handle) { … });
//   Payment payment = hapax::asio::async_result(handle, yield);
//
// The only header of hapax that includes Boost; hapax/hapax.hpp leaves it out. Completion handlers run on their associated
// executor, which is kept busy until then.
#pragma once

#include <hapax/app.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace hapax::asio {

namespace detail {

// Carries a completion handler, which may be movable only, through a std::function, and calls it once on its executor.
template <class Handler>
class Completer {
 public:
  explicit Completer(Handler handler) : shared_(std::make_shared<State>(State{std::move(handler), {}})) {
    shared_->work.emplace(boost::asio::get_associated_executor(shared_->handler));
  }

  // Before it was called.
  [[nodiscard]] auto executor() const { return boost::asio::get_associated_executor(shared_->handler); }

  template <class... Args>
  void operator()(Args... args) const {
    // Kept until post has returned: before that the handler may have run, and a context without work be destroyed.
    const auto work = std::move(shared_->work);
    const auto executor = boost::asio::get_associated_executor(shared_->handler);
    boost::asio::post(
        executor, [handler = std::move(shared_->handler), arguments = std::make_tuple(std::move(args)...)]() mutable {
          std::apply([&](auto&&... each) { std::move(handler)(std::move(each)...); }, std::move(arguments));
        });
  }

 private:
  using Executor = boost::asio::associated_executor_t<Handler>;
  struct State {
    Handler handler;
    std::optional<boost::asio::executor_work_guard<Executor>> work;
  };
  std::shared_ptr<State> shared_;
};

template <class Out>
struct ResultSignature {
  using type = void(std::exception_ptr, Out);
};
template <>
struct ResultSignature<void> {
  using type = void(std::exception_ptr);
};

}  // namespace detail

// App::enqueue, completing with (std::exception_ptr, Handle<Out>).
template <class In, class Out, class Token>
auto async_enqueue(App app, const Task<In, Out>& task, const std::type_identity_t<In>& input, EnqueueOptions options,
                   Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr, Handle<Out>)>(
      [](auto handler, App target, TaskSpec spec, std::string json, EnqueueOptions with) {
        detail::Completer completer(std::move(handler));
        target.enqueue_json_async(spec, std::move(json), with, [completer](AnyHandle made, std::exception_ptr error) {
          completer(std::move(error), Handle<Out>(std::move(made)));
        });
      },
      token, std::move(app), task.spec(), hapax::detail::encode_strict(input, "input"), std::move(options));
}

// App::start, completing with (std::exception_ptr, WorkflowHandle<Out>).
template <class In, class Out, class Token>
auto async_start(App app, const Workflow<In, Out>& workflow, const std::type_identity_t<In>& input,
                 StartOptions options, Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr, WorkflowHandle<Out>)>(
      [](auto handler, App target, TaskSpec spec, std::string json, StartOptions with) {
        detail::Completer completer(std::move(handler));
        target.start_json_async(spec, std::move(json), with, [completer](AnyHandle made, std::exception_ptr error) {
          completer(std::move(error), WorkflowHandle<Out>(std::move(made)));
        });
      },
      token, std::move(app), workflow.spec(), hapax::detail::encode_strict(input, "input"), std::move(options));
}

// Handle::result, completing with (std::exception_ptr, Out), or (std::exception_ptr) when Out is void. Out must be
// default-constructible.
template <class Out, class Token>
auto async_result(Handle<Out> handle, Token&& token) {
  return boost::asio::async_initiate<Token, typename detail::ResultSignature<Out>::type>(
      [](auto completion, Handle<Out> of) {
        detail::Completer completer(std::move(completion));
        of.on_result([completer](const std::string& json, std::exception_ptr error) {
          if constexpr (std::is_void_v<Out>) {
            completer(std::move(error));
          } else {
            Out result{};
            if (!error) {
              try {
                result = Handle<Out>::decode_result(json);
              } catch (...) { error = std::current_exception(); }
            }
            completer(std::move(error), std::move(result));
          }
        });
      },
      token, std::move(handle));
}

}  // namespace hapax::asio
