// Keys for work that runs once per minute, hour, day, week or month.
//
//   app.enqueue(send_report, input, {.task_id = hapax::per_day("sales-report", app.now())});
//   // "sales-report-2026-03-01": a second enqueue on that day returns the same execution
//
// hapax has no deduplication windows: a bucket is a name for the period that contains an instant, in UTC. The caller
// gives the instant. Take it from the store's clock, app.now(), so that all processes agree where a period ends. Make
// the key once per request and repeat it with each retry: a new key at a retry may name the next period.
#pragma once

#include <hapax/time.hpp>

#include <string>
#include <string_view>

namespace hapax {

[[nodiscard]] std::string per_minute(std::string_view job, Time at);  // "job-2026-03-01-09-30"
[[nodiscard]] std::string per_hour(std::string_view job, Time at);    // "job-2026-03-01-09"
[[nodiscard]] std::string per_day(std::string_view job, Time at);     // "job-2026-03-01"
[[nodiscard]] std::string per_month(std::string_view job, Time at);   // "job-2026-03"

// "job-2026-W09". Weeks follow ISO 8601: Monday to Sunday, in the year of their Thursday. So 29 December may lie in
// week 1 of the next year, and 3 January in week 53 of the year before.
[[nodiscard]] std::string per_iso_week(std::string_view job, Time at);

}  // namespace hapax
