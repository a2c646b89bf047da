// Turns the options of commands that search into overrides and a search space.
#include "tools/options/open_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/study/search/request.h"
#include "tools/options/options.h"
#include "tools/options/scenario_argument.h"
#include "tools/options/search_values.h"

namespace foretoken::tools {
namespace {

// Returns the key that a word was probably meant to be: its last part, or a name with few other letters.
std::optional<std::string> key_meant_by(const std::string& word) {
  const std::vector<std::string> names = study::freeable_keys();
  for (const std::string& name : names)
    if (name.ends_with("." + word)) return name;
  return nearest(word, names);
}

// Refuses a key that no search chooses.
void expect_a_choice(const std::string& free) {
  if (free == "all" || !study::keys_freed_by(free).empty()) return;
  const std::string place = fmt::format("--free {}", printable(free, 60));
  if (const std::optional<std::string> meant = key_meant_by(free))
    throw ConfigError(
        {{place, "", fmt::format("a search cannot choose this key; did you mean {}?", in_quotes(*meant))}});
  throw ConfigError({{place, "",
                      fmt::format("a search cannot choose this key{}; it can choose {}",
                                  free == "gpus" ? " (--gpus lists cluster sizes)" : "",
                                  first_names(study::freeable_keys(), "docs/user/search.md"))}});
}

// Refuses a list of schedules beside an override that holds one.
void refuse_a_held_schedule(const OpenOptions& options) {
  for (const auto& [option, values] : {std::pair("--set", &options.sets), {"--fix", &options.fixes}})
    for (const std::string& value : *values)
      if ((value.starts_with("schedule=") || value.starts_with("schedule.")) && value != "schedule=null")
        throw ConfigError({{"--schedules " + printable(options.schedules.front(), 60), "",
                            fmt::format("expected an open schedule, found {} {}; leave one of them out", option,
                                        printable(value, 60))}});
}

// Returns the overrides in order, for this model under this runtime.
std::vector<std::string> overrides_with(const OpenOptions& options, const model::Transformer& model,
                                        const job::Runtime& runtime) {
  std::vector<std::string> sets;
  if (!options.gpus.empty()) sets.emplace_back("parallelism.data=null");
  if (!options.schedules.empty()) sets.emplace_back("schedule=null");
  for (const std::string& free : options.frees) {
    const std::vector<std::string> freed =
        free == "all" ? study::all_keys_free(model, runtime) : study::overrides_of_free(free, model, runtime);
    sets.insert(sets.end(), freed.begin(), freed.end());
  }
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  sets.insert(sets.end(), options.fixes.begin(), options.fixes.end());
  return sets;
}

}  // namespace

void add_open_options(CLI::App& command, OpenOptions& options) {
  const auto keys = [&](const char* name, std::vector<std::string>& values, const char* about, const char* type) {
    command.add_option(name, values, about)->allow_extra_args(false)->type_name(type);
  };
  keys("--free", options.frees,
       "Search this key, though the scenario sets it (parallelism: all below it); all: every key but precisions",
       "KEY|all");
  keys("--fix", options.fixes, "Hold this key at one value; may be repeated", "KEY=VALUE");
  keys("--set", options.sets, "Override a key of the scenario; may be repeated", "KEY=VALUE");
  add_env_option(command, options.variables);
  command.add_option("--gpus", options.gpus, "Try these cluster sizes: 512, or 512,1024, or 256:4096:x2")
      ->type_name("SIZES");
  command
      .add_option("--schedules", options.schedules,
                  "Try these schedules (1f1b,interleaved), or all; frees the schedule")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command.add_flag("--cross-node-tensor", options.cross_node_tensor,
                   "Also try tensor and expert-tensor degrees that leave an NVLink domain");
  command
      .add_option("--partition", options.partition,
                  "Deal layers out to stages evenly (even), or also so that the slowest stage is fastest (pipedream)")
      ->type_name("WAY")
      ->check(one_of({"even", "pipedream"}));
}

Overrides overrides(const study::ScenarioSource& source, const OpenOptions& options,
                    const std::vector<std::string>& stated) {
  for (const std::string& free : options.frees) expect_a_choice(free);
  if (!options.schedules.empty()) refuse_a_held_schedule(options);
  std::vector<std::string> sets = overrides_with(options, {}, {});
  if (options.frees.empty()) return {std::move(sets)};
  const bool frees_stage = std::erase(sets, fmt::format("{}=null", name_of(job::Key::kZeroStage))) > 0;
  sets.insert(sets.end(), stated.begin(), stated.end());
  const job::Question question = source.read_open(sets).asked();
  study::expect_choices(question, options.frees);
  return {overrides_with(options, question.model, question.runtime),
          frees_stage ? question.choices.zero_stage.value_or(0) : 0};
}

std::vector<Complaint> with_fixes_named(std::vector<Complaint> complaints, const OpenOptions& options) {
  constexpr std::size_t kLongest = 60;
  for (const std::string& fix : options.fixes) {
    if (std::ranges::count(options.sets, fix) > 0) continue;  // --set is right, too
    const std::string given = printable(fix, kLongest);
    for (Complaint& complaint : complaints)
      for (std::string* const name : {&complaint.option, &complaint.file})
        if (*name == "--set " + given) *name = "--fix " + given;
  }
  return complaints;
}

search::SpaceOptions space_of(const OpenOptions& options, int stated_zero_stage) {
  search::SpaceOptions space{
      .gpus = {},
      .schedules = parse_schedules(options.schedules),
      .cross_node_tensor = options.cross_node_tensor,
      .requested = {},
      .stated_zero_stage = stated_zero_stage,
      .partition = options.partition == "pipedream" ? search::Partition::kPipeDream : search::Partition::kEven};
  if (!options.gpus.empty()) space.gpus = parse_gpus(options.gpus);
  for (const job::Key key : job::requested_keys())
    for (const std::string& free : options.frees)
      if (std::ranges::count(study::keys_freed_by(free), key) > 0 && std::ranges::count(space.requested, key) == 0)
        space.requested.push_back(key);
  return space;
}

}  // namespace foretoken::tools
