// A Redis server for one test, and a guard on it.
#pragma once

#include <hapax/error.hpp>
#include <hapax/guard.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

namespace hapax::guard_tests {

inline std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) { throw std::runtime_error("popen: " + command); }
  std::string text;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) { text += buffer.data(); }
  if (pclose(pipe) != 0) { throw std::runtime_error("failed: " + command); }
  while (!text.empty() && text.back() == '\n') { text.pop_back(); }
  return text;
}

inline const std::string redis_script = std::string(HAPAX_SCRIPTS) + "/test_redis.sh";

// A server that the test starts and stops.
class OwnRedis {
 public:
  explicit OwnRedis(const std::string& settings = "") : folder_(output_of(redis_script + " create " + settings)) {}
  OwnRedis(const OwnRedis&) = delete;
  OwnRedis& operator=(const OwnRedis&) = delete;
  ~OwnRedis() { output_of(redis_script + " remove " + folder_); }

  void stop() { output_of(redis_script + " stop " + folder_); }
  void start() { output_of(redis_script + " start " + folder_); }
  void signal(int number) {
    std::ifstream file(folder_ + "/pid");
    pid_t pid = 0;
    ASSERT_TRUE(file >> pid);
    ASSERT_EQ(kill(pid, number), 0);
  }
  std::string command(const std::string& words) {
    return output_of("redis-cli -s " + folder_ + "/redis.sock " + words + " 2>/dev/null");
  }
  [[nodiscard]] std::string socket() const { return folder_ + "/redis.sock"; }
  [[nodiscard]] std::string url(const std::string& user = "", const std::string& timeout = "2s") const {
    return "redis+unix://" + user + folder_ + "/redis.sock?timeout=" + timeout + "&connect_timeout=" + timeout;
  }

 private:
  const std::string folder_;
};

class RedisTest : public testing::Test {
 protected:
  // A guard on the server; the function counts its runs.
  auto guarded(const GuardStorePtr& store, OnStoreError on_store_error = OnStoreError::fail) {
    GuardOptions options;
    options.store = store;
    options.on_store_error = on_store_error;
    return idempotent("count", options, [this](int) { return ++runs_; });
  }

  // Returns the error's text, and expects the error within the time limit.
  template <class Function>
  std::string failure(const Function& function) {
    const auto began = std::chrono::steady_clock::now();
    std::string text = "nothing was thrown";
    try {
      (void)function();
    } catch (const StoreUnavailable& error) { text = error.what(); }
    // The timeout is at most 2 s; the rest allows for a slow machine.
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
    return text;
  }

  std::atomic<int> runs_ = 0;
};

}  // namespace hapax::guard_tests
