#include "herd/stage.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace hapax::herd {
namespace {

std::string make_folder() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/hapax-herd.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  return name;
}

std::string first_lines(const std::string& path) {
  std::ifstream file(path);
  std::string text(400, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Stage::Stage(const Options& options) : options_(options), folder_(make_folder()), random_(options.seed) {
  url_ = "sqlite:" + folder_ + "/herd.db";
  if (options_.store == "postgres") {
    server_.emplace();
    url_ = server_->url() + "?schema=herd_" + std::to_string(::getpid());
  }
  store_ = store::open(url_, {.migrate = store::Migrate::yes});
}

void Stage::cut_connections(int one_in) {
  if (!server_) return;
  findings_.count("connections cut", server_->terminate_backends(one_in));
}

void Stage::close() {
  store_.reset();
  if (findings_.violations() == 0 && !options_.keep) {
    std::filesystem::remove_all(folder_);
  } else {
    std::printf("logs and store are kept in %s\n", folder_.c_str());
  }
}

Scene::Scene(Stage& stage, const std::string& name, const nlohmann::json& plan)
    : stage_(stage), name_(name), folder_(stage.folder() + "/" + name) {
  std::filesystem::create_directory(folder_);
  std::ofstream(folder_ + "/plan") << plan.dump();
  gate_ = std::make_unique<Gate>(folder_);
  child_options_.store = stage.options().store;
  child_options_.seed = stage.options().seed;
  children_ = std::make_unique<torture::Children>(child_options_, stage.url(), folder_);
}

void Scene::note(const std::vector<torture::Ended>& ended) {
  for (const auto& one : ended) {
    if (!one.failed) continue;
    const std::string label = one.child.role + "-" + std::to_string(one.child.number);
    violation(label + " ended with " + one.how + ": " + first_lines(folder_ + "/" + label + ".err"));
  }
}

void Scene::reap() {
  note(children_->reap());
  children_->resume_due(false);
}

bool Scene::wait_until(Duration at_most, const std::function<bool()>& condition) {
  const auto until = torture::Ticks::now() + at_most;
  while (torture::Ticks::now() < until) {
    reap();
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void Scene::wait_for(const std::string& role, Duration at_most) {
  if (wait_until(at_most, [&] { return children_->count(role) == 0; })) return;
  violation(std::to_string(children_->count(role)) + " of role " + role + " got no answer in time");
  end(role);
}

void Scene::end(const std::string& role) {
  for (auto& child : children_->living()) {
    if (child.role == role) children_->terminate(child);
  }
  note(children_->wait_for_end(role, std::chrono::seconds(20)));
}

void Scene::signal(const std::string& name) const { std::ofstream(folder_ + "/" + name) << "go on\n"; }

nlohmann::json read_plan(const std::string& folder) {
  std::ifstream file(folder + "/plan");
  return nlohmann::json::parse(file);
}

bool was_signalled(const std::string& folder, const std::string& name) {
  return ::access((folder + "/" + name).c_str(), F_OK) == 0;
}

std::int64_t ticks() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace hapax::herd
