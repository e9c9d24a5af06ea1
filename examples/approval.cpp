// A person decides at her own pace: the workflow asks, waits, reminds her once, and gives up in the end. While it waits
// it is a row in the store and holds no thread.
//
//   approval              shows three expenses: decided at once, after a reminder, and never
//   approval work STORE   only works, until its standard input ends; start and answer with the command line:
//     hapax start approve_expense --workflow-id expense-7 --input '{"id":"7","amount":120,"patience":"1h"}'
//     hapax signal --workflow approve_expense --workflow-id expense-7 decision --data '{"approved":true,"by":"ada"}'
#include <hapax/hapax.hpp>

#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

struct Expense {
  std::string id;
  double amount;
  std::string patience;  // time for a decision before the reminder, and again after it: "2d"
};
struct Decision {
  bool approved;
  std::string by;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Expense, id, amount, patience)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Decision, approved, by)

namespace {

const hapax::Task<std::string> send_mail{"send_mail"};
const hapax::Workflow<Expense, std::string> approve_expense{"approve_expense"};

std::string decide(hapax::WorkflowContext& ctx, const Expense& expense) {
  std::string stage = "asked";
  ctx.on_query("stage", [&] { return stage; });
  const hapax::Duration patience = hapax::parse_duration(expense.patience);

  ctx.run(send_mail, "please decide on expense " + expense.id);
  auto decision = ctx.wait_signal<Decision>("decision", patience);
  if (!decision) {
    ctx.run(send_mail, "reminder: expense " + expense.id + " waits for you");
    stage = "reminded";
    decision = ctx.wait_signal<Decision>("decision", patience);
  }
  if (!decision) { return "expired"; }
  return (decision->approved ? "approved by " : "refused by ") + decision->by;
}

void add_handlers(hapax::App& app) {
  app.handle(send_mail, [](const std::string& text) { std::cout << "mail: " << text << std::endl; });
  app.handle(approve_expense, decide);
}

int work(const std::string& store) {
  auto app = hapax::open(store);
  add_handlers(app);
  const auto worker = app.work({.threads = 2});
  std::string line;
  while (std::getline(std::cin, line)) {}
  return 0;
}

int demonstrate() {
  auto app = hapax::open("sqlite:approvals.db");
  add_handlers(app);
  const auto worker = app.work({.threads = 2});

  const auto quick = app.start(approve_expense, {"1", 12.50, "1h"}, {.workflow_id = "expense-1"});
  const auto slow = app.start(approve_expense, {"2", 800.00, "1s"}, {.workflow_id = "expense-2"});
  const auto never = app.start(approve_expense, {"3", 45.00, "200ms"}, {.workflow_id = "expense-3"});

  quick.signal("decision", Decision{true, "ada"});
  while (slow.query<std::string>("stage") != "reminded") { std::this_thread::sleep_for(5ms); }
  // The sender chooses the key: if a mail server delivers the answer twice, the workflow gets it once.
  slow.signal("decision", Decision{false, "grace"}, "mail-4711");

  const std::vector<std::string> ends = {quick.result(), slow.result(), never.result()};
  for (const std::string& end : ends) { std::cout << end << std::endl; }
  return ends == std::vector<std::string>{"approved by ada", "refused by grace", "expired"} ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string(arguments[1]) == "work") { return work(arguments[2]); }
  return demonstrate();
}
