#include "herd/gate.hpp"

#include "torture/roles.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

namespace hapax::herd {

Gate::Gate(const std::string& folder) {
  const std::string path = folder + "/gate";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw std::system_error(errno, std::generic_category(), path);
  const bool sized = ::ftruncate(file, sizeof(Shared)) == 0;  // zeros in a new file; an existing one keeps its content
  void* memory =
      sized ? ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;  // NOLINT
  const int reason = errno;
  ::close(file);
  if (memory == MAP_FAILED) throw std::system_error(reason, std::generic_category(), path);
  shared_ = static_cast<Shared*>(memory);
}

Gate::~Gate() { ::munmap(shared_, sizeof(Shared)); }

bool Gate::wait() {
  shared_->waiting.fetch_add(1);
  // Waits on a futex, so that waiting processes cost nothing and one call wakes all of them.
  while (shared_->open.load() == 0) {
    if (torture::told_to_end()) return false;
    const timespec at_most{.tv_sec = 0, .tv_nsec = 100'000'000};
    ::syscall(SYS_futex, &shared_->open, FUTEX_WAIT, 0, &at_most, nullptr, 0);
  }
  return true;
}

void Gate::open() {
  shared_->open.store(1);
  ::syscall(SYS_futex, &shared_->open, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace hapax::herd
