#include "base/process.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace hapax::base {
namespace {

TEST(Process, IsTheSystemsNumberAlsoInAChild) {
  EXPECT_EQ(process_id(), ::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) { ::_exit(process_id() == ::getpid() ? 0 : 1); }
    int status = 1;
    const bool waited = ::waitpid(grandchild, &status, 0) == grandchild;
    ::_exit(waited && status == 0 && process_id() == ::getpid() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(process_id(), ::getpid());
}

}  // namespace
}  // namespace hapax::base
