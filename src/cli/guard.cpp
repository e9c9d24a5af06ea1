// hapax guard: lists, shows and forgets the records of guarded functions, on any guard store that outlives a process.
#include <hapax/guard_store.hpp>

#include "app/find.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

namespace hapax::cli {
namespace {

constexpr const char* guard_group_examples =
    "--store URL is the store that the guarded function uses: file:FOLDER,\n"
    "sqlite:PATH, postgresql://…, redis://… or rediss://….\n"
    "\n"
    "Examples:\n"
    "  hapax guard list --store file:/var/lib/app/guard --status in_progress\n"
    "  hapax guard show --name invoice --key '[\"7\"]' --store redis://localhost/0\n"
    "  hapax guard forget --name invoice --key '[\"7\"]'\n"
    "  hapax guard forget --name invoice --status failed --yes";
constexpr const char* guard_list_examples =
    "With --json a list of {\"name\",\"key\",\"status\",\"result\",\"error\",\"started_at\",\n"
    "\"completed_at\",\"heartbeat\",\"fence\",\"expires_at\",\"takeover_after\",\"owner\"}.\n"
    "\"takeover_after\" is null for `never`.\n"
    "Exit codes: 0 done; 64 usage; 75 store down or busy; 78 configuration.";
constexpr const char* guard_show_examples = "With --json as in list. Exit codes: 0 done; 66 no such record.";
constexpr const char* guard_forget_examples =
    "A call whose record is forgotten runs again. Calls in progress are left alone.\n"
    "With --even-in-progress they are forgotten too: then the result of the running\n"
    "call is refused, and another call may run beside it.\n"
    "With --json: {\"forgotten\",\"in_progress\"}.\n"
    "Exit codes: 0 done; 3 in progress; 66 no such record.";

constexpr std::array statuses{GuardStatus::in_progress, GuardStatus::completed, GuardStatus::failed};

// Opens the store without making it: a folder, file or schema that does not exist is an error.
GuardStorePtr open_records(Shell& shell) {
  const std::string& url = shell.store_url();
  if (url.starts_with("memory:")) { throw BadUsage("records of a memory: store are their process's alone"); }
  struct stat found {};
  if (url.starts_with("file:")) {
    std::string folder = url.substr(5, url.find('?') - 5);
    if (folder.starts_with("//")) { folder.erase(0, 2); }
    if (stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
      throw MissingFile("there is no folder " + base::echo(folder));
    }
  }
  if (url.starts_with("sqlite:") || url.starts_with("postgres")) {
    Shell looking = shell.fresh();
    (void)looking.store();  // throws NotFound for a missing store, which open_guard_store would make
  }
  return with_store_url(url, [](const std::string& place) { return open_guard_store(place); });
}

// Names of guarded functions, from the first page of records.
std::vector<std::string> recorded_names(GuardStore& store, const std::string& namespace_name) {
  std::set<std::string> names;
  GuardQuery query;
  query.namespace_name = namespace_name;
  query.limit = limits::list_page;
  for (const GuardRecord& record : store.list(query).records) { names.insert(record.key.name); }
  return {names.begin(), names.end()};
}

[[noreturn]] void refuse_unknown(GuardStore& store, const std::string& namespace_name, const std::string& name,
                                 const std::string& rest) {
  const std::vector<std::string> names = recorded_names(store, namespace_name);
  const bool is_known = std::ranges::find(names, name) != names.end();
  throw NotFound("there is no record of " + base::echo(name) + rest +
                 (is_known ? "" : base::did_you_mean(name, names, '\'')));
}

struct RecordFilter {
  std::optional<std::string> name;
  std::string key_prefix;
  std::optional<std::string> status;
};

GuardQuery query_of(const Shell& shell, const RecordFilter& filter) {
  GuardQuery query;
  query.namespace_name = shell.namespace_name();
  query.name = filter.name;
  query.key_prefix = filter.key_prefix;
  query.limit = limits::list_page;
  if (!filter.status) { return query; }
  for (const GuardStatus status : statuses) {
    if (to_string(status) == *filter.status) { query.status = status; }
  }
  if (!query.status) {
    throw InvalidArgument("status", base::quoted(*filter.status) +
                                        " is not a status of a record; expected in_progress, completed or failed");
  }
  return query;
}

// Calls `fn` with each record until `fn` returns false.
void each_record(GuardStore& store, GuardQuery query, const std::function<bool(const GuardRecord&)>& fn) {
  while (true) {
    const GuardPage page = store.list(query);
    for (const GuardRecord& record : page.records) {
      if (!fn(record)) { return; }
    }
    if (!page.next) { return; }
    query.after = *page.next;
  }
}

// Call this when a filter matched nothing: throws NotFound if there is no record of the named function at all.
void require_name(GuardStore& store, const std::string& namespace_name, const RecordFilter& filter, bool is_empty) {
  if (!is_empty || !filter.name) { return; }
  GuardQuery query;
  query.namespace_name = namespace_name;
  query.name = filter.name;
  query.limit = 1;
  if (store.list(query).records.empty()) { refuse_unknown(store, namespace_name, *filter.name, ""); }
}

std::optional<model::ErrorInfo> error_info(const GuardRecord& record) {
  if (!record.error) { return std::nullopt; }
  return model::ErrorInfo{.type = record.error->type, .message = record.error->message, .detail = ""};
}

std::string record_json(const GuardRecord& record) {
  JsonObject json;
  json.text("name", record.key.name).text("key", record.key.key).text("status", to_string(record.status));
  json.raw("result", record.status == GuardStatus::completed && !record.result.empty() ? record.result : "null");
  json.raw("error", error_json(error_info(record)));
  json.time("started_at", record.started_at).time("completed_at", record.completed_at);
  json.time("heartbeat", record.heartbeat).number("fence", record.fence).time("expires_at", record.expires_at);
  json.duration("takeover_after", record.takeover_after).text_or_null("owner", record.owner);
  return json.str();
}

Cell status_cell(GuardStatus status) {
  switch (status) {
    case GuardStatus::in_progress: return {std::string(to_string(status)), Style::busy};
    case GuardStatus::completed: return {std::string(to_string(status)), Style::good};
    case GuardStatus::failed: return {std::string(to_string(status)), Style::bad};
  }
  return {"unknown"};
}

// This machine's clock is accurate enough for relative times.
Time now_for_people() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

void print_table(const std::vector<GuardRecord>& records) {
  const Time now = now_for_people();
  Table table({{.title = "NAME", .widest = 30},
               {.title = "KEY", .folds = true},
               {.title = "STATUS", .whole = true},
               {.title = "FENCE", .numeric = true},
               {.title = "STARTED"},
               {.title = "HEARTBEAT"},
               {.title = "EXPIRES"},
               {.title = "OWNER", .folds = true},
               {.title = "REMARK", .folds = true}});
  for (const GuardRecord& record : records) {
    const bool runs = record.status == GuardStatus::in_progress;
    table.add({record.key.name, record.key.key, status_cell(record.status), std::to_string(record.fence),
               when(record.started_at, now), when(runs ? std::optional(record.heartbeat) : std::nullopt, now),
               when(record.expires_at, now), record.owner,
               Cell(record.error ? error_line(error_info(record)) : "", Style::dim)});
  }
  table.print("no records");
}

int list_records(Shell& shell, const RecordFilter& filter, std::int64_t limit) {
  if (limit < 1) { throw InvalidArgument("limit", std::to_string(limit) + "; expected 1 or more"); }
  const GuardQuery query = query_of(shell, filter);
  const GuardStorePtr store = open_records(shell);
  std::vector<GuardRecord> records;
  each_record(*store, query, [&](const GuardRecord& record) {
    records.push_back(record);
    return std::ssize(records) < limit;
  });
  require_name(*store, shell.namespace_name(), filter, records.empty());
  if (!shell.json()) {
    print_table(records);
    return exit_ok;
  }
  std::vector<std::string> texts;
  for (const GuardRecord& record : records) { texts.push_back(record_json(record)); }
  print(json_array(texts));
  return exit_ok;
}

std::string spelled(const GuardKey& key) {
  return "the record of " + base::echo(key.name) + " with the key " + base::quoted(key.key);
}

int show_record(Shell& shell, const GuardKey& key) {
  const GuardStorePtr store = open_records(shell);
  const std::optional<GuardRecord> record = store->read(key);
  if (!record) { refuse_unknown(*store, key.namespace_name, key.name, " with that key"); }
  if (shell.json()) {
    print(record_json(*record));
    return exit_ok;
  }
  const Time now = now_for_people();
  Facts facts;
  facts.add("name", record->key.name);
  facts.add("key", record->key.key);
  const Cell status = status_cell(record->status);
  facts.add("status", status.text, status.style);
  if (record->status == GuardStatus::completed) { facts.add("result", record->result); }
  if (record->error) { facts.add("error", error_line(error_info(*record)), Style::bad); }
  facts.add("fence", std::to_string(record->fence));
  facts.add("started", when(record->started_at, now));
  facts.add_if("completed", record->completed_at ? when(record->completed_at, now) : "");
  facts.add("heartbeat", when(record->heartbeat, now));
  facts.add("taken over",
            record->takeover_after ? format_duration(*record->takeover_after) + " after a heartbeat" : "never");
  facts.add("expires", record->expires_at ? when(record->expires_at, now) : "never");
  facts.add_if("owner", record->owner);
  facts.print();
  return exit_ok;
}

struct ForgetOptions {
  RecordFilter filter;
  std::optional<std::string> key;
  bool even_in_progress = false;
  bool yes = false;
};

int forget_one(Shell& shell, const ForgetOptions& options) {
  const GuardKey key{.namespace_name = shell.namespace_name(), .name = *options.filter.name, .key = *options.key};
  const GuardStorePtr store = open_records(shell);
  switch (store->forget(key, options.even_in_progress)) {
    case GuardForgotten::absent: refuse_unknown(*store, key.namespace_name, key.name, " with that key");
    case GuardForgotten::in_progress:
      throw WrongStatus(spelled(key) + " is in progress; --even-in-progress forgets it all the same", Status::running);
    case GuardForgotten::forgotten: break;
  }
  print(shell.json() ? JsonObject().number("forgotten", std::int64_t{1}).number("in_progress", std::int64_t{0}).str()
                     : "1 record forgotten");
  return exit_ok;
}

int forget_many(Shell& shell, const ForgetOptions& options) {
  const GuardStorePtr store = open_records(shell);
  std::vector<GuardKey> keys;
  each_record(*store, query_of(shell, options.filter), [&](const GuardRecord& record) {
    keys.push_back(record.key);
    return true;
  });
  require_name(*store, shell.namespace_name(), options.filter, keys.empty());
  const std::string what = "forget " + plural(std::ssize(keys), "record");
  if (!keys.empty() && !options.yes) {
    // A forgotten call may take effect again, so many records are never forgotten without a confirmation.
    if (!can_ask() || shell.json()) { throw BadUsage("this would " + what + "; say --yes to do it"); }
    if (!confirmed(shell, what)) { return exit_ok; }
  }
  std::int64_t forgotten = 0;
  std::int64_t in_progress = 0;
  for (const GuardKey& key : keys) {
    const GuardForgotten verdict = store->forget(key, options.even_in_progress);
    forgotten += verdict == GuardForgotten::forgotten ? 1 : 0;
    in_progress += verdict == GuardForgotten::in_progress ? 1 : 0;
  }
  if (shell.json()) {
    print(JsonObject().number("forgotten", forgotten).number("in_progress", in_progress).str());
  } else {
    print(plural(forgotten, "record") + " forgotten" +
          (in_progress > 0 ? ", " + std::to_string(in_progress) + " in progress left alone" : ""));
  }
  return exit_ok;
}

void add_record_filter(CLI::App& command, RecordFilter& filter) {
  command.add_option("--name", filter.name, "Only records of this guarded function")->type_name("NAME");
  command.add_option("--status", filter.status, "Only in_progress, completed or failed")->type_name("S");
}

void add_guard_list(Commands& commands, CLI::App& group) {
  struct Options {
    RecordFilter filter;
    std::int64_t limit = 50;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"list", "List records of guarded functions", guard_list_examples}, &group);
  add_record_filter(command, options->filter);
  command.add_option("--key-prefix", options->filter.key_prefix, "Only keys that begin with TEXT")->type_name("TEXT");
  command.add_option("--limit", options->limit, "Print at most N")->type_name("N")->capture_default_str();
  commands.run_with(command, [options](Shell& shell) { return list_records(shell, options->filter, options->limit); });
}

void add_guard_show(Commands& commands, CLI::App& group) {
  struct Options {
    std::string name;
    std::string key;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"show", "Show one record", guard_show_examples}, &group);
  command.add_option("--name", options->name, "Name of the guarded function")->type_name("NAME")->required();
  command.add_option("--key", options->key, "Key of the call, as list shows it")->type_name("KEY")->required();
  commands.run_with(command, [options](Shell& shell) {
    return show_record(shell, {.namespace_name = shell.namespace_name(), .name = options->name, .key = options->key});
  });
}

void add_guard_forget(Commands& commands, CLI::App& group) {
  const auto options = std::make_shared<ForgetOptions>();
  CLI::App& command =
      commands.add({"forget", "Forget records, so that calls may run again", guard_forget_examples}, &group);
  add_record_filter(command, options->filter);
  command.add_option("--key", options->key, "Key to forget; without it, all of --name")->type_name("KEY");
  command.add_flag("--even-in-progress", options->even_in_progress, "Also forget calls in progress");
  command.add_flag("--yes", options->yes, "Do not ask; required without --key in scripts");
  commands.run_with(command, [options](Shell& shell) {
    if (!options->filter.name) { throw BadUsage("say which: --name, and --key for a single record"); }
    if (options->key && options->filter.status) { throw BadUsage("give --key or --status, not both"); }
    return options->key ? forget_one(shell, *options) : forget_many(shell, *options);
  });
}

}  // namespace

void add_guard(Commands& commands) {
  CLI::App& group = commands.add({"guard", "List and forget records of guarded functions", guard_group_examples});
  add_guard_list(commands, group);
  add_guard_show(commands, group);
  add_guard_forget(commands, group);
}

}  // namespace hapax::cli
