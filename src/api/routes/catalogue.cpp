// The catalogue of tasks: GET /v1/tasks, GET, PUT and DELETE /v1/tasks/{task}.
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "base/json.hpp"
#include "base/json_out.hpp"
#include "model/task_definition.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax::api {

namespace {

std::string entry_json(const model::TaskEntry& entry) {
  base::JsonObject object;
  object.text("task", entry.name).text("namespace", entry.namespace_name).text("origin", entry.origin);
  return object.time("updated_at", entry.updated_at).raw("definition", entry.definition).str();
}

model::TaskEntry find_entry(Api& api, const std::string& namespace_name, const std::string& task) {
  model::check_name(task, "task");
  const model::StoredCatalogue stored = api.store().catalogue(namespace_name);
  const auto found = std::find_if(stored.tasks.begin(), stored.tasks.end(),
                                  [&](const model::TaskEntry& entry) { return entry.name == task; });
  if (found == stored.tasks.end()) {
    throw NotFound("task '" + task + "' is not in the catalogue of namespace '" + namespace_name +
                   "'; it can be enqueued all the "
                   "same, and each request of it runs");
  }
  return *found;
}

http::Response list_tasks(Api& api, http::Call& call) {
  check_query(call.request(), {});
  return json_answer(call.blocking([&] {
    std::vector<std::string> items;
    for (const model::TaskEntry& entry : api.store().catalogue(call.principal().namespace_name).tasks) {
      items.push_back(entry_json(entry));
    }
    return base::JsonObject().raw("tasks", base::json_array(items)).str();
  }));
}

http::Response show_tasks(Api& api, http::Call& call) {
  check_query(call.request(), {});
  return json_answer(call.blocking(
      [&] { return entry_json(find_entry(api, call.principal().namespace_name, call.parameter("task"))); }));
}

http::Response put_tasks(Api& api, http::Call& call) {
  const std::string& task = call.parameter("task");
  model::check_name(task, "task");
  const std::string& body = call.body();
  if (body.empty()) { throw InvalidArgument("body", "is empty; expected a JSON object such as {\"max_attempts\": 6}"); }
  base::check_json(body, "body");
  const std::string where = "tasks." + task;
  const model::TaskDefinition definition = model::decode_definition(body, where);
  model::check_definition(definition, where);
  const std::string& namespace_name = call.principal().namespace_name;
  const model::TaskEntry entry{.namespace_name = namespace_name,
                               .name = task,
                               .definition = model::encode_definition(definition),
                               .origin = "api"};
  return call.blocking([&] {
    const model::StoredCatalogue before = api.store().catalogue(namespace_name);
    const bool is_new = std::none_of(before.tasks.begin(), before.tasks.end(),
                                     [&](const model::TaskEntry& each) { return each.name == task; });
    (void)api.store().put_task(entry, actor_of(call.principal()));
    api.tenant(namespace_name)->catalogue().forget();
    return json_answer(entry_json(find_entry(api, namespace_name, task)), is_new ? 201 : 200);
  });
}

http::Response remove_tasks(Api& api, http::Call& call) {
  const std::string& namespace_name = call.principal().namespace_name;
  const std::string& task = call.parameter("task");
  return json_answer(call.blocking([&] {
    (void)find_entry(api, namespace_name, task);
    (void)api.store().remove_task(namespace_name, task, actor_of(call.principal()));
    api.tenant(namespace_name)->catalogue().forget();
    return base::JsonObject().text("deleted", task).str();
  }));
}

}  // namespace

void add_catalogue_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  const auto add = [&](const char* method, const char* pattern, http::Scope scope,
                       http::Response (*answer)(Api&, http::Call&)) {
    router.add({.method = method,
                .pattern = pattern,
                .scope = scope,
                .body = std::string_view(method) == "PUT" ? http::BodyRule::json : http::BodyRule::none,
                .handler = [api, answer](http::Call& call) { return answer(*api, call); }});
  };
  add("GET", "/v1/tasks", http::Scope::read, list_tasks);
  add("GET", "/v1/tasks/{task}", http::Scope::read, show_tasks);
  add("PUT", "/v1/tasks/{task}", http::Scope::admin, put_tasks);
  add("DELETE", "/v1/tasks/{task}", http::Scope::admin, remove_tasks);
}

}  // namespace hapax::api
