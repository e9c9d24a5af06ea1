#include "cli/shell.hpp"

#include <hapax/app.hpp>

#include "base/text.hpp"
#include "engine/app_state.hpp"
#include "engine/engine.hpp"
#include "engine/overdue.hpp"
#include "model/validate.hpp"
#include "schedule/configured.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace hapax::cli {
namespace {

constexpr const char* usual_path = "hapax.toml";

bool is_absent(const std::string& path) { return access(path.c_str(), F_OK) != 0; }

std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(geteuid());
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

std::string user_at_host() { return base::printable(user_name() + "@" + host_name()); }

}  // namespace

std::string command_line_actor() { return "command line (" + user_at_host() + ")"; }

Shell::Shell(CommonOptions options) : options_(std::move(options)) {
  if (!options_.ns.empty()) { model::check_name(options_.ns, "namespace"); }
}

void Shell::name_configuration(const std::string& path) {
  if (!path.empty()) { options_.config = path; }
}

std::string Shell::config_path() const {
  if (!options_.config.empty()) {
    if (is_absent(options_.config)) {
      throw MissingFile("cannot read " + options_.config + ": " + std::strerror(errno));
    }
    return options_.config;
  }
  const char* variable = std::getenv("HAPAX_CONFIG");
  if (variable != nullptr && *variable != '\0') {
    if (is_absent(variable)) {
      throw ConfigurationError("HAPAX_CONFIG: cannot read " + std::string(variable) + ": " + std::strerror(errno));
    }
    return variable;
  }
  return is_absent(usual_path) ? "" : usual_path;
}

const config::Config& Shell::configuration() const {
  if (!configuration_) {
    configuration_ = config::require_good(schedule::read_configuration(config_path(), config::process_environment()));
  }
  return *configuration_;
}

const std::string& Shell::ns() const {
  if (ns_.empty()) { ns_ = options_.ns.empty() ? configuration().ns.value_or("default") : options_.ns; }
  return ns_;
}

const std::string& Shell::store_url() const {
  if (store_url_.empty()) {
    store_url_ = options_.store.empty() ? configuration().store_url.value_or("sqlite:hapax.db") : options_.store;
  }
  return store_url_;
}

void Shell::use_configuration() {
  const config::Config& configuration_now = configuration();
  const std::string from = configuration_now.path.empty() ? "the environment" : configuration_now.path;
  engine::Engine engine(shared_store());
  schedule::apply_configuration_at_start(engine, ns(), configuration_now,
                                         "start with " + from + " (" + user_at_host() + ")");
}

std::shared_ptr<store::Store> Shell::shared_store() {
  if (!store_) {
    // Also when neither URL nor namespace is asked of it: a program does not start with a bad configuration.
    const config::Config& checked = configuration();
    try {
      const store::OpenOptions options{.encryption_key_file = checked.encryption_key_file.value_or("")};
      store_ = with_store_url(store_url(), [&options](const std::string& url) { return store::open(url, options); });
    } catch (const ConfigurationError& error) {
      const std::string source = options_.store.empty() ? checked.source_of("store.url") : "";
      if (source.empty()) { throw; }
      throw ConfigurationError(source + ": " + error.what());
    }
  }
  return store_;
}

store::Store& Shell::store() { return *shared_store(); }

App Shell::app() {
  return App(std::make_shared<hapax::detail::AppState>(std::make_shared<engine::Engine>(shared_store()), ns(),
                                                       command_line_actor()));
}

model::QueueRef Shell::queue(const std::string& name) const {
  model::check_name(name, "queue");
  return {.ns = ns(), .name = name};
}

model::Execution Shell::find(const Uuid& id) {
  std::optional<model::Execution> found = store().get(id);
  if (!found || found->queue.ns != ns()) {
    throw NotFound("no execution " + id.to_string() + " in namespace '" + ns() + "'");
  }
  // What has passed its deadline is told as timed out, also where no worker is there to end it.
  if (found->deadline && !is_terminal(found->status) && engine::end_if_overdue(store(), id)) {
    found = store().get(id);
    if (!found) { throw NotFound("execution " + id.to_string() + " is not kept any more"); }
  }
  return std::move(*found);
}

}  // namespace hapax::cli
