#include <hapax/app.hpp>
#include <hapax/control.hpp>
#include <hapax/guard_store.hpp>

#include "app/app_state.hpp"
#include "app/config/config.hpp"
#include "app/find.hpp"
#include "base/json.hpp"
#include "base/payload_limit.hpp"
#include "guard/execution_store.hpp"
#include "guard/fork.hpp"
#include "model/validate.hpp"
#include "store/open.hpp"

namespace hapax {

App open(const std::string& url, const OpenOptions& options) {
  model::check_name(options.namespace_name, "namespace");
  if (!options.actor.empty()) { model::check_name(options.actor, "actor"); }
  store::OpenOptions store_options;
  if (options.migrate) { store_options.migrate = *options.migrate ? store::Migrate::yes : store::Migrate::no; }
  store_options.must_exist = options.must_exist;
  store_options.encryption_key_file = options.encryption_key_file;
  if (options.config.empty()) {
    const auto state = detail::make_app_state(store::open(url, store_options), options.namespace_name, options.actor);
    if (options.payload_limit > 0) { base::set_payload_limit(options.payload_limit); }
    state->observe(options);
    return App(state);
  }
  const config::Config config = detail::load_configuration(options.config);
  if (options.encryption_key_file.empty()) {
    store_options.encryption_key_file = config.encryption_key_file.value_or("");
  }
  const std::string place = url.empty() ? config.store_url.value_or("") : url;
  const auto state = detail::make_app_state(store::open(place, store_options), options.namespace_name, options.actor);
  if (const std::size_t limit = options.payload_limit > 0 ? options.payload_limit : config.payload_limit.value_or(0)) {
    base::set_payload_limit(limit);
  }
  state->observe(options);
  detail::apply_configuration_at_start(state->engine(), options.namespace_name, config);
  return App(state);
}

AnyHandle App::enqueue_json(const TaskSpec& task, std::string input_json, const EnqueueOptions& options) {
  state_->forbid_in_transaction("a plain enqueue");
  return state_->admit(task, input_json, options, model::Kind::task);
}

void App::enqueue_json_async(const TaskSpec& task, std::string input_json, const EnqueueOptions& options,
                             const Admitted& callback) {
  state_->forbid_in_transaction("a plain enqueue");
  state_->admit_async({.task = task, .input = std::move(input_json), .options = options, .callback = callback});
}

void App::handle_json(const TaskSpec& task, RawHandler handler) {
  if (!handler) { throw InvalidArgument("handler", "is empty"); }
  add_handler(task, [handler = std::move(handler)](TaskContext& context, const std::string& input) {
    std::string result = handler(context, input);
    try {
      base::check_json(result, "result");
    } catch (const InvalidArgument& error) { throw Permanent("InvalidResult", error.what()); }
    return result;
  });
}

void App::add_handler(const TaskSpec& task, RawHandler handler) {
  (void)state_->catalogue().find(task);
  state_->add_handler(task.name, std::move(handler));
}

void App::use(Middleware middleware) { state_->add_middleware(std::move(middleware)); }

AnyHandle App::find_any(const Uuid& id) {
  (void)app::find_briefly(state_->store(), state_->namespace_name(), id);
  return state_->handle(id);
}

AnyHandle App::find_any(const TaskSpec& task, std::string_view task_id) {
  return state_->handle(
      app::find_by_key(state_->store(), state_->namespace_name(), state_->catalogue(),
                       {.kind = model::Kind::task, .task = task, .key = std::string(task_id), .queue = {}}));
}

GuardStorePtr guard_store(const App& app) {
  const std::shared_ptr<engine::Engine> engine = app.state()->shared_engine();
  const std::uint64_t generation = guard::process_generation();
  return std::make_shared<guard::ExecutionStore>([engine, generation] {
    if (guard::process_generation() != generation) {
      throw UsageError("an app's guard store was used in a forked child; open one there with open_guard_store");
    }
    return std::shared_ptr<store::Store>(engine, &engine->store());
  });
}

}  // namespace hapax
