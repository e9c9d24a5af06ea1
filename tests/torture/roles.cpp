#include "torture/roles.hpp"

#include <hapax/error.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace hapax::torture {
namespace {

std::atomic<bool> end_asked{false};

void ask_for_end(int) { end_asked.store(true); }

}  // namespace

bool told_to_end() { return end_asked.load(); }

// A file, so that children that are stopped or just starting see it too.
bool told_to_be_quiet(const Options& options) { return ::access((options.folder + "/quiet").c_str(), F_OK) == 0; }

void tell_to_be_quiet(const std::string& folder) {
  std::ofstream file(folder + "/quiet");
  file << "no more work\n";
}

void prepare_child() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1) std::_Exit(0);  // the controller died before the prctl call
  struct sigaction action {};
  action.sa_handler = ask_for_end;
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the controller
}

std::unique_ptr<store::Store> open_patiently(const Options& options) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (true) {
    try {
      return store::open(options.url);
    } catch (const StoreUnavailable&) {
      if (told_to_end() || std::chrono::steady_clock::now() > until) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace hapax::torture
