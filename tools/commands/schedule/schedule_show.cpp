// The command `foretoken schedule show`: prints the op orders of a schedule, and a replay with given times.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/draw/gantt_svg.h"
#include "sim/report/gantt.h"
#include "sim/report/text/number.h"
#include "sim/schedule/async/versions.h"
#include "sim/schedule/catalogue.h"
#include "sim/schedule/csv/write_csv.h"
#include "sim/schedule/op_text.h"
#include "sim/schedule/program_counts.h"
#include "sim/study/schedule_replay.h"
#include "tools/commands/schedule/schedule_commands.h"
#include "tools/commands/schedule/schedule_show_options.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/runs.h"

namespace foretoken::tools {
namespace schedule_show_command {
namespace {

using report::Paint;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostPasses = 20'000'000;

ConfigError wrong(std::string message) { return ConfigError({{"foretoken schedule show", "", std::move(message)}}); }

schedule::Schedule find(const std::string& name) {
  if (const auto found = schedule::find_schedule(name)) return *found;
  std::vector<std::string> names;
  for (const schedule::Schedule& each : schedule::all_schedules()) names.emplace_back(each.name);
  throw wrong(
      fmt::format("unknown schedule {}{}", in_quotes(name), meant_or_known(name, names, "foretoken schedule list")));
}

Table<Chunk, des::Duration> durations(const char* option, const std::vector<double>& ms, int chunks) {
  if (ms.size() != 1 && ms.size() != static_cast<std::size_t>(chunks))
    throw wrong(fmt::format("{}: expected one time, or {} (one a chunk), found {}", option, chunks, ms.size()));
  Table<Chunk, des::Duration> result;
  for (const Chunk chunk : ids<Chunk>(chunks))
    result.push_back(des::to_duration(Seconds(1e-3 * (ms.size() == 1 ? ms[0] : ms[chunk.index()]))));
  return result;
}

// Returns the times of one part of the backward pass: as stated, or half of the whole.
std::vector<double> part_of_backward(const Options& options, const std::vector<double>& stated) {
  if (!stated.empty()) return stated;
  std::vector<double> half = options.backward_ms;
  for (double& ms : half) ms /= 2;
  return half;
}

// Adds the times of passes in pairs: both are shorter in the same proportion.
void add_pairs(const Options& options, study::ReplayTimes& times) {
  using schedule::OpKind;
  Table<Chunk, des::Duration> forward = times.passes[OpKind::kForward], backward = times.passes[OpKind::kBackward];
  const Table<Chunk, des::Duration> pair = options.pair_ms.empty()
                                               ? Table<Chunk, des::Duration>{}
                                               : durations("--pair", options.pair_ms, options.shape.chunks);
  for (const Chunk chunk : pair.ids()) {
    const des::Duration apart = forward[chunk] + backward[chunk];
    const double part = apart.ps == 0 ? 0 : static_cast<double>(forward[chunk].ps) / static_cast<double>(apart.ps);
    forward[chunk] = {std::llround(part * static_cast<double>(pair[chunk].ps))};
    backward[chunk] = pair[chunk] - forward[chunk];
  }
  times.passes[OpKind::kPairedForward] = std::move(forward);
  times.passes[OpKind::kPairedBackward] = std::move(backward);
}

// Returns the times of all kinds of passes. Both parts of a backward pass, if stated, make the whole.
study::ReplayTimes times_of(const Options& options) {
  using schedule::OpKind;
  const int chunks = options.shape.chunks;
  study::ReplayTimes times{
      .passes = {{OpKind::kForward, durations("--forward", options.forward_ms, chunks)},
                 {OpKind::kBackward, durations("--backward", options.backward_ms, chunks)},
                 {OpKind::kBackwardInput,
                  durations("--backward-input", part_of_backward(options, options.input_ms), chunks)},
                 {OpKind::kBackwardWeight,
                  durations("--backward-weight", part_of_backward(options, options.weight_ms), chunks)}},
      .message = des::to_duration(Seconds(1e-3 * options.message_ms)),
      .blocking = options.blocking};
  for (const Chunk chunk : ids<Chunk>(options.input_ms.empty() ? 0 : chunks))
    times.passes[OpKind::kBackward][chunk] =
        times.passes[OpKind::kBackwardInput][chunk] + times.passes[OpKind::kBackwardWeight][chunk];
  add_pairs(options, times);
  return times;
}

// Checks that all passes and messages in a row fit the clock: no order of them takes longer.
void check_length(const Options& options) {
  constexpr double kMostDays = 100, kMsPerDay = 86400e3;  // whole picoseconds in 64 bits hold 106 days
  double passes_ms = 0;
  for (const auto* ms :
       {&options.forward_ms, &options.backward_ms, &options.input_ms, &options.weight_ms, &options.pair_ms})
    for (const Chunk chunk : ids<Chunk>(options.shape.chunks))
      passes_ms += ms->empty() ? 0 : ms->size() == 1 ? ms->front() : (*ms)[chunk.index()];
  const double ops = static_cast<double>(options.shape.stages) * options.shape.microbatches;
  const double days = ops * (passes_ms + 2.0 * options.shape.chunks * options.message_ms) / kMsPerDay;
  if (days > kMostDays)
    throw wrong(
        fmt::format("expected at most {} days of passes and messages in all, found {:.3g}; check --forward, "
                    "--backward and --comm, in milliseconds",
                    kMostDays, days));
}

// A schedule for a shape, and its replay.
struct Shown {
  schedule::Program program;
  study::Replay replay;
  double ideal = 0;  // the bubble with free messages, over the work
  std::string ideal_name = "ideal (p-1)/(vm)";
  std::optional<schedule::WeightVersions> weights = {};  // without a flush
  des::Duration steady = {};                             // its mean step
};

// Adds the weights and the steady state of a schedule without a flush.
void add_steady_state(Shown& shown, const schedule::Schedule& chosen, const Options& options,
                      const study::ReplayTimes& times) {
  const schedule::WithoutFlush& rule = *chosen.without_flush;
  shown.weights = schedule::weight_versions(schedule::steady_program(chosen, options.shape), rule, options.shape);
  shown.weights->used = schedule::weight_versions(shown.program, rule, options.shape).used;
  shown.steady = study::steady_step(schedule::steady_program(chosen, options.shape), options.shape, times);
}

Shown build(const Options& options, const schedule::Schedule& chosen) {
  if (const auto reason = schedule::why_not(chosen, options.shape)) throw wrong(*reason);
  if (options.steps > 1 && !chosen.without_flush)
    throw wrong(
        fmt::format("--steps: expected a schedule without a flush (pipedream, pipedream-2bw, pipemare), found "
                    "{}; leave it out",
                    options.name));
  schedule::PipelineShape all = options.shape;
  const int simulated = std::max(options.steps, chosen.without_flush ? schedule::steady_run(all).steps() : 1);
  const std::int64_t passes =
      std::int64_t{2} * options.shape.stages * options.shape.microbatches * options.shape.chunks * simulated;
  if (passes > kMostPasses)
    throw wrong(fmt::format("expected at most {} passes in all, found {}", kMostPasses, passes));
  if (options.blocking && chosen.posting != schedule::Posting::kAsInMegatron)
    throw wrong(
        fmt::format("--blocking: expected a schedule of Megatron (gpipe, gpipe-fifo, 1f1b, interleaved-1f1b), "
                    "found {}; leave it out",
                    options.name));
  if (!options.pair_ms.empty() && !chosen.pairs_passes)
    throw wrong(
        fmt::format("--pair: expected a schedule that runs passes in pairs (dualpipe, dualpipe-v), found {}; leave "
                    "it out",
                    options.name));
  study::ReplayTimes times = times_of(options);
  check_length(options);
  all.microbatches *= options.steps;
  Shown shown{.program = chosen.build(all), .replay = {}};
  shown.replay = study::replay(shown.program, times);
  if (!shown.replay.run.stuck.empty())
    throw wrong(fmt::format("{} deadlocks with blocking messages; leave out --blocking", options.name));
  if (chosen.without_flush) add_steady_state(shown, chosen, options, times);
  shown.ideal = (options.shape.stages - 1.0) / (static_cast<double>(options.shape.chunks) * options.shape.microbatches);
  if (chosen.posting == schedule::Posting::kAsInMegatron) return shown;
  times.message = {};
  times.blocking = false;
  shown.ideal = study::replay(shown.program, times).bubble_fraction();
  shown.ideal_name = "ideal (free messages)";
  return shown;
}

std::vector<int> peaks_in_flight(const schedule::Program& program) {
  std::vector<int> peaks;
  for (const schedule::StageProgram& ops : program.stages) peaks.push_back(schedule::peak_in_flight(ops));
  return peaks;
}

std::string json_of(const Options& options, const Shown& shown) {
  Json orders = Json::array(), starts = Json::array();
  for (const Stage stage : shown.program.stages.ids()) {
    Json ops = Json::array(), start = Json::array();
    for (const step::PassTasks& pass : shown.replay.workload.passes[stage]) {
      ops.push_back(schedule::to_text(pass.op, options.shape.chunks));
      start.push_back(static_cast<double>(shown.replay.run.start[pass.first.value].ps) * 1e-12);
    }
    orders.push_back(std::move(ops));
    starts.push_back(std::move(start));
  }
  Json json = {{"schedule", options.name},
               {"stages", options.shape.stages},
               {"microbatches", options.shape.microbatches},
               {"chunks", options.shape.chunks},
               {"makespan_s", static_cast<double>(shown.replay.run.makespan.ps) * 1e-12},
               {"bubble_fraction", shown.replay.bubble_fraction()},
               {"bubble_fraction_of_step", shown.replay.bubble_fraction_of_step()},
               {"ideal_bubble_fraction", shown.ideal},
               {"peak_in_flight", peaks_in_flight(shown.program)},
               {"sends", schedule::sends_per_stage(shown.program)},
               {"orders", std::move(orders)},
               {"start_s", std::move(starts)}};
  if (shown.weights) {
    json["steps"] = options.steps;
    json["steady_step_s"] = static_cast<double>(shown.steady.ps) * 1e-12;
    json["weight_versions"] = Json(shown.weights->used.values());
    json["versions_kept"] = Json(shown.weights->kept.values());
    json["staleness"] = Json(shown.weights->staleness.values());
  }
  return json.dump() + '\n';
}

std::string list_of(const std::vector<double>& ms) { return fmt::format("{}", fmt::join(ms, ", ")); }

std::string pipeline_text(const schedule::PipelineShape& shape) {
  return report::counted(shape.stages, "stage") + ", " +
         report::counted(shape.microbatches, "micro-batch", "micro-batches");
}

// Returns "backward 2 ms", or "backward 1 ms for input and 1 ms for weight" when the program has the parts.
std::string backward_text(const Options& options, const schedule::Program& program) {
  for (const schedule::StageProgram& ops : program.stages)
    for (const schedule::StageOp& op : ops)
      if (op.kind == schedule::OpKind::kBackwardInput)
        return fmt::format("backward {} ms for input and {} ms for weight{}",
                           list_of(part_of_backward(options, options.input_ms)),
                           list_of(part_of_backward(options, options.weight_ms)),
                           options.pair_ms.empty() ? "" : fmt::format(", a pair {} ms", list_of(options.pair_ms)));
  return fmt::format("backward {} ms", list_of(options.backward_ms));
}

std::string text_of(const Options& options, const Shown& shown, const Paint& paint) {
  using report::Ink;
  const schedule::PipelineShape& shape = options.shape;
  std::string text = paint(Ink::kBold, options.name) +
                     fmt::format(": {}, {} a stage\n", pipeline_text(shape), report::counted(shape.chunks, "chunk"));
  text += paint.paragraph(
      "  ", fmt::format("one pass of one chunk: forward {} ms, {}; a message {} ms, {}", list_of(options.forward_ms),
                        backward_text(options, shown.program), options.message_ms,
                        options.blocking ? "both sides wait for it" : "nobody waits for it"));
  const study::Replay& replay = shown.replay;
  text +=
      '\n' + paint.paragraph("  ", fmt::format("makespan {}, bubble {} of the work, {} of the step, {} {}",
                                               report::time_text(des::to_seconds(replay.run.makespan - des::Instant{})),
                                               report::percent(replay.bubble_fraction()),
                                               report::percent(replay.bubble_fraction_of_step()), shown.ideal_name,
                                               report::percent(shown.ideal)));
  text += paint.paragraph("  chunk activations alive at most, by stage: ", runs_text(peaks_in_flight(shown.program)));
  text += paint.paragraph("  messages sent, by stage: ", runs_text(schedule::sends_per_stage(shown.program)));
  if (shown.weights) {
    text += paint.paragraph(
        "  ", fmt::format("full pipeline: a step takes {}", report::time_text(des::to_seconds(shown.steady))));
    const auto numbers = [](const foretoken::Table<Stage, int>& table) {
      return runs_text(std::vector<int>(table.begin(), table.end()));
    };
    text += paint.paragraph("  versions of weights kept, by stage: ", numbers(shown.weights->kept));
    text += paint.paragraph("  updates between forward pass and update, by stage: ", numbers(shown.weights->staleness));
  }
  text += '\n' + paint(Ink::kBold, "Over time") + '\n';
  const report::Gantt chart = report::gantt_of(replay.workload, replay.run, "");
  text += report::gantt_text(chart, chart.length, paint) + report::gantt_legend({&chart, 1}, paint);
  text +=
      '\n' + paint(Ink::kBold, "Order") + "  " +
      paint(Ink::kDim, schedule::letters_text(shown.program) + ", micro-batch" + (shape.chunks > 1 ? ".chunk" : "")) +
      '\n';
  for (const Stage stage : shown.program.stages.ids())
    text += paint.paragraph(fmt::format("  stage {:<3} ", stage.number()),
                            schedule::to_text(shown.program.stages[stage], shape.chunks));
  return text;
}

std::string plain_text(const Options& options, const schedule::Program& program) {
  std::string text;
  for (const schedule::StageProgram& ops : program.stages) text += schedule::to_text(ops, options.shape.chunks) + '\n';
  return text;
}

// Returns the program in PyTorch's CSV format.
std::string csv_of(const schedule::Program& program) {
  if (const auto reason = schedule::why_no_csv(program)) throw wrong("--csv: " + *reason);
  return schedule::to_csv(program);
}

int show(Options options) {
  const schedule::Schedule chosen = find(options.name);
  if (options.shape.chunks == 0) options.shape.chunks = chosen.copies;
  const Shown shown = build(options, chosen);
  if (!options.csv.empty()) write_file(options.csv, csv_of(shown.program));
  const std::string title = fmt::format("{}, {}", options.name, pipeline_text(options.shape));
  if (!options.svg.empty())
    write_file(options.svg, draw::gantt_svg({report::gantt_of(shown.replay.workload, shown.replay.run, title)}));
  print(options.json    ? json_of(options, shown)
        : options.plain ? plain_text(options, shown.program)
                        : text_of(options, shown, page_paint(options.colour)));
  return 0;
}

}  // namespace
}  // namespace schedule_show_command

void add_schedule_show(CLI::App& schedule, Action& chosen) {
  using namespace schedule_show_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      schedule.add_subcommand("show", "Show the order of passes of every stage, replayed with given times");
  command->footer(
      "Examples:\n"
      "  foretoken schedule show 1f1b --stages 4 --microbatches 8\n"
      "  foretoken schedule show interleaved-1f1b --stages 4 --microbatches 8 --chunks 2 --svg s.svg\n"
      "  foretoken schedule show 1f1b --stages 8 --microbatches 24 --forward 18 --backward 27 --comm 0.6\n"
      "  foretoken schedule show zb-h1 --stages 8 --microbatches 24 --forward 18.5 --backward-input 18.1 "
      "--backward-weight 9.3\n"
      "  foretoken schedule show dualpipe --stages 8 --microbatches 20 --forward 10 --backward 20 --pair 25\n"
      "  foretoken schedule show gpipe --stages 4 --microbatches 8 --json\n"
      "  foretoken schedule show 1f1b --stages 4 --microbatches 8 --csv schedule.csv\n");
  command->add_option("NAME", options->name, "A schedule of `foretoken schedule list`")->required();
  add_shape_options(*command, *options);
  add_time_options(*command, *options);
  command->add_flag("--json", options->json, "Print JSON: orders, start times and figures");
  command->add_flag("--plain", options->plain,
                    "Print only the orders, one stage a line, as `schedule check` reads them");
  command->add_option("--csv", options->csv, "Write the orders in PyTorch's CSV format, one rank a row")
      ->type_name("FILE");
  command->add_option("--svg", options->svg, "Write a Gantt chart")->type_name("FILE");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return show(*options); }; });
}

}  // namespace foretoken::tools
