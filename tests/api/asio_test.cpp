#include <hapax/asio.hpp>
#include <hapax/hapax.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace hapax {
namespace {

const Task<int, int> add_one{"add_one"};
const Task<int> nothing{"nothing"};

struct AsioTest : ::testing::Test {
  void SetUp() override {
    app.handle(add_one, [](int number) {
      if (number < 0) { throw Permanent("negative"); }
      return number + 1;
    });
    app.handle(nothing, [](int) {});
  }
  // Declared first, so that it is destroyed last: a thread of the app may still be inside the post that ended its
  // run().
  boost::asio::io_context io;
  App app = open("memory:");
};

TEST_F(AsioTest, CompletesOnTheProgramsOwnThread) {
  auto worker = app.work();
  const auto here = std::this_thread::get_id();
  int result = 0;
  asio::async_enqueue(
      app, add_one, 41, {}, boost::asio::bind_executor(io, [&](const std::exception_ptr& error, Handle<int> handle) {
        EXPECT_FALSE(error);
        EXPECT_EQ(std::this_thread::get_id(), here);
        asio::async_result(handle, boost::asio::bind_executor(io, [&](const std::exception_ptr& failed, int value) {
                             EXPECT_FALSE(failed);
                             EXPECT_EQ(std::this_thread::get_id(), here);
                             result = value;
                           }));
      }));
  io.run();  // returns only when no work is outstanding
  EXPECT_EQ(result, 42);
}

TEST_F(AsioTest, FuturesThrowWhatTheCallWouldHaveThrown) {
  auto worker = app.work();
  auto handle = asio::async_enqueue(app, add_one, -1, {}, boost::asio::use_future).get();
  EXPECT_THROW((void)asio::async_result(handle, boost::asio::use_future).get(), ExecutionFailed);
  auto refused = asio::async_enqueue(app, add_one, 1, {.task_id = ""}, boost::asio::use_future);
  EXPECT_THROW((void)refused.get(), InvalidIdempotencyKey);
  auto none = asio::async_enqueue(app, nothing, 1, {}, boost::asio::use_future).get();
  EXPECT_NO_THROW(asio::async_result(none, boost::asio::use_future).get());
}

}  // namespace
}  // namespace hapax
