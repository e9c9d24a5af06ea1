#include "store/postgres/vacuum.hpp"

#include <exception>

namespace hapax::store::postgres {

namespace {

constexpr std::int64_t every = 50'000;
constexpr int rest_factor = 9;  // rests this many times as long as the last vacuum took

}  // namespace

Vacuum::~Vacuum() {
  if (thread_.joinable()) { thread_.join(); }
}

void Vacuum::ended(std::int64_t count) {
  if (ended_.fetch_add(count, std::memory_order_relaxed) + count < every || busy_.exchange(true)) { return; }
  if (std::chrono::steady_clock::now() < not_before_) {
    busy_.store(false);
    return;
  }
  ended_.store(0, std::memory_order_relaxed);
  if (thread_.joinable()) { thread_.join(); }
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) { busy_.store(false); }
}

void Vacuum::run() {
  const auto begun = std::chrono::steady_clock::now();
  try {
    const Pool::Lease lease = pool_.acquire(Planning::plain);
    const Connection::AnswerLimit patience(*lease);
    // Without TRUNCATE, which would briefly lock out all other transactions.
    lease->command(lease->sql("VACUUM (SKIP_LOCKED, TRUNCATE FALSE) {s}.live"));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): autovacuum does the work
  }
  const auto ended = std::chrono::steady_clock::now();
  not_before_ = ended + rest_factor * (ended - begun);
  busy_.store(false);
}

}  // namespace hapax::store::postgres
