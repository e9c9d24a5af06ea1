#include "guard/core.hpp"

#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"

#include <unistd.h>

#include <array>

namespace hapax::detail {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) { return "localhost"; }
  return base::escape_invalid(name.data());
}

void check_duration(const std::optional<Duration>& duration, const char* field, Duration least, Duration most) {
  if (duration && (*duration < least || *duration > most)) {
    throw InvalidArgument(field, std::to_string(duration->count()) + " microseconds; expected " +
                                     format_duration(least) + " to " + format_duration(most));
  }
}

GuardOptions checked(GuardOptions options, const std::string& name) {
  model::check_name(name, "name");
  model::check_name(options.namespace_name, "namespace");
  if (!options.store) {
    throw UsageError("the guard '" + name +
                     "' has no store: say where its records are kept, such as hapax::file_guard_store(folder)");
  }
  check_duration(options.ttl, "ttl", Duration(1), limits::delay_max);
  check_duration(options.wait_timeout, "wait_timeout", Duration::zero(), limits::delay_max);
  check_duration(options.takeover_after, "takeover_after", limits::lease_min, limits::lease_max);
  check_duration(options.cache_for, "cache_for", Duration::zero(), limits::delay_max);
  return options;
}

}  // namespace

GuardCore::GuardCore(std::string name, GuardOptions options)
    : name_(std::move(name)),
      options_(checked(std::move(options), name_)),
      host_(host_name()),
      generation_(guard::process_generation()),
      owner_(host_ + ":" + std::to_string(::getpid())),
      heartbeat_(guard::GuardHeartbeat::of(options_.store)) {
  if (options_.cache_records > 0 && !base::takes_plain_path("guard-cache")) {
    cache_ = std::make_unique<guard::Cache>(guard::Cache::Options{options_.cache_records, options_.cache_for});
  }
  guard::GuardHeartbeat::OnTrouble trouble;
  if (options_.on_warning) {
    trouble = [warning = options_.on_warning, guard = name_](const std::string& key, const std::string& message) {
      warning({guard, key, message});
    };
  }
  heartbeat_->join(this, guard::beat_interval(options_.takeover_after), std::move(trouble));
}

GuardCore::~GuardCore() { heartbeat_->leave(this); }

std::string GuardCore::owner() const {
  // A forked child has another process ID.
  return guard::process_generation() == generation_ ? owner_ : host_ + ":" + std::to_string(::getpid());
}

void GuardCore::warn(const std::string& key, const std::string& message) const noexcept {
  if (!options_.on_warning) { return; }
  try {
    options_.on_warning({name_, key, message});
  } catch (...) {
    // on_warning must not throw; a call's outcome does not change because a warning failed.
    return;
  }
}

std::shared_ptr<GuardCore> make_guard(std::string name, GuardOptions options) {
  return std::make_shared<GuardCore>(std::move(name), std::move(options));
}

bool compares_arguments(const GuardCore& core) { return core.options().compare_arguments; }

std::optional<GuardRecord> read_record(GuardCore& core, const GuardCallName& name) {
  return core.store().read(name.key);
}

GuardForgotten forget_record(GuardCore& core, const GuardCallName& name, bool even_in_progress) {
  const GuardForgotten forgotten = core.store().forget(name.key, even_in_progress);
  if (core.cache() != nullptr) { core.cache()->drop(name.key.key); }
  return forgotten;
}

}  // namespace hapax::detail
