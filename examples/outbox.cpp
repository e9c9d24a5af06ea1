// A change and the task that follows from it are one transaction (SQLite): the order and its shipment both exist, or
// neither does. The same holds for the shipment's ledger row and its outcome.
#include <hapax/hapax.hpp>

#include <sqlite3.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>

namespace {

void execute(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database));
  }
}

int count(sqlite3* database, const std::string& table) {
  int rows = -1;
  sqlite3_exec(
      database, ("SELECT count(*) FROM " + table).c_str(),
      [](void* out, int, char** values, char**) {
        *static_cast<int*>(out) = std::atoi(values[0]);
        return 0;
      },
      &rows, nullptr);
  return rows;
}

const hapax::Task<std::string, std::string> ship_order{"ship_order", {.queue = "shipping"}};

void place_order(hapax::App& app, const std::string& id, bool payment_accepted) {
  app.transaction([&](hapax::Transaction& tx) {
    execute(tx.native<sqlite3>(), "INSERT INTO orders VALUES ('" + id + "')");
    app.enqueue_in(tx, ship_order, id, {.task_id = "ship-" + id});
    if (!payment_accepted) throw std::runtime_error("card refused");
  });
}

}  // namespace

int main() {
  auto app = hapax::open("sqlite:outbox.db");
  app.transaction([](hapax::Transaction& tx) {
    execute(tx.native<sqlite3>(), "CREATE TABLE orders(id TEXT PRIMARY KEY); CREATE TABLE shipments(order_id TEXT)");
  });

  place_order(app, "A", true);
  try {
    place_order(app, "B", false);
  } catch (const std::exception& error) { std::cout << "order B: " << error.what() << "\n"; }

  app.handle(ship_order, [&](hapax::TaskContext& ctx, const std::string& order) {
    app.transaction([&](hapax::Transaction& tx) {
      execute(tx.native<sqlite3>(), "INSERT INTO shipments VALUES ('" + order + "')");
      ctx.complete_in(tx, "shipped " + order);
    });
    return std::string("ignored: the outcome is in the transaction");
  });
  auto worker = app.work({.queues = {"shipping"}});
  std::cout << "result: " << app.find(ship_order, "ship-A").result() << "\n";
  worker.stop();

  int orders = 0;
  int shipments = 0;
  app.transaction([&](hapax::Transaction& tx) {
    orders = count(tx.native<sqlite3>(), "orders");
    shipments = count(tx.native<sqlite3>(), "shipments");
  });
  std::cout << orders << " order, " << shipments << " shipment\n";
  return orders == 1 && shipments == 1 ? 0 : 1;
}
