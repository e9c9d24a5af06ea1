#include "engine/catalogue_cache.hpp"

#include <hapax/error.hpp>

#include "model/validate.hpp"

#include <algorithm>
#include <chrono>

namespace hapax::engine {

namespace {

constexpr std::int64_t fresh_for_us = 1'000'000;

std::int64_t steady_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool same(const model::TaskEntry& one, const model::TaskEntry& other) {
  return one.name == other.name && one.definition == other.definition;
}

bool same(const model::Setting& one, const model::Setting& other) {
  return one.name == other.name && one.value == other.value;
}

template <class T>
bool same(const std::vector<T>& ones, const std::vector<T>& others) {
  return std::equal(ones.begin(), ones.end(), others.begin(), others.end(),
                    [](const T& one, const T& other) { return same(one, other); });
}

}  // namespace

model::TaskDefinition definition_of(const TaskOptions& options) {
  model::TaskDefinition definition;
  definition.strategy = options.identity_strategy;
  definition.identity_keys = options.identity_keys;
  definition.scope = options.identity_scope;
  definition.fingerprint = options.fingerprint;
  if (options.reuse != Reuse::failed_only) { definition.reuse = options.reuse; }
  definition.dedup_window = options.dedup_window;
  return definition;
}

namespace {

// Whether a task's identities, or their conflicts, differ from those of a bare name. Such a declaration must be in the
// catalogue, where every process reads it.
bool declares_identity(const TaskOptions& options) {
  return options.identity_strategy || options.identity_scope || options.fingerprint || options.dedup_window ||
         options.reuse != Reuse::failed_only || !options.identity_keys.empty();
}

void check_keys_are_used(const TaskSpec& task) {
  if (!task.options.identity_keys.empty() && !task.options.identity_strategy) {
    throw InvalidArgument("task '" + task.name + "'.identity_keys",
                          "is given without a strategy, so that nothing would use it; add identity_strategy = "
                          "contextual");
  }
}

// Completes a descriptor that names no strategy from the stored entry, so that only options which the descriptor sets
// can conflict. A reuse policy conflicts only when both have one.
model::TaskDefinition complete_from_stored(model::TaskDefinition wanted, const model::TaskDefinition& stored) {
  if (wanted.strategy) { return wanted; }
  wanted.strategy = stored.strategy;
  wanted.identity_keys = stored.identity_keys;
  if (!wanted.scope) { wanted.scope = stored.scope; }
  if (!wanted.fingerprint) { wanted.fingerprint = stored.fingerprint; }
  if (!wanted.dedup_window) { wanted.dedup_window = stored.dedup_window; }
  if (!wanted.reuse || !stored.reuse) { wanted.reuse = stored.reuse; }
  return wanted;
}

}  // namespace

bool CatalogueCache::is_fresh() const {
  return steady_us() - read_at_us_.load(std::memory_order_relaxed) < fresh_for_us;
}

void CatalogueCache::set(std::shared_ptr<const model::Catalogue> catalogue) {
  catalogue_ = std::move(catalogue);
  const std::lock_guard lock(known_mutex_);
  known_ = catalogue_;
}

CatalogueCache::Entry CatalogueCache::find(const TaskSpec& task, Declare declare_now) {
  const bool declares = declares_identity(task.options);
  // Most programs catalogue nothing: their calls cost two atomic loads and one read of the clock.
  if (!declares && is_fresh()) {
    const std::int64_t version = empty_version_.load(std::memory_order_acquire);
    if (version != not_empty) {
      return {.catalogue = nullptr, .definition = nullptr, .version = static_cast<std::int32_t>(version)};
    }
  }
  if (!declares) {
    if (std::optional<Entry> known = find_known(task.name)) { return *std::move(known); }
  }
  const std::lock_guard lock(mutex_);
  // There is no catalogue yet if the first read failed, also for threads that waited for that read.
  if (!is_fresh() || !catalogue_) { refresh(); }
  if (declares) { return declare(task, declare_now); }
  return {.catalogue = catalogue_, .definition = catalogue_->find(task.name), .version = catalogue_->version};
}

std::optional<CatalogueCache::Entry> CatalogueCache::find_known(const std::string& task) {
  // While one thread reads, the other callers get the catalogue that was read before.
  const bool is_being_read = is_reading_.load() && read_at_us_.load() != never_read;
  if (!is_fresh() && !is_being_read) { return std::nullopt; }
  std::shared_ptr<const model::Catalogue> known;
  {
    const std::lock_guard lock(known_mutex_);
    known = known_;
  }
  if (!known) { return std::nullopt; }
  const model::TaskDefinition* const definition = known->find(task);
  const std::int32_t version = known->version;
  return Entry{.catalogue = std::move(known), .definition = definition, .version = version};
}

std::shared_ptr<const model::Catalogue> CatalogueCache::all() {
  const std::lock_guard lock(mutex_);
  if (!is_fresh() || !catalogue_) { refresh(); }
  return catalogue_;
}

void CatalogueCache::refresh() {
  // Set before the read: unless forget() resets it, the store is asked again a second from now.
  std::int64_t begun = steady_us();
  read_at_us_.store(begun);
  model::StoredCatalogue read;
  is_reading_.store(true);
  try {
    read = store_.catalogue(namespace_name_);
    is_reading_.store(false);
  } catch (const StoreUnavailable&) {
    is_reading_.store(false);
    if (!catalogue_) {
      forget();
      throw;
    }
    // The last catalogue counts for another second, however long the read took.
    read_at_us_.compare_exchange_strong(begun, steady_us());
    return;
  } catch (...) {
    is_reading_.store(false);
    throw;
  }
  if (catalogue_ && catalogue_->version == read.version && same(read.tasks, tasks_) && same(read.settings, settings_)) {
    return;
  }
  try {
    set(std::make_shared<const model::Catalogue>(model::decode_catalogue(read)));
  } catch (...) {
    forget();  // so that every request gets the error, not only one a second
    throw;
  }
  tasks_ = std::move(read.tasks);
  settings_ = std::move(read.settings);
  declared_.clear();
  const bool is_empty = tasks_.empty() && settings_.empty();
  empty_version_.store(is_empty ? catalogue_->version : not_empty, std::memory_order_release);
}

CatalogueCache::Entry CatalogueCache::declare(const TaskSpec& task, Declare declare_now) {
  model::TaskDefinition wanted = definition_of(task.options);
  const auto known = declared_.find(task.name);
  if (known != declared_.end() && known->second == wanted) {
    return {.catalogue = catalogue_, .definition = catalogue_->find(task.name), .version = catalogue_->version};
  }
  model::check_name(task.name, "task");
  check_keys_are_used(task);
  model::check_definition(wanted, "task '" + task.name + "'");
  const model::TaskDefinition* definition = catalogue_->find(task.name);
  if (definition == nullptr) {
    // A descriptor without a strategy means always_unique for requests without a key.
    model::TaskDefinition made = wanted;
    if (!made.strategy) { made.strategy = IdentityStrategy::always_unique; }
    auto longer = std::make_shared<model::Catalogue>(*catalogue_);
    if (declare_now == Declare::not_now) {
      longer->tasks.emplace(task.name, made);
      return {.catalogue = longer, .definition = longer->find(task.name), .version = longer->version};
    }
    const model::TaskEntry stored = store_.declare_task({.namespace_name = namespace_name_,
                                                         .name = task.name,
                                                         .definition = model::encode_definition(made),
                                                         .origin = "code"});
    longer->tasks.emplace(task.name, model::decode_definition(stored.definition, "tasks." + task.name));
    set(std::move(longer));
    tasks_.push_back(stored);
    empty_version_.store(not_empty, std::memory_order_release);
    definition = catalogue_->find(task.name);
  }
  const std::string conflict =
      model::conflict_of(*definition, complete_from_stored(wanted, *definition), catalogue_->default_strategy);
  if (!conflict.empty()) {
    throw ConflictingDeclaration(
        "task '" + task.name + "' is in the store's catalogue and declared otherwise by this program: " + conflict +
        ". Make them agree, or take the old entry out with `hapax config forget " + task.name + "`");
  }
  declared_.insert_or_assign(task.name, std::move(wanted));
  return {.catalogue = catalogue_, .definition = definition, .version = catalogue_->version};
}

}  // namespace hapax::engine
