// Work that starts by itself: an hourly schedule that makes up for an outage of some hours with one run, and an
// event that is delivered twice and handled once. The schedule's day passes in virtual time; the event is sent in real
// time.
#include <hapax/hapax.hpp>
#include <hapax/testing.hpp>

#include <atomic>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct Parcel {
  std::string order;
  std::string country;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Parcel, order, country)

namespace {

const hapax::Task<hapax::Fired<nlohmann::json>> roll_up{"roll-up"};
const hapax::Task<hapax::Fired<Parcel>> ship{"ship", {.queue = "shipping"}};

std::string hour(hapax::Time time) { return hapax::format_time(time).substr(11, 5); }

// The hours that a run covers: its own tick if it is on time, all missed ticks after an outage.
std::string hours(const hapax::FiredBy& trigger) {
  if (!trigger.window) { return hour(*trigger.scheduled_for); }
  return hour(trigger.window->from) + " to " + hour(trigger.window->to) + ", " +
         std::to_string(trigger.window->missed) + " missed ticks";
}

bool schedule_with_an_outage() {
  std::vector<std::string> runs;
  auto app = hapax::testing::open();  // its clock moves only on request
  app.handle(roll_up, [&](const hapax::Fired<nlohmann::json>& fired) {
    std::cout << hour(app.now()) << "  rolled up " << hours(fired.trigger) << std::endl;
    runs.push_back(hours(fired.trigger));
  });
  const auto applied =
      app.apply({.id = "sales",
                 .trigger = hapax::CronTrigger{.cron = "0 * * * *", .misfire_policy = hapax::MisfirePolicy::compress},
                 .target = roll_up});
  std::cout << "sales: " << applied.activity.description << std::endl;

  const auto an_hour_passes = [&] {
    hapax::testing::advance(app, 1h);
    hapax::testing::drain(app);  // as workers do: start due executions and run them
  };
  for (int i = 0; i < 3; ++i) { an_hour_passes(); }
  hapax::testing::advance(app, 4h + 30min);
  std::cout << hour(app.now()) << "  back after an outage" << std::endl;
  hapax::testing::drain(app);
  hapax::testing::advance(app, 30min);
  hapax::testing::drain(app);

  std::cout << "started " << app.activity("sales")->started << ", next at " << hour(*app.activity("sales")->next_due)
            << std::endl;
  const std::vector<std::string> expected = {"01:00", "02:00", "03:00", "04:00 to 07:00, 4 missed ticks", "08:00"};
  return runs == expected;
}

bool event_delivered_twice() {
  std::atomic<int> shipped = 0;
  auto app = hapax::open("sqlite:shop.db");
  app.handle(ship, [&](const hapax::Fired<Parcel>& fired) {
    ++shipped;
    std::cout << "shipping order " << fired.input.order << " to " << fired.input.country << ", as "
              << fired.trigger.event.at("id").get<std::string>() << " says" << std::endl;
  });
  app.apply({.id = "ship-orders",
             .trigger = hapax::EventTrigger{.types = {"order.*"}, .filter = {{"/data/country", {"CH", "AT"}}}},
             .target = ship,
             .input = {{"order", "{{event.data/order}}"}, {"country", "{{event.data/country}}"}}});
  const auto worker = app.work({.queues = {"shipping"}, .threads = 2});

  const std::string paid = R"({"specversion": "1.0", "id": "evt_abc123", "source": "/shop", "type": "order.paid",
                               "data": {"order": "456", "country": "CH"}})";
  const std::string elsewhere = R"({"specversion": "1.0", "id": "evt_abc124", "source": "/shop", "type": "order.paid",
                                    "data": {"order": "457", "country": "NZ"}})";
  const hapax::EventRun first = app.send_event(paid).runs.at(0);
  const hapax::EventRun again = app.send_event(paid).runs.at(0);  // the broker repeats the event
  const bool nobody_wants_it = app.send_event(elsewhere).runs.empty();
  app.find(ship, first.execution).result();
  std::cout << first.run_id << ": " << (again.created ? "started twice?" : "sent twice, started once") << std::endl;
  return first.created && !again.created && again.execution == first.execution && nobody_wants_it && shipped == 1;
}

}  // namespace

int main() {
  const bool made_up_for = schedule_with_an_outage();
  const bool once = event_delivered_twice();
  return made_up_for && once ? 0 : 1;
}
