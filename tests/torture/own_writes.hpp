// The caller's own rows in the store's database, written in one transaction with an outcome or an enqueue.
//
// Tables: torture_effects (a row per accepted transactional outcome) and torture_outbox (a row per transactional
// enqueue). At the end the checker compares them with the executions, row by row.
#pragma once

#include "store/store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace hapax::torture {

struct OwnRow {
  std::string table;
  Uuid id;
  std::int64_t fence = 0;
};

// Not shared between threads.
class OwnWrites {
 public:
  virtual ~OwnWrites() = default;
  virtual void make_tables() = 0;
  // Writes the row, calls `fn` in the same transaction and commits. If it throws, the commit may have happened.
  virtual void write(const OwnRow& row, const std::function<void(store::Transaction&)>& fn) = 0;
  // Reads a table: the fences by execution ID.
  [[nodiscard]] virtual std::multimap<Uuid, std::int64_t> read(const std::string& table) = 0;
};

[[nodiscard]] std::unique_ptr<OwnWrites> own_writes(store::Store& store, const std::string& url);

}  // namespace hapax::torture
