// SpinWait: polls for an answer for a moment before the thread sleeps.
//
// With client and server on one machine, the caller of a single small commit sleeps for a few hundred microseconds, and
// its processor sleeps too. Waking that processor, and the server's for the next request, takes as long as the server's
// work. So such a caller polls its socket for up to 0.5 ms and yields the processor between two polls (decision 37). At
// most one thread of a process polls; none does on a single processor. After polls without an answer, as with a remote
// server, the thread polls ever more rarely.
#pragma once

#include <chrono>

namespace hapax::store::postgres {

// Belongs to one connection and is used by its thread.
class SpinWait {
 public:
  // Whether there is something to read. If not, the caller sleeps.
  [[nodiscard]] bool poll_briefly(int socket);

 private:
  static constexpr std::chrono::microseconds at_most{500};
  static constexpr int longest_pause = 255;

  int pause_ = 0;       // calls to skip after a poll without an answer
  int pause_left_ = 0;  // of these, how many are left
};

}  // namespace hapax::store::postgres
