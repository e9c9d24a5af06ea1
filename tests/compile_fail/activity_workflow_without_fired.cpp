// expect: an activity's target takes hapax::Fired<Input>
#include <hapax/hapax.hpp>

#ifdef MENDED
const hapax::Workflow<hapax::Fired<int>> report{"report"};
#else
const hapax::Workflow<int> report{"report"};
#endif

hapax::Activity daily() { return {.id = "daily", .trigger = hapax::CronTrigger{.cron = "@daily"}, .target = report}; }
