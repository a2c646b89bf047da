// Adds the options of `foretoken schedule show`.
#include "tools/commands/schedule/schedule_show_options.h"

#include <fmt/format.h>

#include "tools/options/options.h"

namespace foretoken::tools::schedule_show_command {
namespace {

constexpr int kMostStages = 4096, kMostMicrobatches = 1 << 20, kMostChunks = 1024;
constexpr double kLongestMs = 1e9;

}  // namespace

void add_shape_options(CLI::App& command, Options& options) {
  command.add_option("--stages", options.shape.stages, "Pipeline stages")
      ->required()
      ->check(whole_number(1, kMostStages))
      ->type_name("P");
  command.add_option("--microbatches", options.shape.microbatches, "Micro-batches of one step")
      ->required()
      ->check(whole_number(1, kMostMicrobatches))
      ->type_name("M");
  command
      .add_option("--chunks", options.shape.chunks,
                  "Model chunks of a stage, for interleaved schedules (2 of two-way ones)")
      ->check(whole_number(1, kMostChunks))
      ->type_name("V");
  command.add_option("--group", options.shape.group, "Micro-batch group of interleaving (default: the stages)")
      ->check(whole_number(0, kMostMicrobatches))
      ->type_name("G");
  command.add_option("--steps", options.steps, "Steps in a row (1), for schedules without a flush")
      ->check(whole_number(1, kMostMicrobatches))
      ->type_name("N");
}

void add_time_options(CLI::App& command, Options& options) {
  command
      .add_option("--forward", options.forward_ms,
                  "Milliseconds of the forward pass of one chunk (1); or V values separated by commas, one a chunk")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number_between(0, kLongestMs))
      ->type_name("MS");
  CLI::Option* const whole = command
                                 .add_option("--backward", options.backward_ms,
                                             "Milliseconds of the backward pass of one chunk (2), or V values")
                                 ->delimiter(',')
                                 ->allow_extra_args(false)
                                 ->check(number_between(0, kLongestMs))
                                 ->type_name("MS");
  const auto part = [&](const char* name, std::vector<double>& ms, const char* of) {
    return command.add_option(name, ms, fmt::format("Milliseconds of the part for {} of a backward pass (half)", of))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(number_between(0, kLongestMs))
        ->type_name("MS");
  };
  CLI::Option* const input = part("--backward-input", options.input_ms, "input");
  CLI::Option* const weight = part("--backward-weight", options.weight_ms, "weight");
  input->needs(weight)->excludes(whole);
  weight->needs(input)->excludes(whole);
  command
      .add_option("--pair", options.pair_ms,
                  "Milliseconds of a forward and a backward pass in a pair (the sum of both), or V values")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number_between(0, kLongestMs))
      ->type_name("MS");
  command.add_option("--comm", options.message_ms, "Milliseconds of a message between stages (0)")
      ->check(number_between(0, kLongestMs))
      ->type_name("MS");
  command.add_flag("--blocking", options.blocking,
                   "Make sender and receiver wait for messages, as Megatron's 1F1B does");
}

}  // namespace foretoken::tools::schedule_show_command
