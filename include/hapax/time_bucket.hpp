// Keys for work that is to be done once in each minute, hour, day, week or month.
//
//   app.enqueue(send_report, input, {.task_id = hapax::per_day("sales-report", app.now())});
//   // "sales-report-2026-03-01": whoever asks again on that day gets the handle of the same execution
//
// hapax has no windows of its own: a bucket is nothing but a name for the period an instant lies in, in UTC, and the
// instant is the caller's. Take it from the store's clock, app.now(), so that all processes agree where a period ends.
// Make the key once a request and send it again with the request: a key made anew at a retry may name the next period.
#pragma once

#include <hapax/time.hpp>

#include <string>
#include <string_view>

namespace hapax {

[[nodiscard]] std::string per_minute(std::string_view job, Time at);  // "job-2026-03-01-09-30"
[[nodiscard]] std::string per_hour(std::string_view job, Time at);    // "job-2026-03-01-09"
[[nodiscard]] std::string per_day(std::string_view job, Time at);     // "job-2026-03-01"
[[nodiscard]] std::string per_month(std::string_view job, Time at);   // "job-2026-03"

// "job-2026-W09". Weeks are those of ISO 8601: from Monday to Sunday, and of the year that their Thursday is in, so
// that 29 December may lie in week 1 of the next year and 3 January in week 53 of the last.
[[nodiscard]] std::string per_iso_week(std::string_view job, Time at);

}  // namespace hapax
