#include "server_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace http_bench {

ServerProcess::ServerProcess(const std::string& program, const std::string& store_url, const std::string& log_file) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) { throw std::runtime_error("pipe2 failed"); }
  // The URL is passed in the environment, because it may contain a password.
  std::vector<std::string> arguments = {program, "serve", "--listen", "127.0.0.1:0"};
  const pid_t pid = ::fork();
  if (pid < 0) { throw std::runtime_error("fork failed"); }
  if (pid == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)::setenv("HAPAX_STORE_URL", store_url.c_str(), 1);
    const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (log < 0 || ::dup2(log, STDERR_FILENO) < 0 || ::dup2(ends[1], STDOUT_FILENO) < 0) { ::_exit(127); }
    std::vector<char*> pointers;
    for (std::string& argument : arguments) { pointers.push_back(argument.data()); }
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    ::_exit(127);
  }
  pid_ = pid;
  ::close(ends[1]);
  std::FILE* out = ::fdopen(ends[0], "r");
  std::array<char, 256> line{};
  const bool has_line = out != nullptr && std::fgets(line.data(), static_cast<int>(line.size()), out) != nullptr;
  if (out != nullptr) { std::fclose(out); }
  const std::string said(line.data());
  const std::size_t colon = said.rfind(':');
  if (!has_line || colon == std::string::npos) {
    (void)::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    throw std::runtime_error("hapax serve did not start; see " + log_file);
  }
  port_ = static_cast<std::uint16_t>(std::stoi(said.substr(colon + 1)));
}

ServerProcess::~ServerProcess() {
  if (pid_ < 0) { return; }
  ::kill(pid_, SIGTERM);
  (void)::waitpid(pid_, nullptr, 0);
}

double ServerProcess::cpu_seconds() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string word;
  double ticks = 0;
  // utime and stime are the 14th and 15th field; the 3rd is the first after the name.
  for (int field = 3; field <= 15 && rest >> word; ++field) {
    if (field >= 14) { ticks += std::stod(word); }
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace http_bench
