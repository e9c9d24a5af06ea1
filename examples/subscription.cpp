// A subscription that may last for years: each month is a run of its own under the same workflow_id. continue_as_new
// begins the next run with an empty journal, so no journal grows without bound. A month takes 50 ms here.
#include <hapax/hapax.hpp>

#include <algorithm>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

struct Subscription {
  std::string customer;
  std::string plan;
  int month;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Subscription, customer, plan, month)

namespace {

constexpr hapax::Duration a_month = 50ms;

const hapax::Task<Subscription> send_bill{"send_bill", {.queue = "billing"}};
const hapax::Workflow<Subscription, std::string> subscribe{"subscribe"};

std::string one_month(hapax::WorkflowContext& ctx, const Subscription& now) {
  ctx.set_attribute("plan", now.plan);  // hapax list --tag plan=gold
  ctx.run(send_bill, now, {.task_id = "bill-" + now.customer + "-" + std::to_string(now.month)});

  Subscription next{now.customer, now.plan, now.month + 1};
  const auto end = ctx.timer(a_month);
  while (true) {
    const auto change = ctx.signal<std::string>("plan");
    if (ctx.race(change, end) == 1) { break; }
    if (change.get() == "none") { return "ended in month " + std::to_string(now.month); }
    next.plan = change.get();  // applies from the next bill on
  }
  ctx.continue_as_new(next);
}

class Bills {
 public:
  void add(const Subscription& bill) {
    const std::lock_guard lock(mutex_);
    std::cout << "month " << bill.month << ": " << bill.plan << std::endl;
    bills_.push_back(bill);
  }
  int months() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(bills_.size());
  }
  bool have(const std::string& plan) {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(bills_, plan, &Subscription::plan) != bills_.end();
  }
  // Each month is billed once and in order, first under the one plan and then under the other.
  bool are_right() {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < bills_.size(); ++i) {
      if (bills_[i].month != static_cast<int>(i) + 1) { return false; }
    }
    return bills_.front().plan == "silver" && bills_.back().plan == "gold" &&
           std::ranges::is_sorted(bills_, {}, [](const Subscription& bill) { return bill.plan == "gold"; });
  }

 private:
  std::mutex mutex_;
  std::vector<Subscription> bills_;
};

}  // namespace

int main() {
  Bills bills;
  auto app = hapax::open("sqlite:subscriptions.db");
  app.handle(send_bill, [&](const Subscription& bill) { bills.add(bill); });
  app.handle(subscribe, one_month);
  const auto worker = app.work({.queues = {"default", "billing"}, .threads = 2});

  const auto ada = app.start(subscribe, {"ada", "silver", 1}, {.workflow_id = "ada"});
  const auto after = [&](int months) {
    while (bills.months() < months) { std::this_thread::sleep_for(1ms); }
  };
  after(3);
  ada.signal("plan", std::string("gold"));  // finds the current run of her subscription
  while (!bills.have("gold")) { std::this_thread::sleep_for(1ms); }
  after(8);
  ada.signal("plan", std::string("none"));
  std::cout << "ada " << ada.result() << std::endl;

  const auto last = app.find(subscribe, "ada");
  const std::size_t entries = app.timeline(last.id()).size();
  std::cout << app.get(last.id())->run << " runs, the last with " << entries << " journal entries" << std::endl;
  return bills.are_right() && app.get(last.id())->run == bills.months() && entries < 12 ? 0 : 1;
}
