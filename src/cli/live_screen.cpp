#include "cli/live_screen.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace hapax::cli {
namespace {

// The alternate screen, no cursor, no wrapping of long lines.
constexpr std::string_view enter_text = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
constexpr std::string_view leave_text = "\033[?7h\033[?25h\033[0m\033[?1049l";

// These are globals, because the crash handler uses them.
termios settings_before{};
volatile sig_atomic_t taken = 0;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) { continue; }
    if (written < 0 && errno == EAGAIN) {
      pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      if (poll(&out, 1, 1000) > 0) { continue; }
    }
    if (written <= 0) { return; }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void give_back() {
  if (taken == 0) { return; }
  taken = 0;
  write_all(leave_text);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &settings_before);
}

void on_crash(int number) {
  give_back();
  raise(number);  // SA_RESETHAND has restored the default handler
}

}  // namespace

LiveScreen::LiveScreen() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) { sigaddset(&set, number); }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction crash {};
  crash.sa_handler = on_crash;
  crash.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) { sigaction(number, &crash, nullptr); }
  tcgetattr(STDIN_FILENO, &settings_before);
}

LiveScreen::~LiveScreen() {
  leave();
  close(signals_);
  close(wake_);
}

void LiveScreen::enter() {
  termios settings = settings_before;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z stay signals
  settings.c_cc[VMIN] = 0;
  settings.c_cc[VTIME] = 0;
  taken = 1;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
  write_all(enter_text);
  entered_ = true;
}

void LiveScreen::leave() {
  if (entered_) { give_back(); }
  entered_ = false;
}

std::size_t LiveScreen::columns() const {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::size_t LiveScreen::rows() const {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  std::string picture = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) { picture += (i == 0 ? "" : "\r\n") + lines[i] + "\033[0m\033[K"; }
  write_all(picture + "\033[J");
}

void LiveScreen::wake() const {
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);
}

LiveScreen::Event LiveScreen::wait(std::chrono::milliseconds at_most) {
  if (!typed_.empty()) { return next_key(); }
  std::array<pollfd, 3> all = {pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                               pollfd{.fd = signals_, .events = POLLIN, .revents = 0},
                               pollfd{.fd = wake_, .events = POLLIN, .revents = 0}};
  const auto limit = std::clamp<std::int64_t>(at_most.count(), 0, 3'600'000);
  if (poll(all.data(), all.size(), static_cast<int>(limit)) <= 0) { return Event::none; }
  if ((all[1].revents & POLLIN) != 0) { return take_signal(); }
  if ((all[0].revents & POLLIN) != 0) { return read_keys(); }
  if ((all[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) { return Event::end; }
  std::uint64_t count = 0;
  (void)!read(wake_, &count, sizeof count);
  return Event::woken;
}

LiveScreen::Event LiveScreen::take_signal() {
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != sizeof info) { return Event::none; }
  switch (info.ssi_signo) {
    case SIGWINCH:
    case SIGCONT: return Event::drawn;
    case SIGTSTP:
      leave();
      kill(getpid(), SIGSTOP);
      enter();  // continued by SIGCONT
      return Event::drawn;
    default: return Event::end;
  }
}

LiveScreen::Event LiveScreen::read_keys() {
  std::array<char, 64> bytes{};
  const ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got <= 0) { return got == 0 ? Event::end : Event::none; }
  typed_.append(bytes.data(), static_cast<std::size_t>(got));
  return next_key();
}

// Arrow keys arrive as several bytes in one read.
LiveScreen::Event LiveScreen::next_key() {
  struct Sequence {
    std::string_view text;
    int key;
  };
  static constexpr std::array<Sequence, 10> sequences = {{{"\033[A", up},
                                                          {"\033OA", up},
                                                          {"\033[B", down},
                                                          {"\033OB", down},
                                                          {"\033[H", home},
                                                          {"\033OH", home},
                                                          {"\033[1~", home},
                                                          {"\033[F", last},
                                                          {"\033OF", last},
                                                          {"\033[4~", last}}};
  for (const Sequence& sequence : sequences) {
    if (typed_.starts_with(sequence.text)) {
      key_ = sequence.key;
      typed_.erase(0, sequence.text.size());
      return Event::key;
    }
  }
  key_ = static_cast<unsigned char>(typed_.front());
  if (typed_.front() == '\033') {
    typed_.clear();  // an unknown sequence
  } else {
    typed_.erase(0, 1);
  }
  return Event::key;
}

}  // namespace hapax::cli
