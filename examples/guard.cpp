// A guard around an ordinary function: called twice, after a crash or by several callers at once, it takes effect once.
#include <hapax/guard.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

struct Order {
  std::string id;
  std::int64_t cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, cents)

int main() {
  std::atomic<int> charges = 0;
  auto store = hapax::file_guard_store("guard-records");  // shared by all processes of this machine
  const auto charge = hapax::idempotent("charge", {.ttl = 24h, .store = store}, [&](const Order& order) {
    if (order.cents <= 0) { throw std::invalid_argument("nothing to charge"); }
    std::this_thread::sleep_for(20ms);
    return "payment-" + std::to_string(++charges) + " of " + std::to_string(order.cents);
  });

  // A double click: two threads, one effect, one answer.
  std::vector<std::thread> clicks;
  for (int click = 0; click < 2; ++click) {
    clicks.emplace_back([&] { std::cout << charge({"A-1", 9950}) + "\n"; });
  }
  for (std::thread& click : clicks) { click.join(); }

  // A failed call may be repeated.
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      charge({"A-2", 0});
    } catch (const std::invalid_argument& error) { std::cout << "A-2: " << error.what() << "\n"; }
  }

  // The record can be read, and forgotten.
  const auto record = charge.record({"A-1", 9950});
  std::cout << record->key.key << " is " << to_string(record->status) << "\n";
  charge.forget({"A-1", 9950});
  std::cout << charge({"A-1", 9950}) << "\n";
  return charges == 2 ? 0 : 1;
}
