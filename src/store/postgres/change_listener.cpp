#include "store/postgres/change_listener.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/result.hpp"

#include <poll.h>
#include <unistd.h>

#include <sys/eventfd.h>
#include <algorithm>
#include <memory>

namespace hapax::store::postgres {

namespace {

constexpr std::chrono::milliseconds poll_interval{200};
constexpr std::chrono::seconds reconnect_interval{1};
constexpr std::chrono::seconds connect_limit{2};
constexpr std::chrono::seconds probe_after{4};    // of silence
constexpr std::chrono::seconds silence_limit{8};  // after a probe without answer the connection counts as dead

}  // namespace

PostgresListener::PostgresListener(const Settings& settings)
    : settings_(settings), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) { throw StoreUnavailable("the process has no file descriptor left for a listener"); }
  settings_.connect_timeout = std::min<Duration>(settings_.connect_timeout, connect_limit);
  const auto now = Clock::now();
  next_poll_ = now + poll_interval;
  if (can_listen()) { connect(now); }
}

PostgresListener::~PostgresListener() { close(wake_); }

void PostgresListener::connect(Clock::time_point now) {
  next_connect_ = now + reconnect_interval;
  probing_ = false;
  try {
    auto fresh =
        std::make_unique<Connection>(settings_, settings_.listen ? settings_.listen : settings_.hosts, Planning::plain);
    std::string quoted = "\"";
    for (const char c : channel_name(settings_)) { quoted += c == '"' ? "\"\"" : std::string(1, c); }
    fresh->command("LISTEN " + quoted + "\"");
    connection_ = std::move(fresh);
    heard_ = Clock::now();
  } catch (const Error&) { connection_.reset(); } catch (const SqlError&) {
    connection_.reset();
  } catch (const ConnectionBroken&) { connection_.reset(); }
}

bool PostgresListener::read() {
  PGconn* const native = connection_->native();
  if (PQconsumeInput(native) == 0 || PQstatus(native) != CONNECTION_OK) {
    connection_.reset();
    return true;  // a notification may have been missed
  }
  heard_ = Clock::now();
  while (probing_ && PQisBusy(native) == 0) {
    const Result answer(PQgetResult(native));
    probing_ = answer.get() != nullptr;
  }
  bool notified = false;
  while (PGnotify* const note = PQnotifies(native)) {
    PQfreemem(note);
    notified = true;
  }
  return notified;
}

void PostgresListener::probe(Clock::time_point now) {
  if (now - heard_ >= silence_limit) {
    connection_.reset();
  } else if (!probing_ && now - heard_ >= probe_after) {
    probing_ = PQsendQuery(connection_->native(), "SELECT 1") == 1;
    if (!probing_ || PQflush(connection_->native()) < 0) { connection_.reset(); }
  }
}

bool PostgresListener::take_interrupt() {
  std::uint64_t count = 0;
  return ::read(wake_, &count, sizeof count) == sizeof count;
}

bool PostgresListener::wait(Duration at_most) {
  const auto deadline = Clock::now() + std::min<Duration>(at_most, std::chrono::hours(24));
  while (true) {
    const auto now = Clock::now();
    if (take_interrupt()) { return false; }
    if (connection_ == nullptr && can_listen() && now >= next_connect_) {
      connect(now);
      if (connection_ != nullptr) {
        return true;  // notifications sent while there was no connection are missed
      }
    }
    if (connection_ != nullptr) { probe(now); }
    if (connection_ == nullptr && now >= next_poll_) {
      next_poll_ = now + poll_interval;
      return true;
    }
    if (now >= deadline) { return false; }
    auto until = std::min<Clock::time_point>(deadline, now + std::chrono::seconds(1));
    if (connection_ == nullptr) { until = std::min(until, next_poll_); }
    pollfd entries[2] = {{.fd = wake_, .events = POLLIN, .revents = 0},
                         {.fd = connection_ ? PQsocket(connection_->native()) : -1, .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    poll(entries, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (connection_ != nullptr && entries[1].revents != 0 && read()) { return true; }
  }
}

void PostgresListener::interrupt() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

std::unique_ptr<Listener> PostgresStore::listen() {
  pool_.check_process();
  return std::make_unique<PostgresListener>(settings_);
}

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
    names += queue.namespace_name + "/" + queue.name + "\n";
  }
  return base::keep_head(names, payload_bytes);
}

}  // namespace

std::string channel_name(const Settings& settings) { return base::keep_head("hapax_" + settings.schema, 63); }

Notifier::Notifier(const Settings& settings) : settings_(settings), pid_(getpid()) {}

Notifier::~Notifier() {
  if (!thread_.joinable()) { return; }
  if (getpid() != pid_) {
    thread_.detach();  // a forked child has a copy of the object, but not the thread
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

void PostgresStore::announce(std::span<const QueueRef> queues) { notifier_.announce(queues); }

}  // namespace hapax::store::postgres
