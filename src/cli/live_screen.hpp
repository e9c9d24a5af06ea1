// Takes over a terminal for a live view, and restores it.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hapax::cli {

// Shows the alternate screen without a cursor and reads single keys. The terminal is restored at the end, when the
// program is suspended (Ctrl-Z) and when it crashes. One instance at a time, on the main thread. Make it before other
// threads start, because from then on the instance takes the signals; enter() takes over the terminal.
class LiveScreen {
 public:
  enum class Event : std::uint8_t {
    none,   // `at_most` has passed
    key,    // a key was pressed; key() returns it
    drawn,  // the view must be drawn again: another size, or back from Ctrl-Z
    woken,  // wake() was called
    end,    // a signal asks to end, or the terminal is gone
  };
  // Codes of keys that are no characters.
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
  // Draws the lines from the top; clears the rest of the screen.
  void draw(const std::vector<std::string>& lines);
  [[nodiscard]] Event wait(std::chrono::milliseconds at_most);
  [[nodiscard]] int key() const { return key_; }
  // Ends the present wait, or else the next one. Any thread.
  void wake() const;
  // Restores the terminal; the destructor then has nothing left to restore.
  void leave();

 private:
  [[nodiscard]] Event take_signal();
  [[nodiscard]] Event read_keys();
  [[nodiscard]] Event next_key();

  int signals_ = -1;
  int wake_ = -1;
  std::string typed_;  // bytes read that no key() has returned yet
  int key_ = 0;
  bool entered_ = false;
};

}  // namespace hapax::cli
