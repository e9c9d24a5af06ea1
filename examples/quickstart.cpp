#include <hapax/hapax.hpp>

#include <iostream>

struct Order {
  std::string id;
  double total;
};
struct Payment {
  std::string payment_id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, total)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, payment_id)

const hapax::Task<Order, Payment> charge_card{"charge_card", {.queue = "payments", .max_attempts = 6}};

int main() {
  auto app = hapax::open("sqlite:orders.db");  // postgresql://… when one machine is not enough
  app.handle(charge_card, [](hapax::TaskContext& ctx, const Order& order) {
    // Pass ctx.effect_key() on as the payment provider's idempotency key: it is the same for every attempt.
    return Payment{"payment-for-" + order.id + "-with-" + ctx.effect_key().substr(0, 3)};
  });
  auto worker = app.work({.queues = {"payments"}, .threads = 8});

  auto first = app.enqueue(charge_card, {"456", 99.99}, {.task_id = "charge-order-456"});
  auto again = app.enqueue(charge_card, {"456", 99.99}, {.task_id = "charge-order-456"});
  Payment paid = again.result();  // the same payment, once
  std::cout << (again.created() ? "charged twice?" : "charged once: ") << paid.payment_id << "\n";
}
