// Defaults shared by all record stores, the names of statuses, and opening a store by URL.
#include <hapax/error.hpp>
#include <hapax/guard_store.hpp>

#include "base/text.hpp"
#include "guard/execution_store.hpp"
#include "guard/fork.hpp"
#include "guard/redis_url.hpp"
#include "store/open.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace hapax {

namespace {
constexpr Duration first_pause = std::chrono::milliseconds(1);
constexpr Duration longest_pause = std::chrono::milliseconds(100);

// "file:///var/x" and "file:/var/x" are the same folder; "file:x" is relative to the current directory.
GuardStorePtr open_file_store(const std::string& rest) {
  const std::size_t question = std::min(rest.find('?'), rest.size());
  std::string folder = rest.substr(0, question);
  if (folder.starts_with("//")) { folder.erase(0, 2); }
  FileGuardOptions options;
  std::string_view parameters = std::string_view(rest).substr(std::min(question + 1, rest.size()));
  while (!parameters.empty()) {
    const std::string_view one = parameters.substr(0, parameters.find('&'));
    const std::string_view name = one.substr(0, one.find('='));
    if (name != "lock_timeout" || name.size() == one.size()) {
      throw InvalidArgument("store", "the URL of a file store has an unknown parameter '" +
                                         base::printable(std::string(one.substr(0, 100))) +
                                         "'; expected lock_timeout, such as file:/var/lib/app/guard?lock_timeout=30s");
    }
    options.lock_timeout = parse_duration(one.substr(name.size() + 1), "lock_timeout");
    parameters.remove_prefix(std::min(one.size() + 1, parameters.size()));
  }
  return file_guard_store(folder, options);
}

}  // namespace

std::string_view to_string(GuardStatus status) {
  switch (status) {
    case GuardStatus::in_progress: return "in_progress";
    case GuardStatus::completed: return "completed";
    case GuardStatus::failed: return "failed";
  }
  return "unknown";
}

void GuardStore::wait_changed(const GuardKey& key, std::int64_t fence, Duration at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  for (Duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    const auto left = std::chrono::duration_cast<Duration>(until - std::chrono::steady_clock::now());
    if (left <= Duration::zero()) { return; }
    std::this_thread::sleep_for(std::min(pause, left));
    const std::optional<GuardRecord> record = read(key);
    if (!record || record->status != GuardStatus::in_progress || record->fence != fence) { return; }
  }
}

std::size_t GuardStore::sweep(std::size_t /*limit*/) { return 0; }

GuardStorePtr open_guard_store(const std::string& url) {
  const std::size_t colon = url.find(':');
  const std::string scheme = url.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : url.substr(colon + 1);
  if (colon != std::string::npos && scheme == "memory" && rest.empty()) { return memory_guard_store(); }
  if (colon != std::string::npos && scheme == "file" && !rest.empty()) { return open_file_store(rest); }
  if (guard::is_redis_url(url)) { return redis_guard_store(url); }
  if (scheme == "sqlite" || scheme == "postgresql" || scheme == "postgres") {
    return std::make_shared<guard::ExecutionStore>([url] { return std::shared_ptr(store::open(url)); });
  }
  throw InvalidArgument("store", base::quoted(store::display_url(url), '"') +
                                     " is not the URL of a record store; expected memory:, file:/path/of/a/folder, "
                                     "redis://host:6379/0, sqlite:app.db or postgresql://host/database");
}

}  // namespace hapax
