// hapax in an Asio program: nothing blocks the event loop, and completions run on it.
#include <hapax/asio.hpp>
#include <hapax/hapax.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>

const hapax::Task<int, int> square{"square"};

int main() {
  auto app = hapax::open("sqlite:squares.db");
  app.handle(square, [](int number) { return number * number; });
  auto worker = app.work({.threads = 2});

  boost::asio::io_context io;
  int sum = 0;
  for (int number = 1; number <= 10; ++number) {
    hapax::asio::async_enqueue(app, square, number, {},
                               boost::asio::bind_executor(io, [&](std::exception_ptr error, hapax::Handle<int> handle) {
                                 if (error) { std::rethrow_exception(error); }
                                 hapax::asio::async_result(
                                     handle, boost::asio::bind_executor(io, [&](std::exception_ptr failed, int result) {
                                       if (failed) { std::rethrow_exception(failed); }
                                       sum += result;
                                     }));
                               }));
  }
  io.run();  // returns when all results have arrived
  std::cout << "1 + 4 + … + 100 = " << sum << "\n";
  return sum == 385 ? 0 : 1;
}
