// A hundred thousand executions in one call, streamed in transactions of 5,000, with an answer for each.
#include <hapax/hapax.hpp>

#include <iostream>

int main() {
  const hapax::Task<int> resize{"resize_image", {.queue = "images"}};
  auto app = hapax::open("sqlite:bulk.db");

  int next = 0;
  const auto report =
      app.enqueue_many(resize, [&]() { return next < 100'000 ? std::optional<int>(next++) : std::nullopt; },
                       {.progress = [](const hapax::BulkProgress& progress) {
                         if (progress.admitted % 25'000 == 0) std::cout << progress.admitted << " admitted\n";
                       }});
  std::cout << report.created << " created, " << report.admissions.size() << " answers\n";
  std::cout << app.queues().at(0).ready << " ready in " << app.queues().at(0).queue << "\n";
  return report.created == 100'000 ? 0 : 1;
}
