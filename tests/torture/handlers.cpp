#include "torture/handlers.hpp"

#include "base/fault.hpp"

#include <hapax/error.hpp>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <thread>

namespace hapax::torture {
namespace {

// Reads until the store answers, but for at most three leases: after that another worker has the execution.
template <class Read>
auto read_patiently(const Read& read) -> std::optional<decltype(read())> {
  const auto until = std::chrono::steady_clock::now() + 3 * lease;
  while (std::chrono::steady_clock::now() < until) {
    try {
      return read();
    } catch (const StoreUnavailable&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } catch (const base::FaultInjected&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(store::FinishKind kind) {
  switch (kind) {
    case store::FinishKind::completed: return "completed";
    case store::FinishKind::failed: return "failed";
    case store::FinishKind::cancelled: return "cancelled";
    case store::FinishKind::timed_out: return "timed_out";
    case store::FinishKind::retry: return "retry";
    case store::FinishKind::snoozed: return "snoozed";
    case store::FinishKind::released: return "released";
    case store::FinishKind::waiting: return "waiting";
    case store::FinishKind::continued: return "continued";
  }
  return "?";
}

Handlers::Handlers(store::Store& store, const Options& options, Log& log)
    : store_(store), options_(options), log_(log), writes_(own_writes(store, options.url)) {}

void Handlers::log_verdict(const store::Finish& finish, store::FinishVerdict verdict) {
  log_.write(Event::finished, finish.id, finish.fence, name_of(finish.kind),
             verdict == store::FinishVerdict::accepted ? "accepted" : "stale",
             finish.kind == store::FinishKind::completed ? finish.result : "");
}

Done Handlers::run(const store::Claim& claim) {
  log_.write(Event::started, claim.id, claim.fence);
  const Behaviour plan = behaviour(claim.task, claim.id, claim.fence);
  if (plan.work.count() > 0) std::this_thread::sleep_for(plan.work);
  switch (plan.act) {
    case Act::complete: break;
    case Act::complete_in_transaction: return complete_in_transaction(claim);
    case Act::complete_once: return complete_once(claim);
    case Act::retry: return {.kind = Done::Kind::retry, .delay = plan.delay};
    case Act::fail: return {.kind = Done::Kind::failed};
    case Act::snooze: return {.kind = Done::Kind::snoozed, .delay = plan.delay};
    case Act::die:
      log_.write(Event::poisoned, claim.id, claim.fence);
      ::kill(::getpid(), SIGKILL);
      break;
  }
  return {.result = result_text(options_.number, claim.fence)};
}

// A recorded sub-step: the first attempt that gets there records a value, and the result must carry this value.
Done Handlers::complete_once(const store::Claim& claim) {
  const auto value_of = [&](const std::vector<store::JournalEntry>& entries) -> std::optional<std::string> {
    if (entries.empty()) return std::nullopt;
    return entries.front().data.substr(1, entries.front().data.size() - 2);
  };
  for (int left = 3; left > 0; --left) {
    const auto entries = read_patiently([&] { return store_.journal_read(claim.id); });
    if (!entries) break;
    if (const auto value = value_of(*entries)) { return {.result = result_text(options_.number, claim.fence, *value)}; }
    const std::string fresh = std::to_string(options_.number) + "/" + std::to_string(claim.fence);
    const store::JournalEntry entry{
        .execution = claim.id, .fence = claim.fence, .kind = 1, .name = "step", .data = "\"" + fresh + "\""};
    try {
      if (store_.journal_append(std::span(&entry, 1)).at(0) == store::FinishVerdict::accepted) {
        log_.write(Event::journaled, claim.id, claim.fence, fresh);
        return {.result = result_text(options_.number, claim.fence, fresh)};
      }
    } catch (const StoreUnavailable&) {
      log_.write(Event::note, "journal-unknown");
    } catch (const base::FaultInjected&) { log_.write(Event::note, "journal-unknown"); }
    // Stale or unknown: the next iteration reads the journal.
  }
  return {.kind = Done::Kind::retry};
}

Done Handlers::complete_in_transaction(const store::Claim& claim) {
  store::Finish finish;
  finish.id = claim.id;
  finish.fence = claim.fence;
  finish.result = result_text(options_.number, claim.fence);
  try {
    const std::scoped_lock guard(writes_mutex_);
    writes_->write({.table = "torture_effects", .id = claim.id, .fence = claim.fence},
                   [&](store::Transaction& tx) { tx.finish(finish); });
    log_verdict(finish, store::FinishVerdict::accepted);
    return {.kind = Done::Kind::settled};
  } catch (const StaleLease&) {
    log_verdict(finish, store::FinishVerdict::stale);
    return {.kind = Done::Kind::settled};
  } catch (const std::exception&) { log_.write(Event::note, "transaction-unknown"); }
  // The commit may or may not have happened: read the execution back.
  const auto found = read_patiently([&] { return store_.get(claim.id); });
  const bool recorded = found && *found && (*found)->status == Status::completed && (*found)->fence == claim.fence;
  return {.kind = recorded ? Done::Kind::settled : Done::Kind::retry};
}

}  // namespace hapax::torture
