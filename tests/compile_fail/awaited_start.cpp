// expect: g++ 12 destroys a temporary struct in a co_await expression twice
// compiler: g++
#include <hapax/asio.hpp>

#include <boost/asio/use_awaitable.hpp>

const hapax::Workflow<int, int> process{"process"};

boost::asio::awaitable<void> ask(hapax::App app) {
#ifdef MENDED
  const hapax::StartOptions options{.workflow_id = "seven"};
  co_await hapax::asio::async_start(app, process, 7, options, boost::asio::use_awaitable);
#else
  co_await hapax::asio::async_start(app, process, 7, {.workflow_id = "seven"}, boost::asio::use_awaitable);
#endif
}
