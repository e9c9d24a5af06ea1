// Reading beside the writer: a small pool of read-only connections, and a transaction on one of them.
#pragma once

#include "store/sqlite/connection.hpp"
#include "store/sqlite/writer.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace hapax::store::sqlite {

// Connections that are not in use. Any thread. Opens another when none is free; keeps a few.
class ReaderPool {
 public:
  explicit ReaderPool(Writer& writer) : writer_(writer) {}
  ~ReaderPool();
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  [[nodiscard]] std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);
  [[nodiscard]] Writer& writer() { return writer_; }

 private:
  Writer& writer_;
  std::atomic<Connection*> next_{nullptr};  // the last one given back, for whom comes next: without the mutex
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

// One snapshot for several reads. Takes no lock that a writer waits for; but while it is open the log is not recycled,
// so it is kept short. Used by one thread.
class ReadTransaction {
 public:
  explicit ReadTransaction(ReaderPool& pool);
  ~ReadTransaction();
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

  [[nodiscard]] Connection& db() { return *connection_; }
  [[nodiscard]] Time now() const { return now_; }

 private:
  ReaderPool& pool_;
  Time now_;
  std::unique_ptr<Connection> connection_;
};

// A connection for one statement, which is a snapshot by itself. Used by one thread; its cursors go before it.
class SingleRead {
 public:
  explicit SingleRead(ReaderPool& pool);
  ~SingleRead();
  SingleRead(const SingleRead&) = delete;
  SingleRead& operator=(const SingleRead&) = delete;

  [[nodiscard]] Connection& db() { return *connection_; }
  [[nodiscard]] Time now() const { return now_; }

 private:
  ReaderPool& pool_;
  Time now_;
  std::unique_ptr<Connection> connection_;
  const int exceptions_;
};

}  // namespace hapax::store::sqlite
