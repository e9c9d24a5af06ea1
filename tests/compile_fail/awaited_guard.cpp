// expect: g++ 12 destroys a temporary struct in a co_await expression twice
// compiler: g++
#include <hapax/guard_asio.hpp>

#include <boost/asio/use_awaitable.hpp>

struct Order {
  std::string id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id)

boost::asio::awaitable<void> ask(hapax::asio::Guarded<int(Order)> charge) {
#ifdef MENDED
  const Order order{"456"};
  co_await charge(order, boost::asio::use_awaitable);
#else
  co_await charge({"456"}, boost::asio::use_awaitable);
#endif
}
