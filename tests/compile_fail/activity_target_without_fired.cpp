// expect: an activity's target takes hapax::Fired<Input>
#include <hapax/hapax.hpp>

#ifdef MENDED
const hapax::Task<hapax::Fired<int>, int> report{"report"};
#else
const hapax::Task<int, int> report{"report"};
#endif

hapax::Activity daily() { return {.id = "daily", .trigger = hapax::CronTrigger{.cron = "@daily"}, .target = report}; }
