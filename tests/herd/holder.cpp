#include "herd/roles.hpp"
#include "herd/stage.hpp"

#include "torture/roles.hpp"

#include <hapax/app.hpp>
#include <hapax/error.hpp>

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <thread>

namespace hapax::herd {
namespace {

using torture::Event;

class ChangedItsMind : public std::runtime_error {
 public:
  ChangedItsMind() : std::runtime_error("the caller rolls back") {}
};

class TransactionHolder {
 public:
  explicit TransactionHolder(const torture::Options& options)
      : options_(options),
        plan_(read_plan(options.folder)),
        log_(options.folder, options.role, options.number),
        app_(hapax::open(options.url)) {}

  void run() {
    // Waits until all others have opened the store: on SQLite they would wait for the writer that this process will
    // hold.
    while (!was_signalled(options_.folder, "hold") && !torture::told_to_end()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (options_.url.starts_with("sqlite:")) {
      try {
        app_.transaction([this](Transaction& tx) {
          hold(tx);
          throw ChangedItsMind();
        });
      } catch (const ChangedItsMind&) { log_.write(Event::note, "rolled-back"); }
      return;
    }
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(
        PQconnectdb(options_.url.substr(0, options_.url.find('?')).c_str()), PQfinish);
    execute(connection.get(), "BEGIN");
    {
      Transaction tx = app_.attach(connection.get());
      hold(tx);
    }
    execute(connection.get(), "ROLLBACK");
    log_.write(Event::note, "rolled-back");
  }

 private:
  static void execute(PGconn* connection, const char* statement) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, statement), PQclear);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(connection));
  }

  void hold(Transaction& tx) {
    const std::string key = plan_.at("key");
    EnqueueOptions options;
    if (!key.empty()) options.task_id = key;
    const std::string queue = plan_.at("queue");
    const AnyHandle handle =
        app_.enqueue_json_in(tx, task_of(plan_.at("task"), queue), spelled_input(queue, 0), options);
    if (!handle.created()) throw std::runtime_error("the holder was not the first");
    log_.write(Event::note, "holding", handle.id());
    while (!was_signalled(options_.folder, "release") && !torture::told_to_end()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const torture::Options& options_;
  nlohmann::json plan_;
  torture::Log log_;
  App app_;
};

}  // namespace

int run_holder(const torture::Options& options) {
  TransactionHolder(options).run();
  return 0;
}

}  // namespace hapax::herd
