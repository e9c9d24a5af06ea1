// Reading beside the writer: a small pool of read-only connections, and transactions on them.
#pragma once

#include "store/sqlite/connection.hpp"
#include "store/sqlite/writer.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace hapax::store::sqlite {

// The connections that are not in use. Any thread may call. Opens another connection when none is free, and keeps at
// most five.
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
  std::atomic<Connection*> next_{nullptr};  // the last one given back; taken next, without the mutex
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

// One snapshot for several reads. It takes no lock that a writer waits for, but keep it short: while it is open, the
// log cannot be recycled. Used by one thread.
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

// A connection for one statement, which is a snapshot by itself. Used by one thread; its cursors must be destroyed
// before it.
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
