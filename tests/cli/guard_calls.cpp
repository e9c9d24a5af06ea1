// guard_calls STORE NAME KEY completed|failed|unlocked|held [RESULT]: makes one record, as a guarded call would.
//
// Makes records for the tests of `hapax guard`. "held" leaves the record in progress, as a killed process does.
#include <hapax/error.hpp>
#include <hapax/guard_store.hpp>

#include <iostream>
#include <string>

int main(int count, char** arguments) {
  if (count < 5) {
    std::cerr << "usage: guard_calls STORE NAME KEY completed|failed|unlocked|held [RESULT]\n";
    return 64;
  }
  const std::string end = arguments[4];
  try {
    const hapax::GuardStorePtr store = hapax::open_guard_store(arguments[1]);
    hapax::GuardBegin request;
    request.key = {.name = arguments[2], .key = arguments[3]};
    request.owner = "tests:1";
    const hapax::GuardAnswer answer = store->begin(request);
    if (answer.begun != hapax::GuardBegun::started) { return 3; }
    if (end == "held") { return 0; }
    hapax::GuardFinish finish;
    finish.end = end == "completed" ? hapax::GuardEnd::completed
                 : end == "failed"  ? hapax::GuardEnd::failed
                                    : hapax::GuardEnd::unlocked;
    finish.result = count > 5 ? arguments[5] : "null";
    finish.error = hapax::GuardError{.type = "Declined", .message = "no funds"};
    return store->finish(answer.hold, finish) == hapax::GuardVerdict::accepted ? 0 : 1;
  } catch (const hapax::Error& error) {
    std::cerr << error.name() << ": " << error.what() << '\n';
    return 75;
  }
}
