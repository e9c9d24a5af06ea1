// A terminal taken over for a live picture, and given back as it was.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hapax::cli {

// The other screen, no cursor, keys one by one. The terminal is as before when this ends, when the program is stopped (Ctrl-Z)
// and when it crashes. One at a time, on the main thread; make it before other threads are started, as it takes signals from
// then on. The terminal is taken by enter().
class LiveScreen {
 public:
  enum class Event : std::uint8_t {
    none,   // time was over
    key,    // key() has it
    drawn,  // the picture must be drawn again: another size, or back from Ctrl-Z
    woken,  // wake() was called
    end,    // a signal says so, or the terminal is gone
  };
  // Words for keys that are no letter.
  static constexpr int up = 1001;
  static constexpr int down = 1002;
  static constexpr int home = 1003;
  static constexpr int last = 1004;

  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  void enter();
  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] std::size_t rows() const;
  // From the top; what is left of the screen is emptied.
  void draw(const std::vector<std::string>& lines);
  [[nodiscard]] Event wait(std::chrono::milliseconds at_most);
  [[nodiscard]] int key() const { return key_; }
  // Ends the present wait, or else the next. Any thread.
  void wake() const;
  // Gives the terminal back; the destructor does nothing more.
  void leave();

 private:
  [[nodiscard]] Event take_signal();
  [[nodiscard]] Event read_keys();
  [[nodiscard]] Event next_key();

  int signals_ = -1;
  int wake_ = -1;
  std::string typed_;  // and not asked for yet
  int key_ = 0;
  bool entered_ = false;
};

}  // namespace hapax::cli
