// Fan out, fan in: a workflow sends a thousand tasks to their queue at once, waits for all of them and adds up the
// results. It does not matter which worker runs which task, or in which order; after a crash no task is sent again.
#include <hapax/hapax.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <numeric>
#include <vector>

namespace {

constexpr int items = 1'000;

const hapax::Task<int, int> count_words{"count_words", {.queue = "pages"}};
const hapax::Workflow<int, long> count_book{"count_book"};

}  // namespace

int main() {
  std::atomic<int> counted = 0;
  auto app = hapax::open("sqlite:book.db");
  app.handle(count_words, [&](const int& page) {
    ++counted;
    return 200 + page % 100;  // words on this page
  });
  app.handle(count_book, [](hapax::WorkflowContext& ctx, const int& pages) {
    std::vector<hapax::Started<int>> started;
    for (int page = 0; page < pages; ++page) { started.push_back(ctx.start(count_words, page)); }
    const std::vector<int> words = ctx.all(started);  // in the order they were started
    return std::accumulate(words.begin(), words.end(), 0L);
  });
  const auto worker = app.work({.queues = {"default", "pages"}, .threads = 4});

  const auto begun = std::chrono::steady_clock::now();
  const auto book = app.start(count_book, items, {.workflow_id = "moby-dick"});
  const long words = book.result();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::cout << items << " pages, " << words << " words, in " << took.count() << " s\n";

  const auto again =
      app.start(count_book, items, {.workflow_id = "moby-dick"});  // returns the same run: nothing is done again
  std::cout << "asked again: " << again.result() << " words, " << counted << " pages counted in all\n";
  return words == 249'500 && again.id() == book.id() && counted == items ? 0 : 1;
}
