#include "store/postgres/notifier.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/sql_error.hpp"

#include <unistd.h>

#include <memory>

namespace hapax::store::postgres {

namespace {

constexpr std::chrono::milliseconds spacing{5};
constexpr std::chrono::seconds pause_after_failure{1};
constexpr std::size_t payload_bytes = 1000;  // the server takes 8000; the names only inform people
constexpr std::size_t queues_max = 10'000;

constexpr Statement notify{"hapax_notify", "SELECT pg_notify($1::text, $2::text)"};

std::string payload(const std::set<model::QueueRef>& queues) {
  std::string names;
  for (const model::QueueRef& queue : queues) {
    if (names.size() > payload_bytes) { break; }
    names += queue.ns + "/" + queue.name + "\n";
  }
  return base::keep_head(names, payload_bytes);
}

}  // namespace

std::string channel_name(const Settings& settings) { return base::keep_head("hapax_" + settings.schema, 63); }

Notifier::Notifier(const Settings& settings) : settings_(settings), pid_(getpid()) {}

Notifier::~Notifier() {
  if (!thread_.joinable()) { return; }
  if (getpid() != pid_) {
    thread_.detach();  // a forked child has the object but not the thread
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Notifier::announce(std::span<const model::QueueRef> queues) {
  if (queues.empty() || getpid() != pid_) { return; }
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < queues_max) { waiting_.insert(queues.begin(), queues.end()); }
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { work(); });
    }
  }
  changed_.notify_one();
}

void Notifier::work() {
  std::unique_ptr<Connection> connection;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) { return; }
    const std::set<model::QueueRef> queues = std::move(waiting_);
    waiting_.clear();
    const bool last = stopping_;
    lock.unlock();
    std::chrono::milliseconds pause = spacing;
    try {
      if (connection == nullptr) {
        connection = std::make_unique<Connection>(settings_, settings_.hosts, Planning::plain);
      }
      connection->query(notify, Params().text(channel_name(settings_)).text(payload(queues)));
    } catch (const Error&) {
      pause = pause_after_failure;
      connection.reset();
    } catch (const SqlError&) {
      pause = pause_after_failure;
      connection.reset();
    } catch (const ConnectionBroken&) { connection.reset(); }
    lock.lock();
    if (last) { return; }
    changed_.wait_for(lock, pause, [&] { return stopping_; });
  }
}

}  // namespace hapax::store::postgres
