// An order as a workflow: charge the card, reserve the stock, wait for the parcel to leave. If a step fails for good,
// or the customer cancels, the earlier steps are undone in reverse.
#include <hapax/hapax.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct Order {
  std::string id;
  std::string item;
  double total;
};
struct Receipt {
  std::string payment_id;
  std::string parcel;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, item, total)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, payment_id, parcel)

namespace {

const hapax::Task<Order, std::string> charge_card{"charge_card", {.queue = "payments"}};
const hapax::Task<std::string> refund{"refund", {.queue = "payments", .max_attempts = 20}};
const hapax::Task<Order> reserve_stock{"reserve_stock", {.queue = "stock"}};
const hapax::Task<Order> release_stock{"release_stock", {.queue = "stock", .max_attempts = 20}};
const hapax::Workflow<Order, Receipt> process_order{"process_order"};

// The systems outside hapax: a list of effects for each order.
class Shop {
 public:
  void note(const std::string& order, const std::string& what) {
    const std::lock_guard lock(mutex_);
    std::cout << order << ": " << what << std::endl;
    done_[order].push_back(what);
  }
  bool did(const std::string& order, const std::vector<std::string>& expected) {
    const std::lock_guard lock(mutex_);
    return done_[order] == expected;
  }
  bool knows(const std::string& order, const std::string& what) {
    const std::lock_guard lock(mutex_);
    return std::ranges::count(done_[order], what) > 0;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> done_;
};

void add_handlers(hapax::App& app, Shop& shop) {
  app.handle(charge_card, [&](hapax::TaskContext& ctx, const Order& order) {
    shop.note(order.id, "charged");  // pass ctx.effect_key() to the provider as its idempotency key
    return "payment-" + order.id + "-" + ctx.effect_key().substr(0, 3);
  });
  app.handle(refund, [&](const std::string& payment_id) { shop.note(payment_id.substr(8, 1), "refunded"); });
  app.handle(reserve_stock, [&](const Order& order) {
    if (order.item == "unicorn") { throw hapax::Permanent("OutOfStock", "no unicorns are left"); }
    shop.note(order.id, "reserved");
  });
  app.handle(release_stock, [&](const Order& order) { shop.note(order.id, "released"); });

  app.handle(process_order, [](hapax::WorkflowContext& ctx, const Order& order) {
    return hapax::saga(ctx, [&](hapax::Saga& saga) {
      const std::string payment = ctx.run(charge_card, order);
      saga.undo("refund", [&ctx, payment] { ctx.run(refund, payment); });
      ctx.run(reserve_stock, order);
      saga.undo("release stock", [&ctx, &order] { ctx.run(release_stock, order); });
      const auto parcel = ctx.wait_signal<std::string>("shipped");  // the warehouse sends it, in a second or in a week
      return Receipt{payment, parcel};
    });
  });
}

}  // namespace

int main() {
  Shop shop;
  auto app = hapax::open("sqlite:orders.db");
  add_handlers(app, shop);
  const auto worker = app.work({.queues = {"default", "payments", "stock"}, .threads = 4});

  const auto good = app.start(process_order, {"A", "teapot", 19.90}, {.workflow_id = "order-A"});
  const auto sold_out = app.start(process_order, {"B", "unicorn", 99.99}, {.workflow_id = "order-B"});
  const auto regretted = app.start(process_order, {"C", "harp", 450.00}, {.workflow_id = "order-C"});

  good.signal("shipped", std::string("parcel-1"));  // early: kept until the workflow asks for it
  const Receipt receipt = good.result();
  std::cout << "A: paid with " << receipt.payment_id << ", sent as " << receipt.parcel << std::endl;

  sold_out.wait();
  std::cout << "B: failed, " << app.get(sold_out.id())->error->message << std::endl;

  while (!shop.knows("C", "reserved")) { std::this_thread::sleep_for(1ms); }
  (void)regretted.cancel("the customer has changed her mind");
  regretted.wait();
  std::cout << "C: cancelled, " << app.get(regretted.id())->error->message << std::endl;

  const bool right = shop.did("A", {"charged", "reserved"}) && shop.did("B", {"charged", "refunded"}) &&
                     shop.did("C", {"charged", "reserved", "released", "refunded"}) &&
                     sold_out.status() == hapax::Status::failed && regretted.status() == hapax::Status::cancelled;
  std::cout << (right ? "every order has what it should have" : "something is wrong") << std::endl;
  return right ? 0 : 1;
}
