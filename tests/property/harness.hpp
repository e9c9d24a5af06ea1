// Runs the same operations on the memory store and on another store, and compares all answers and all content.
#pragma once

#include "property/operation.hpp"
#include "property/view.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hapax::property {

using namespace std::chrono_literals;

// The stores answered differently. The message has all calls and answers so far.
class Disagreement : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// For one sequence, on one thread. Both stores must be new and read the clock moved by `offset_us`.
//
// Durations given to a store are odd multiples of 5 minutes and the clock moves by multiples of 10 minutes, so whether
// something is due never depends on the seconds that a test takes.
class Harness {
 public:
  Harness(Store& model, Store& subject, std::shared_ptr<std::atomic<std::int64_t>> offset_us);

  // run() and compare_everything() throw Disagreement.
  void run(const Operation& operation);
  void compare_everything();

 private:
  struct Session {
    Uuid id;
    std::int64_t claim_number = 0;
    std::vector<Held> claims;  // all claims so far, newest last
  };

  // Makes the call on both stores and compares the texts.
  template <class Call>
  void both(const std::string& what, const Call& call);

  void admit(Dice dice);
  void claim(Dice dice);
  void finish(Dice dice);
  void exchange(Dice dice);
  void open_session(Dice dice);
  void beat(Dice dice);
  void close_session(Dice dice);
  void advance(Dice dice);
  void sweep(Dice dice);
  void cancel(Dice dice);
  void retry(Dice dice);
  void configure(Dice dice);
  void move(Dice dice);
  void journal(Dice dice);
  void compare_state();

  [[nodiscard]] NewExecution draw_request(Dice& dice);
  static void draw_mode(Dice& dice, NewExecution& item);
  [[nodiscard]] std::vector<Finish> draw_finishes(Dice& dice, int most);
  [[nodiscard]] ClaimRequest draw_claim(Dice& dice);
  [[nodiscard]] std::vector<Uuid> draw_ids(Dice& dice, int most);
  [[nodiscard]] Session& draw_session(Dice& dice);
  void exchange_both(const std::vector<Finish>& finishes, const ClaimRequest* request);

  Store& model_;
  Store& subject_;
  View model_view_;
  View subject_view_;
  std::shared_ptr<std::atomic<std::int64_t>> offset_us_;
  std::vector<Uuid> known_;        // every execution that was requested, admitted or not
  std::vector<Session> sessions_;  // the first session is never opened
  std::string trace_;
};

}  // namespace hapax::property
