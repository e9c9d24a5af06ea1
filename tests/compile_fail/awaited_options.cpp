// expect: g++ 12 destroys a temporary struct in a co_await expression twice
// compiler: g++
#include <hapax/asio.hpp>

#include <boost/asio/use_awaitable.hpp>

const hapax::Task<int, int> square{"square"};

boost::asio::awaitable<void> ask(hapax::App app) {
#ifdef MENDED
  const hapax::EnqueueOptions options{.task_id = "seven"};
  co_await hapax::asio::async_enqueue(app, square, 7, options, boost::asio::use_awaitable);
  co_await hapax::asio::async_enqueue(app, square, 8, boost::asio::use_awaitable);
#else
  co_await hapax::asio::async_enqueue(app, square, 7, {.task_id = "seven"}, boost::asio::use_awaitable);
#endif
}
