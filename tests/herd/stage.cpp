#include "herd/stage.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace hapax::herd {
Stage::Stage(const Options& options)
    : options_(options), place_(torture::make_place(options.store, "herd")), random_(options.seed) {
  store_ = store::open(place_.url, {.migrate = store::Migrate::yes});
}

void Stage::cut_connections(int one_in) {
  if (!place_.server) return;
  findings_.count("connections cut", place_.server->terminate_backends(one_in));
}

void Stage::close() {
  store_.reset();
  if (findings_.violations() == 0 && !options_.keep) {
    std::filesystem::remove_all(place_.folder);
  } else {
    std::printf("logs and store are kept in %s\n", place_.folder.c_str());
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
    violation(label + " ended with " + one.how + ": " + torture::first_lines(folder_ + "/" + label + ".err"));
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
