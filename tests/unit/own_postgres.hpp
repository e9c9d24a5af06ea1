// A PostgreSQL server for one test, which may stop, kill and hang it.
#pragma once

#include "unit/postgres_fixture.hpp"

#include <sys/types.h>
#include <csignal>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace hapax::store {

class OwnServer {
 public:
  OwnServer() {
    folder_ = output("create");
    url_ = output("url " + folder_);
  }
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;
  ~OwnServer() {
    thaw();
    output("remove " + folder_);
  }
  void stop_immediately() { output("stop " + folder_ + " immediate"); }
  void start() { output("start " + folder_); }
  // Starts as a standby and is promoted, so it continues on the next timeline.
  void start_promoted() {
    std::ofstream(folder_ + "/data/standby.signal").close();
    start();
    (void)Psql(url_).run("SELECT pg_promote(true, 60)");
  }
  void stop() { output("stop " + folder_ + " fast"); }
  void start_pgbouncer() { output("pgbouncer " + folder_); }
  [[nodiscard]] const std::string& url() const { return url_; }
  // The URL has prepared=off.
  [[nodiscard]] std::string pgbouncer_url() const { return output("pgbouncer-url " + folder_); }
  // "127.0.0.1:5432"
  [[nodiscard]] std::string address() const {
    const std::size_t at = url_.find('@') + 1;
    return url_.substr(at, url_.find('/', at) - at);
  }
  // Stops the postmaster and all its processes; the kernel still accepts connections.
  void freeze() {
    frozen_ = processes();
    for (const pid_t process : frozen_) { kill(process, SIGSTOP); }
  }
  void thaw() {
    for (const pid_t process : frozen_) { kill(process, SIGCONT); }
    frozen_.clear();
  }

 private:
  [[nodiscard]] std::vector<pid_t> processes() const {
    pid_t postmaster = 0;
    std::ifstream(folder_ + "/data/postmaster.pid") >> postmaster;
    std::vector<pid_t> found;
    if (postmaster <= 1) { return found; }
    found.push_back(postmaster);
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t process = std::atoi(entry.path().filename().c_str());
      std::ifstream file(entry.path() / "stat");
      std::string text;
      if (process <= 1 || !std::getline(file, text)) { continue; }
      // "pid (name) state parent …"; the name may contain spaces.
      const std::size_t end = text.rfind(')');
      if (end != std::string::npos && end + 4 < text.size() && std::atoi(text.c_str() + end + 4) == postmaster) {
        found.push_back(process);
      }
    }
    return found;
  }
  static std::string output(const std::string& arguments) {
    const std::string script = environment("HAPAX_TEST_POSTGRES_CONTROL");
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((script + " " + arguments).c_str(), "r"), &pclose);
    std::string text;
    std::array<char, 256> buffer{};
    while (pipe != nullptr && fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) { text += buffer.data(); }
    while (!text.empty() && text.back() == '\n') { text.pop_back(); }
    return text;
  }
  std::string folder_;
  std::string url_;
  std::vector<pid_t> frozen_;
};

}  // namespace hapax::store
