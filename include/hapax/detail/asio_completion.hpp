// Completion handlers and tokens of hapax/asio.hpp. Not for direct use: everything here is in a namespace detail and may
// change.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hapax::asio::detail {

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

}  // namespace hapax::asio::detail
