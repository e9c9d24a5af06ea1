// Attempts that fail: retries, snoozes, dead letters and their second chance.
#include <hapax/hapax.hpp>

#include <atomic>
#include <iostream>

using namespace std::chrono_literals;

const hapax::Task<std::string> send_mail{
    "send_mail", {.max_attempts = 3, .retry = hapax::RetryPolicy{.base = 5ms, .cap = 50ms}, .timeout = 5s}};

int main() {
  std::atomic<bool> server_is_up = false;
  auto app = hapax::open("sqlite:mail.db");
  app.handle(send_mail, [&](hapax::TaskContext& ctx, const std::string& to) {
    if (to.find('@') == std::string::npos) {
      throw hapax::Permanent("'" + to + "' is no address");  // another attempt would not help
    }
    if (to == "busy@example.org" && ctx.attempt() == 1) { throw hapax::RetryAfter(1ms, "asked to come back later"); }
    if (to == "down@example.org" && !server_is_up) { throw std::runtime_error("connection refused"); }
  });
  auto worker = app.work({.threads = 2});

  const auto good = app.enqueue(send_mail, "busy@example.org");
  const auto wrong = app.enqueue(send_mail, "nobody");
  const auto down = app.enqueue(send_mail, "down@example.org");
  good.result();
  std::cout << "busy: " << to_string(good.status()) << " after " << app.attempts(good.id()).size() << " attempts\n";
  try {
    wrong.result();
  } catch (const hapax::ExecutionFailed& error) { std::cout << "nobody: " << error.what() << "\n"; }
  std::cout << "down: " << to_string(down.wait()) << " after " << app.attempts(down.id()).size() << " attempts\n";

  const auto dead = app.list({.dead_only = true});
  std::cout << dead.size() << " dead letters\n";
  server_is_up = true;
  const auto second_chance = app.retry(down.id());
  std::cout << "down, run " << second_chance.run() << ": " << to_string(second_chance.wait()) << "\n";
  return dead.size() == 2 && second_chance.status() == hapax::Status::completed ? 0 : 1;
}
