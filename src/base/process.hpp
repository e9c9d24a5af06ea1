// The ID of this process: getpid() without its system call, for checks that every call makes.
#pragma once

#include <sys/types.h>

namespace hapax::base {

// Any thread. Correct in a child of fork(), but not in a child of a bare clone() or _Fork().
[[nodiscard]] pid_t process_id();

}  // namespace hapax::base
