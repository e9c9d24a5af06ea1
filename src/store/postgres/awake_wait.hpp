// AwakeWait: looking for an answer that will be there in a moment, before the thread sleeps.
//
// On one machine with its server, the caller of a single small commit sleeps for a few hundred microseconds, and so does
// its processor; waking both, and the server's for the next request, takes as long as the server's work. So such a caller
// looks again and again for a moment, and leaves the processor to whoever wants it between two looks
// (docs/decisions/0037). At most one thread of a process does, none where there is a single processor. Where answers do
// not come in time, as from a server far away, it is tried ever more rarely.
#pragma once

#include <chrono>

namespace hapax::store::postgres {

// Of one connection, and used by its thread.
class AwakeWait {
 public:
  // Whether there is something to read. False: the caller may as well sleep.
  [[nodiscard]] bool look(int socket);

 private:
  static constexpr std::chrono::microseconds at_most{500};
  static constexpr int longest_pause = 255;

  int pause_ = 0;       // calls to leave out after one that was in vain
  int pause_left_ = 0;  // of those
};

}  // namespace hapax::store::postgres
