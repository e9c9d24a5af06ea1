// hapax in a program with Asio coroutines. Inputs and options are named variables: g++ 12 destroys temporary structs in
// a co_await expression twice (docs/guides/asio.md).
#include <hapax/asio.hpp>
#include <hapax/hapax.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>

struct Order {
  std::string id;
  double total = 0;
};
struct Payment {
  std::string payment_id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, total)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, payment_id)

const hapax::Task<Order, Payment> charge_card{"charge_card", {.queue = "payments"}};

// Requests the order twice, as a client does that repeats a request.
boost::asio::awaitable<bool> charge_once(hapax::App app) {
  using boost::asio::use_awaitable;
  const Order order{.id = "456", .total = 99.99};
  const hapax::EnqueueOptions options{.task_id = "charge-order-456"};
  const auto first = co_await hapax::asio::async_enqueue(app, charge_card, order, options, use_awaitable);
  const auto again = co_await hapax::asio::async_enqueue(app, charge_card, order, options, use_awaitable);
  const Payment paid = co_await hapax::asio::async_result(again, use_awaitable);
  std::cout << (again.created() ? "charged twice? " : "charged once: ") << paid.payment_id << "\n";
  co_return first.id() == again.id() && paid.payment_id == "payment-for-456";
}

int main() {
  auto app = hapax::open("sqlite:orders.db");
  app.handle(charge_card, [](const Order& order) { return Payment{"payment-for-" + order.id}; });
  auto worker = app.work({.queues = {"payments"}, .threads = 2});

  boost::asio::io_context io;
  bool once = false;
  boost::asio::co_spawn(io, charge_once(app), [&](const std::exception_ptr& error, bool result) {
    if (error) { std::rethrow_exception(error); }
    once = result;
  });
  io.run();
  return once ? 0 : 1;
}
