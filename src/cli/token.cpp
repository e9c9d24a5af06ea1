#include "app/operations.hpp"
#include "app/tokens/secret.hpp"
#include "app/tokens/token_file.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/secret_file.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "model/validate.hpp"

namespace hapax::cli {
namespace {

constexpr const char* token_group_examples =
    "A server requires a token as soon as one exists in its store, or with\n"
    "--token-file. Each token belongs to one namespace. Scopes: enqueue (start\n"
    "executions, send events and signals), read (read everything, payloads included),\n"
    "work (claim and finish), admin (everything, the other scopes included).\n"
    "\n"
    "Examples:\n"
    "  hapax token create --scopes enqueue,read --namespace shop --name billing\n"
    "  hapax token list --namespace shop\n"
    "  hapax token revoke billing --namespace shop";

constexpr const char* create_examples =
    "Prints the secret, alone on a line, this one time: only its hash is kept.\n"
    "With --json:\n"
    "{\"token\",\"id\",\"name\",\"namespace\",\"scopes\",\"created_at\",\"expires_at\"}.\n"
    "With --file the token is written to that file, for `hapax serve --token-file`,\n"
    "and no store is opened.\n"
    "\n"
    "Examples:\n"
    "  hapax token create --scopes enqueue,read --name billing > billing.token\n"
    "  hapax token create --scopes work --expires never --file /etc/hapax/tokens";

constexpr const char* revoke_examples =
    "Revokes a token by its ID, or by its name if only one good token has it. Servers\n"
    "accept the token for 5 seconds more at most. To revoke a token in a file, delete\n"
    "its line.\n"
    "\n"
    "Exit codes: 0 revoked; 64 several tokens have the name; 66 there is none, or it\n"
    "was revoked already.";

struct CreateOptions {
  std::string scopes;
  std::string expires = "90d";
  std::string name;
  std::string file;
};

std::string scopes_json(model::Scopes scopes) {
  std::vector<std::string> names;
  for (const std::string_view name : model::scope_names(scopes)) { names.emplace_back(name); }
  return json_text_array(names);
}

JsonObject token_json(const model::Token& token) {
  JsonObject object;
  object.text("id", token.id.to_string())
      .text_or_null("name", token.name)
      .text("namespace", token.namespace_name)
      .raw("scopes", scopes_json(token.scopes))
      .time("created_at", token.created_at)
      .time("expires_at", token.expires_at);
  return object;
}

std::optional<Duration> parse_life(const std::string& text) {
  if (text == "never") { return std::nullopt; }
  const Duration life = parse_duration(text, "--expires");
  if (life <= Duration::zero() || life > limits::delay_max) {
    throw InvalidArgument("--expires", base::quoted(text) + " is out of range; expected never, or up to " +
                                           format_duration(limits::delay_max) + ", such as 90d");
  }
  return life;
}

model::Token keep_in_file(const model::NewToken& made, const std::string& path) {
  const base::SystemClock clock;
  model::Token token{.id = made.id,
                     .namespace_name = made.namespace_name,
                     .name = made.name,
                     .hash = made.hash,
                     .scopes = made.scopes,
                     .created_at = clock.now(),
                     .created_by = command_line_actor()};
  if (made.expires_in) { token.expires_at = token.created_at + *made.expires_in; }
  base::append_secret_line(path, auth::token_line(token));
  return token;
}

model::Token keep_in_store(Shell& shell, const model::NewToken& made) {
  shell.when_store_is_missing(MissingStore::make);
  engine::Engine engine(shell.shared_store());
  return app::Operations(engine, made.namespace_name, {command_line_actor()}).add_token(made);
}

int create(Shell& shell, const CreateOptions& options) {
  model::NewToken made;
  made.scopes = model::parse_scopes(options.scopes);
  made.expires_in = parse_life(options.expires);
  made.namespace_name = shell.namespace_name();
  made.name = options.name;
  if (!made.name.empty()) { model::check_name(made.name, "name"); }
  made.id = base::new_uuid7();
  base::SystemRandom random;
  const auth::Secret secret = auth::new_secret(random);
  made.hash = secret.hash;
  const model::Token token = options.file.empty() ? keep_in_store(shell, made) : keep_in_file(made, options.file);
  if (shell.json()) {
    std::string text = JsonObject().text("token", secret.text).str();
    text.pop_back();
    print(text + token_json(token).tail() + "}");
  } else {
    print(secret.text);
  }
  return exit_ok;
}

std::string state_of(const model::Token& token, Time now) {
  if (token.revoked_at) { return "revoked"; }
  return token.is_good(now) ? "good" : "expired";
}

int list(Shell& shell, bool all) {
  const Time now = shell.store().now();
  std::vector<model::Token> tokens = shell.store().tokens(shell.namespace_name());
  if (!all) {
    std::erase_if(tokens, [now](const model::Token& token) { return !token.is_good(now); });
  }
  if (shell.json()) {
    std::vector<std::string> items;
    for (const model::Token& token : tokens) {
      JsonObject object = token_json(token);
      object.text("created_by", token.created_by)
          .time("revoked_at", token.revoked_at)
          .time("last_used_at", token.last_used_at)
          .text("state", state_of(token, now));
      items.push_back(object.str());
    }
    print(json_array(items));
    return exit_ok;
  }
  Table table({{.title = "ID", .whole = true},
               {.title = "NAME", .widest = 40},
               {.title = "SCOPES", .folds = true},
               {.title = "STATE"},
               {.title = "EXPIRES"},
               {.title = "LAST USED"},
               {.title = "BY", .folds = true}});
  for (const model::Token& token : tokens) {
    const std::string state = state_of(token, now);
    table.add({token.id.to_string(), token.name.empty() ? "-" : token.name, model::to_string(token.scopes),
               Cell(state, state == "good" ? Style::plain : Style::dim),
               token.expires_at ? when(*token.expires_at, now) : "never",
               token.last_used_at ? when(*token.last_used_at, now) : "never", token.created_by});
  }
  table.print(all ? "no tokens" : "no good tokens (--all shows the others)");
  return exit_ok;
}

int revoke(Shell& shell, const std::string& named) {
  engine::Engine engine(shell.shared_store());
  const model::Token token =
      app::Operations(engine, shell.namespace_name(), {command_line_actor()}).revoke_token(named);
  if (shell.json()) {
    print(JsonObject().text("revoked", token.id.to_string()).text_or_null("name", token.name).str());
  } else {
    print("revoked " + base::printable(token.actor()));
  }
  return exit_ok;
}

}  // namespace

void add_token(Commands& commands) {
  CLI::App& group = commands.add({"token", "Create, list and revoke tokens of the API", token_group_examples});

  const auto options = std::make_shared<CreateOptions>();
  CLI::App& made = commands.add({"create", "Make a token and print its secret, once", create_examples}, &group);
  made.add_option("--scopes", options->scopes, "Scopes: enqueue, read, work, admin")->type_name("S,S…")->required();
  made.add_option("--expires", options->expires, "Lifetime of the token: 90d, 12h, or never")
      ->type_name("D")
      ->capture_default_str();
  made.add_option("--name", options->name, "Label for lists and the audit")->type_name("L");
  made.add_option("--file", options->file, "Write the token to this file, not the store")->type_name("F");
  commands.run_with(made, [options](Shell& shell) { return create(shell, *options); });

  const auto all = std::make_shared<bool>(false);
  CLI::App& listed = commands.add({"list", "List the namespace's tokens, without secrets", ""}, &group);
  listed.add_flag("--all", *all, "Also list revoked and expired tokens");
  commands.run_with(listed, [all](Shell& shell) { return list(shell, *all); });

  const auto named = std::make_shared<std::string>();
  CLI::App& gone = commands.add({"revoke", "Revoke a token", revoke_examples}, &group);
  gone.add_option("token", *named, "ID or name of the token")->type_name("ID|NAME")->required();
  commands.run_with(gone, [named](Shell& shell) { return revoke(shell, *named); });
}

}  // namespace hapax::cli
