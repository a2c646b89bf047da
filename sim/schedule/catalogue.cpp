// Lists the schedules; stands above all of them.
#include "sim/schedule/catalogue.h"

#include <array>

#include "sim/base/check.h"
#include "sim/schedule/async/async.h"
#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/gpipe.h"
#include "sim/schedule/flush/interleaved_1f1b.h"
#include "sim/schedule/flush/one_f_one_b.h"

namespace foretoken::schedule {

std::span<const Schedule> all_schedules() {
  static const std::array kSchedules = {
      Schedule{.name = "gpipe",
               .description = "all forwards, then all backwards in reverse order (arXiv:1811.06965)",
               .posting = Posting::kAsInMegatron,
               .build = gpipe},
      Schedule{.name = "gpipe-fifo",
               .description = "GPipe with the backwards oldest first (arXiv:1811.06965)",
               .posting = Posting::kAsInMegatron,
               .build = gpipe_fifo},
      Schedule{.name = "1f1b",
               .description = "one forward, one backward, flushed every step (PipeDream-Flush, arXiv:2006.09503)",
               .posting = Posting::kAsInMegatron,
               .build = one_f_one_b},
      Schedule{.name = "interleaved-1f1b",
               .description = "1f1b over several model chunks a stage, as Megatron-Core issues it (arXiv:2104.04473)",
               .interleaves = true,
               .posting = Posting::kAsInMegatron,
               .build = interleaved_1f1b,
               .own_rule = interleaved_1f1b_rule},
      eager_1f1b(),
      looped_bfs(),
      zb_h1(),
      zb_h2(),
      interleaved_zb(),
      zb_v(),
      v_zb(),
      v_half(),
      v_min(),
      hanayo(),
      pipedream(),
      pipedream_2bw(),
      pipemare(),
      chimera(),
      dual_pipe(),
      dual_pipe_v(),
      bpipe(),
  };
  return kSchedules;
}

std::optional<Schedule> find_schedule(std::string_view name) {
  for (const Schedule& schedule : all_schedules()) {
    if (schedule.name == name) return schedule;
  }
  return std::nullopt;
}

Schedule schedule_named(std::string_view name) {
  std::optional<Schedule> found = find_schedule(name);
  expects(found.has_value(), "the catalogue has a schedule of that name");
  return *std::move(found);
}

}  // namespace foretoken::schedule
