// The number of this process, as getpid() says it, without its system call: for what every call checks.
#pragma once

#include <sys/types.h>

namespace hapax::base {

// Any thread; right in a child of fork() too, though not in one of a bare clone() or _Fork().
[[nodiscard]] pid_t process_id();

}  // namespace hapax::base
