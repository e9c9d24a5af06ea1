// Bulk enqueue (App::enqueue_many): hundreds of thousands of executions in one call, streamed, in transactions of a
// stated size.
#pragma once

#include <hapax/options.hpp>
#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hapax {

// An input with options of its own (a key, a delay, …).
template <class In>
struct BulkItem {
  In input;
  EnqueueOptions options{};
};

// The answer to one item.
struct BulkAdmission {
  Uuid id{};  // the new execution's, or the existing one's
  bool created = false;
  Status status = Status::pending;
  int run = 1;
  std::optional<Time> deduplicated_from{};  // not created: when the execution that holds the identity was created
  std::string error{};  // the name of a refusal (TaskAlreadyExists, IdempotencyMismatch, …), or empty
};

struct BulkReport {
  std::vector<BulkAdmission> admissions{};  // one for each item, in the order of the items
  std::size_t created = 0;
  std::size_t deduplicated = 0;
  std::size_t refused = 0;
};

}  // namespace hapax
