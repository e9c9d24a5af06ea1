#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

// If standard streams are closed at start, /dev/null takes their numbers. Otherwise the store's files would get them,
// and messages would be written into the store.
void open_standard_streams() {
  int descriptor = 0;
  do { descriptor = open("/dev/null", O_RDWR); } while (descriptor >= 0 && descriptor <= 2);
  if (descriptor > 2) { close(descriptor); }
}

// `hapax help queue set` is `hapax queue set --help`.
void spell_help(std::vector<char*>& words) {
  static char flag[] = "--help";
  if (words.size() < 2 || std::string_view(words[1]) != "help") { return; }
  words.erase(words.begin() + 1);
  if (words.size() == 2 && std::string_view(words[1]) == "help") { words.pop_back(); }
  words.push_back(flag);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hapax::cli;
  open_standard_streams();
  // Makes a write over the file size limit fail like a write to a full disk, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  Commands commands;
  add_serve(commands);
  add_enqueue(commands);
  add_start(commands);
  add_signal(commands);
  add_work(commands);
  add_list(commands);
  add_show(commands);
  add_wait(commands);
  add_cancel(commands);
  add_retry(commands);
  add_explain(commands);
  add_guard(commands);
  add_journal(commands);
  add_identity(commands);
  add_activity(commands);
  add_event(commands);
  add_queue(commands);
  add_dlq(commands);
  add_config(commands);
  add_token(commands);
  add_audit(commands);
  add_migrate(commands);
  add_cleanup(commands);
  add_sql(commands);
  add_doctor(commands);
  add_top(commands);
  add_bench(commands);
  add_completion(commands);
  add_version(commands);
  std::vector<char*> words(argv, argv + argc);
  spell_help(words);
  const int status = commands.run(static_cast<int>(words.size()), words.data());
  // Output that could not be written (a full disk) must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fputs("OutputError: standard output could not be written\n", stderr);
    return status == exit_ok ? exit_store : status;
  }
  return status;
}
