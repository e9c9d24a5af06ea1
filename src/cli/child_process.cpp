#include "cli/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace hapax::cli {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void fail(int error, const char* what) { throw std::system_error(error, std::generic_category(), what); }

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool open() const { return number_ >= 0; }
  void close() {
    if (number_ >= 0) { ::close(std::exchange(number_, -1)); }
  }

 private:
  int number_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) { fail(errno, "pipe"); }
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

void make_nonblocking(const Descriptor& descriptor) {
  const int flags = fcntl(descriptor.get(), F_GETFL);
  fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) { all.push_back(text.data()); }
  all.push_back(nullptr);
  return all;
}

struct SpawnPlan {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

pid_t spawn(const ChildRequest& request, const Descriptor& in, const Descriptor& out, const Descriptor& err) {
  SpawnPlan plan;
  posix_spawn_file_actions_adddup2(&plan.actions, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, err.get(), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, STDERR_FILENO + 1);
  // The child gets a process group of its own: Ctrl-C on the terminal then reaches only the worker, and stopping the
  // group also stops the processes that the program started.
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes,
                           static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::vector<std::string> words = request.program.words();
  std::vector<std::string> environment = request.environment;
  pid_t pid = 0;
  int error = posix_spawnp(&pid, words.front().c_str(), &plan.actions, &plan.attributes, pointers(words).data(),
                           pointers(environment).data());
  if (error == ENOEXEC) {  // a script without #!
    words.insert(words.begin(), "/bin/sh");
    error = posix_spawnp(&pid, "/bin/sh", &plan.actions, &plan.attributes, pointers(words).data(),
                         pointers(environment).data());
  }
  if (error != 0) { fail(error, words.front().c_str()); }
  return pid;
}

// Runs one child from start to end, on one thread.
class Child {
 public:
  Child(const ChildRequest& request, ChildGroups& groups) : request_(request), groups_(groups), input_(request.input) {
    Pipe in;
    Pipe out;
    Pipe err;
    wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    pid_ = spawn(request, in.read, out.write, err.write);
    groups_.add(pid_);
    in_ = std::move(in.write);
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    make_nonblocking(in_);
    make_nonblocking(out_);
    make_nonblocking(err_);
    // The pidfd becomes readable when the child ends. Without one (an old kernel), wait() looks every 5 ms.
    ended_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  }

  ~Child() { groups_.remove(pid_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ChildResult run() {
    const std::stop_callback stop(request_.stop, [this] {
      const std::uint64_t one = 1;
      (void)!write(wake_.get(), &one, sizeof one);
    });
    const Steady::time_point begun = Steady::now();
    if (request_.timeout) { stop_at_ = begun + *request_.timeout; }
    while (!reap()) {
      wait();
      send();
      receive_output();
      receive_error();
      stop_if_due();
    }
    // The pipes now hold everything that the child wrote. Other processes may still have the pipes open; run() does not
    // wait for them.
    receive_output();
    receive_error();
    if (asked_) { kill(-pid_, SIGKILL); }
    if (error_.size() > request_.error_bytes) { error_.erase(0, error_.size() - request_.error_bytes); }
    result_.error_tail = std::move(error_);
    return std::move(result_);
  }

 private:
  bool reap() {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) { return false; }
    if (got < 0) {
      result_.signal = SIGKILL;  // the child was reaped elsewhere: how it ended is unknown
    } else if (WIFEXITED(status)) {
      result_.exit_status = WEXITSTATUS(status);
    } else {
      result_.signal = WTERMSIG(status);
    }
    return true;
  }

  void wait() {
    std::array<pollfd, 5> polled{pollfd{in_.get(), POLLOUT, 0}, pollfd{out_.get(), POLLIN, 0},
                                 pollfd{err_.get(), POLLIN, 0}, pollfd{ended_.get(), POLLIN, 0},
                                 pollfd{asked_ ? -1 : wake_.get(), POLLIN, 0}};
    using std::chrono::milliseconds;
    milliseconds timeout = ended_.open() ? milliseconds(1000) : milliseconds(5);
    const std::optional<Steady::time_point> next = asked_ ? kill_at_ : stop_at_;
    if (next) {
      const auto left = std::chrono::ceil<milliseconds>(*next - Steady::now());
      timeout = std::clamp(left, milliseconds(0), timeout);
    }
    poll(polled.data(), polled.size(), static_cast<int>(timeout.count()));
  }

  void send() {
    while (in_.open() && !input_.empty()) {
      const ssize_t sent = write(in_.get(), input_.data(), input_.size());
      if (sent < 0) {
        if (errno != EAGAIN && errno != EINTR) {
          in_.close();  // EPIPE: a program need not read its input
        }
        return;
      }
      input_.remove_prefix(static_cast<std::size_t>(sent));
    }
    if (input_.empty()) { in_.close(); }
  }

  // Reads the bytes available now. The bound on turns keeps a child that never stops writing from starving the other
  // work of the loop.
  template <class Take>
  void receive(Descriptor& from, Take take) {
    std::array<char, 1 << 16> buffer{};
    for (int turn = 0; from.open() && turn < 64; ++turn) {
      const ssize_t got = read(from.get(), buffer.data(), buffer.size());
      if (got > 0) {
        take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        from.close();
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  void receive_output() {
    receive(out_, [this](std::string_view bytes) {
      const std::size_t room = request_.output_bytes - result_.output.size();
      result_.output_cut = result_.output_cut || bytes.size() > room;
      result_.output.append(bytes.substr(0, room));
    });
  }

  void receive_error() {
    receive(err_, [this](std::string_view bytes) {
      error_.append(bytes);
      if (error_.size() > 4 * request_.error_bytes) { error_.erase(0, error_.size() - request_.error_bytes); }
    });
  }

  void stop_if_due() {
    const Steady::time_point now = Steady::now();
    if (!asked_) {
      result_.timed_out = stop_at_ && now >= *stop_at_;
      if (result_.timed_out || request_.stop.stop_requested()) {
        asked_ = true;
        kill_at_ = now + request_.kill_after;
        kill(-pid_, SIGTERM);
        kill(-pid_, SIGCONT);  // a suspended program could not act on SIGTERM
      }
    } else if (kill_at_ && now >= *kill_at_) {
      kill(-pid_, SIGKILL);
      kill_at_.reset();
    }
  }

  const ChildRequest& request_;
  ChildGroups& groups_;
  std::string_view input_;
  pid_t pid_ = 0;
  Descriptor in_;
  Descriptor out_;
  Descriptor err_;
  Descriptor wake_;
  Descriptor ended_;
  bool asked_ = false;
  std::optional<Steady::time_point> stop_at_;
  std::optional<Steady::time_point> kill_at_;
  std::string error_;
  ChildResult result_;
};

}  // namespace

void ChildGroups::signal(int number) {
  const std::lock_guard lock(mutex_);
  for (const pid_t group : groups_) { kill(-group, number); }
}

ChildResult run_child(const ChildRequest& request, ChildGroups& groups) { return Child(request, groups).run(); }

}  // namespace hapax::cli
