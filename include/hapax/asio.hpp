// For Asio programs: hapax's blocking calls with completion tokens (callbacks, use_future, spawn's yield_context, …).
//
//   hapax::asio::async_enqueue(app, charge_card, order,
//                              [](std::exception_ptr error, hapax::Handle<Payment> handle) { … });
//   Payment payment = hapax::asio::async_result(handle, yield);
//
// This header and hapax/guard_asio.hpp are the only public ones that include Boost; hapax/hapax.hpp includes neither. A
// completion handler runs on its associated executor; the call counts as outstanding work of that executor until then.
//
// With use_awaitable, give inputs and options names of their own before the expression: g++ 12 destroys temporary
// structs in a co_await expression twice. Such temporaries do not compile under g++ 12 (docs/guides/asio.md).
#pragma once

#include <hapax/app.hpp>
#include <hapax/detail/asio_completion.hpp>

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
