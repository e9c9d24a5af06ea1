// expect: g++ 12 destroys a temporary struct in a co_await expression twice
// compiler: g++
#include <hapax/asio.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

struct Order {
  std::string id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id)

const hapax::Task<Order, int> charge{"charge"};

boost::asio::awaitable<void> ask(hapax::App app) {
  constexpr auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
#ifdef MENDED
  const Order order{"456"};
  co_await hapax::asio::async_enqueue(app, charge, order, token);
#else
  co_await hapax::asio::async_enqueue(app, charge, {"456"}, token);
#endif
}
