#include "base/text.hpp"
#include "cli/child_process.hpp"
#include "cli/problem.hpp"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace hapax::cli {
namespace {

bool is_program(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

bool in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_program((folder.empty() ? "." : folder) + "/" + name)) { return true; }
  }
  return false;
}

}  // namespace

Program::Program(std::string command) {
  if (command.find_first_not_of(" \t\n") == std::string::npos) {
    throw BadUsage("--exec is empty; expected a program or a shell command");
  }
  const bool has_blanks = command.find_first_of(" \t\n") != std::string::npos;
  const bool is_path = command.find('/') != std::string::npos;
  if (is_path && is_program(command)) {
    words_ = {std::move(command)};
  } else if (has_blanks) {
    words_ = {"/bin/sh", "-c", std::move(command)};
  } else if (is_path || !in_path(command)) {
    throw MissingFile("no program " + base::quoted(command) + " that can be run" + (is_path ? "" : " in PATH"));
  } else {
    words_ = {std::move(command)};
  }
}

void ChildGroups::add(pid_t group) {
  const std::lock_guard lock(mutex_);
  groups_.insert(group);
}

void ChildGroups::remove(pid_t group) {
  const std::lock_guard lock(mutex_);
  groups_.erase(group);
}

bool ChildGroups::empty() const {
  const std::lock_guard lock(mutex_);
  return groups_.empty();
}

}  // namespace hapax::cli
