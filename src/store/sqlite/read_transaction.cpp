#include "store/sqlite/read_transaction.hpp"

#include <hapax/error.hpp>

#include <exception>
#include <utility>

namespace hapax::store::sqlite {

namespace {

constexpr std::size_t idle_readers = 4;
constexpr Duration reader_busy_timeout = std::chrono::seconds(10);
constexpr const char* begin_sql = "BEGIN";
constexpr const char* end_sql = "COMMIT";

}  // namespace

ReaderPool::~ReaderPool() {
  if (Connection* const last = next_.exchange(nullptr)) { idle_.emplace_back(last); }
  try {
    writer_.check_process();
  } catch (const UsageError&) {
    for (auto& connection : idle_) { connection->abandon(); }
  }
}

std::unique_ptr<Connection> ReaderPool::take() {
  writer_.check_process();
  if (Connection* const last = next_.exchange(nullptr, std::memory_order_acquire)) {
    return std::unique_ptr<Connection>(last);
  }
  {
    const std::lock_guard guard(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<Connection>(writer_.path(), Connection::Mode::reader, reader_busy_timeout);
}

void ReaderPool::give_back(std::unique_ptr<Connection> connection) {
  Connection* nobody = nullptr;
  if (next_.compare_exchange_strong(nobody, connection.get(), std::memory_order_release, std::memory_order_relaxed)) {
    static_cast<void>(connection.release());
    return;
  }
  const std::lock_guard guard(mutex_);
  if (idle_.size() < idle_readers) { idle_.push_back(std::move(connection)); }
}

ReadTransaction::ReadTransaction(ReaderPool& pool)
    : pool_(pool), now_(pool.writer().clock().now()), connection_(pool.take()) {
  static_cast<void>(connection_->prepared(end_sql));  // prepared now, so that ending the transaction cannot fail
  connection_->use(begin_sql).run();
}

ReadTransaction::~ReadTransaction() {
  // A connection whose read transaction cannot end is not kept: closing the connection ends the transaction.
  Statement& end = connection_->prepared(end_sql);
  const int code = sqlite3_step(end.handle());
  sqlite3_reset(end.handle());
  if (code == SQLITE_DONE) { pool_.give_back(std::move(connection_)); }
}

SingleRead::SingleRead(ReaderPool& pool)
    : pool_(pool),
      now_(pool.writer().clock().now()),
      connection_(pool.take()),
      exceptions_(std::uncaught_exceptions()) {}

SingleRead::~SingleRead() {
  // A connection on which something failed is not kept.
  if (std::uncaught_exceptions() == exceptions_) { pool_.give_back(std::move(connection_)); }
}

}  // namespace hapax::store::sqlite
