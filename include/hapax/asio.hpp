// For Asio programs: hapax's blocking calls with completion tokens (callbacks, use_future, spawn's yield_context, …).
//
//   hapax::asio::async_enqueue(app, charge_card, order,
//                              [](std::exception_ptr error, hapax::Handle<Payment> handle) { … });
//   Payment payment = hapax::asio::async_result(handle, yield);
//
// Only this public header and hapax/guard_asio.hpp include Boost; hapax/hapax.hpp includes neither. A
// completion handler runs on its associated executor; the call counts as outstanding work of that executor until then.
//
// With use_awaitable, give inputs and options names of their own before the expression: g++ 12 destroys temporary
// structs in a co_await expression twice. Such temporaries do not compile under g++ 12 (docs/guides/asio.md).
#pragma once

#include <hapax/app.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace hapax::asio {

namespace detail {

// Holds a completion handler, which may be move-only, inside a copyable std::function, and calls it once on its
// executor.
template <class Handler>
class Completer {
 public:
  explicit Completer(Handler handler) : shared_(std::make_shared<State>(State{std::move(handler), {}})) {
    shared_->work.emplace(boost::asio::get_associated_executor(shared_->handler));
  }

  // Call before operator() only.
  [[nodiscard]] auto executor() const { return boost::asio::get_associated_executor(shared_->handler); }

  template <class... Args>
  void operator()(Args... args) const {
    // Keeps the context alive until post has returned: the handler may run before that, and a context without work may
    // then be destroyed.
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

// Whether a completion token returns something to co_await: use_awaitable, also inside as_tuple, redirect_error and
// similar adapters.
template <class Token>
struct GivesAwaitable : std::false_type {};
template <class Executor>
struct GivesAwaitable<boost::asio::use_awaitable_t<Executor>> : std::true_type {};
template <template <class...> class Adapter, class Token, class... Rest>
requires(!std::is_same_v<Adapter<Token, Rest...>, boost::asio::use_awaitable_t<Token>>)  //
    struct GivesAwaitable<Adapter<Token, Rest...>> : GivesAwaitable<Token> {
};

// A temporary of this type is destroyed twice in a co_await expression (g++ 12.2; clang 16 is right).
template <class T, class Token>
concept DestroyedTwice =
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ <= 12
    std::is_aggregate_v<T> && !std::is_trivially_destructible_v<T> && GivesAwaitable<std::decay_t<Token>>::value;
#else
    false;
#endif

template <class T>
constexpr void refuse_temporary() {
  static_assert(
      sizeof(T) == 0,
      "g++ 12 destroys a temporary struct in a co_await expression twice: give the input and the options names "
      "of their own in a statement before it (docs/guides/asio.md)");
}

}  // namespace detail

// App::enqueue, completing with (std::exception_ptr, Handle<Out>).
template <class In, class Out, class Token>
auto async_enqueue(App app, const Task<In, Out>& task, const std::type_identity_t<In>& input,
                   const EnqueueOptions& options, Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr, Handle<Out>)>(
      [](auto handler, App target, TaskSpec spec, std::string json, EnqueueOptions with) {
        detail::Completer completer(std::move(handler));
        target.enqueue_json_async(spec, std::move(json), with, [completer](AnyHandle made, std::exception_ptr error) {
          completer(std::move(error), Handle<Out>(std::move(made)));
        });
      },
      token, std::move(app), task.spec(), hapax::detail::encode_strict(input, "input"), options);
}
// The same with the task's own options.
template <class In, class Out, class Token>
auto async_enqueue(App app, const Task<In, Out>& task, const std::type_identity_t<In>& input, Token&& token) {
  const EnqueueOptions options;
  return async_enqueue(std::move(app), task, input, options, std::forward<Token>(token));
}

// App::start, completing with (std::exception_ptr, WorkflowHandle<Out>).
template <class In, class Out, class Token>
auto async_start(App app, const Workflow<In, Out>& workflow, const std::type_identity_t<In>& input,
                 const StartOptions& options, Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr, WorkflowHandle<Out>)>(
      [](auto handler, App target, TaskSpec spec, std::string json, StartOptions with) {
        detail::Completer completer(std::move(handler));
        target.start_json_async(spec, std::move(json), with, [completer](AnyHandle made, std::exception_ptr error) {
          completer(std::move(error), WorkflowHandle<Out>(std::move(made)));
        });
      },
      token, std::move(app), workflow.spec(), hapax::detail::encode_strict(input, "input"), options);
}

// Overloads that refuse temporaries which g++ 12 would destroy twice.
template <class In, class Out, class Token>
requires detail::DestroyedTwice<EnqueueOptions, Token>
void async_enqueue(App, const Task<In, Out>&, const std::type_identity_t<In>&, EnqueueOptions&&, Token&&) {
  detail::refuse_temporary<In>();
}
template <class In, class Out, class Token>
requires detail::DestroyedTwice<In, Token>
void async_enqueue(App, const Task<In, Out>&, std::type_identity_t<In>&&, const EnqueueOptions&, Token&&) {
  detail::refuse_temporary<In>();
}
template <class In, class Out, class Token>
requires(detail::DestroyedTwice<In, Token>&& detail::DestroyedTwice<EnqueueOptions, Token>)  //
    void async_enqueue(App, const Task<In, Out>&, std::type_identity_t<In>&&, EnqueueOptions&&, Token&&) {
  detail::refuse_temporary<In>();
}
template <class In, class Out, class Token>
requires detail::DestroyedTwice<In, Token>
void async_enqueue(App, const Task<In, Out>&, std::type_identity_t<In>&&, Token&&) { detail::refuse_temporary<In>(); }
template <class In, class Out, class Token>
requires detail::DestroyedTwice<StartOptions, Token>
void async_start(App, const Workflow<In, Out>&, const std::type_identity_t<In>&, StartOptions&&, Token&&) {
  detail::refuse_temporary<In>();
}
template <class In, class Out, class Token>
requires detail::DestroyedTwice<In, Token>
void async_start(App, const Workflow<In, Out>&, std::type_identity_t<In>&&, const StartOptions&, Token&&) {
  detail::refuse_temporary<In>();
}
template <class In, class Out, class Token>
requires(detail::DestroyedTwice<In, Token>&& detail::DestroyedTwice<StartOptions, Token>)  //
    void async_start(App, const Workflow<In, Out>&, std::type_identity_t<In>&&, StartOptions&&, Token&&) {
  detail::refuse_temporary<In>();
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
