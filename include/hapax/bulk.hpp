// Bulk enqueue: hundreds of thousands of executions in one call, streamed, in transactions of a stated size.
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

// The answer to one item, in the items' order.
struct BulkAdmission {
  Uuid id{};  // the new execution's, or the one it was deduplicated to
  bool created = false;
  Status status = Status::pending;
  int run = 1;
  std::optional<Time> deduplicated_from{};  // when not created: the creation of the execution that holds the identity
  std::string error{};                      // a refusal's name (TaskAlreadyExists, IdempotencyMismatch, …), or empty
};

struct BulkReport {
  std::vector<BulkAdmission> admissions{};
  std::size_t created = 0;
  std::size_t deduplicated = 0;
  std::size_t refused = 0;
};

namespace detail {
// One item, encoded; none when there are no more.
struct RawItem {
  std::string input{};
  std::optional<EnqueueOptions> options{};  // none: BulkOptions::each
};
using RawSource = std::function<std::optional<RawItem>()>;
}  // namespace detail

}  // namespace hapax
