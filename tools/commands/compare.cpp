// The command `foretoken compare`: shows schedules side by side on one scenario.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/draw/gantt_svg.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/serve/read_service.h"
#include "sim/report/gantt.h"
#include "sim/report/json.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/schedule/catalogue.h"
#include "sim/study/otherwise/schedules.h"
#include "sim/study/predict/strict.h"
#include "sim/study/reason.h"
#include "sim/study/serve/vary_service.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "tools/text/json_csv.h"
#include "tools/text/serve/vary_service_text.h"

namespace foretoken::tools {
namespace compare_command {
namespace {

using report::Paint;
using report::Table;
using study::ScheduleChoice;
using Rows = std::vector<study::TriedSchedule>;
using Json = nlohmann::ordered_json;

struct Options {
  std::string scenario, svg, colour;
  std::vector<std::string> schedules, engines, sets, variables;
  Form form = Form::kText;
  bool no_gantt = false, strict = false;
};

Complaint wrong_choice(const std::string& text, std::string message) {
  return {"--schedules " + printable(text, 60), "", std::move(message)};
}

ScheduleChoice parse_choice(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  if (name == "interleaved") name = "interleaved-1f1b";
  const auto known = schedule::find_schedule(name);
  if (!known) {
    std::vector<std::string> names;
    for (const schedule::Schedule& each : schedule::all_schedules())
      names.push_back(std::string(each.name) + (each.interleaves ? ":2" : ""));
    throw ConfigError(
        {wrong_choice(text, "unknown schedule" + meant_or_known(name, names, "foretoken schedule list"))});
  }
  ScheduleChoice choice{.label = text, .schedule = *known, .chunks = known->copies};
  if (colon != text.npos) {
    const auto chunks = parse_number<int>(std::string_view(text).substr(colon + 1), 1);
    if (!chunks) throw ConfigError({wrong_choice(text, "expected NAME:CHUNKS, for instance interleaved:2")});
    choice.chunks = *chunks;
  }
  if (known->interleaves && choice.chunks < 2)
    throw ConfigError({wrong_choice(text, fmt::format("expected at least 2 chunks a stage; try {}:2", name))});
  if (!known->interleaves && choice.chunks > 1)
    throw ConfigError({wrong_choice(text, "this schedule has one chunk a stage; leave the number out")});
  return choice;
}

// Returns the label that --schedules takes: "interleaved:4".
std::string label_of(const ScheduleChoice& choice) {
  const std::string name = choice.schedule.name == "interleaved-1f1b" ? "interleaved" : choice.schedule.name;
  return choice.chunks > 1 ? fmt::format("{}:{}", name, choice.chunks) : name;
}

std::vector<ScheduleChoice> usual_choices(const job::Job& job) {
  std::vector<ScheduleChoice> choices = study::usual_schedules(job);
  for (ScheduleChoice& each : choices) each.label = label_of(each);
  return choices;
}

std::string table_text(const Rows& rows, const Paint& paint) {
  const std::optional<std::size_t> best = study::fastest(rows);
  Table table({{"schedule", Table::Align::kLeft},
               {"step"},
               {"to best"},
               {"tokens/s"},
               {"MFU"},
               {"bubble"},
               {"ideal", Table::Align::kRight, 1},
               {"GiB"},
               {"fits", Table::Align::kLeft},
               {"sent a stage", Table::Align::kRight, 2}});
  for (const study::TriedSchedule& row : rows) {
    const std::string label = row.choice.label + (row.is_own ? " *" : "");
    if (!row.metrics) {
      table.add_note({label}, "impossible here, see below");
      continue;
    }
    const report::Metrics& m = *row.metrics;
    const double behind = m.step_time / rows[*best].metrics->step_time - 1;
    table.add({label, report::time_text(m.step_time),
               &row == &rows[*best] ? (m.memory.fits ? "best" : "fastest") : fmt::format("{:+.1f} %", behind * 100),
               report::significant(m.tokens_per_s), report::percent(m.mfu), report::percent(m.bubble_fraction),
               report::percent(m.ideal_bubble_fraction), report::gib(m.memory.needed()), m.memory.fits ? "yes" : "NO",
               report::binary_bytes(Bytes(m.p2p_bytes_per_step))});
  }
  return table.text(paint);
}

// Returns every warning once. A warning of only some schedules begins with their labels.
std::vector<std::string> warnings_of(const Rows& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> labels;  // by warning
  std::size_t possible = 0;
  for (const study::TriedSchedule& row : rows) {
    if (!row.metrics) continue;
    ++possible;
    for (const std::string& warning : row.metrics->warnings) {
      auto known = std::find_if(labels.begin(), labels.end(), [&](const auto& each) { return each.first == warning; });
      if (known == labels.end()) known = labels.insert(labels.end(), {warning, {}});
      known->second.push_back(row.choice.label);
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [warning, of] : labels)
    warnings.push_back(of.size() == possible ? warning : fmt::format("{}: {}", fmt::join(of, ", "), warning));
  return warnings;
}

std::string text_of(const std::string& name, const Rows& rows, const Options& options, const Paint& paint) {
  std::string text = paint.name(name) + table_text(rows, paint);
  text += paint.paragraph("  ",
                          "bubble: idle time of the pipeline over the work of its busiest stage; ideal: with equal "
                          "stages and free messages");
  text += paint.paragraph("  ",
                          "GiB: memory that the fullest GPU needs; sent a stage: pipeline messages of one GPU of the "
                          "busiest stage in a step");
  if (std::any_of(rows.begin(), rows.end(), [](const study::TriedSchedule& row) { return row.is_own; }))
    text += "  *: the scenario's own schedule\n";
  for (const study::TriedSchedule& row : rows)
    for (const Complaint& complaint : row.impossible)
      text += paint.paragraph("  " + row.choice.label + ": ", study::reason(complaint));
  const std::string warnings = report::warnings_text(warnings_of(rows), paint);
  if (options.no_gantt || !study::fastest(rows)) return text + warnings;
  des::Duration axis;
  for (const study::TriedSchedule& row : rows) axis = std::max(axis, row.chart.length);
  text += report::title_text("Over time", "all on one axis", paint);
  std::vector<report::Gantt> charts;
  for (const study::TriedSchedule& row : rows) {
    if (!row.metrics) continue;
    text += report::gantt_text(row.chart, axis, paint) + '\n';
    charts.push_back(row.chart);
  }
  return text + report::gantt_legend(charts, paint) + warnings;
}

std::string json_of(const std::string& name, const Rows& rows) {
  const std::optional<std::size_t> best = study::fastest(rows);
  Json json = {{"name", name}};
  json["best"] = best && rows[*best].metrics->memory.fits ? Json(rows[*best].choice.label) : Json();
  json["schedules"] = Json::array();
  for (const study::TriedSchedule& row : rows) {
    Json entry = {{"label", row.choice.label},
                  {"schedule", row.choice.schedule.name},
                  {"virtual_pipeline", row.choice.chunks},
                  {"is_own", row.is_own}};
    entry["impossible"] = row.impossible.empty() ? Json() : Json(study::reasons(row.impossible));
    if (row.metrics) {
      entry["step_time_to_best"] = row.metrics->step_time / rows[*best].metrics->step_time;
      entry["result"] = Json::parse(report::to_json(*row.metrics));
    }
    json["schedules"].push_back(std::move(entry));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

// Returns the shipped engines that the question is valid for.
std::vector<std::string> engines_for(const Options& options) {
  std::vector<std::string> engines;
  for (const std::string& name : io::list_names(io::kEngines)) {
    std::vector<std::string> sets = options.sets;
    sets.push_back("engine=" + name);
    try {
      static_cast<void>(io::read_service_file(options.scenario, sets));
      engines.push_back(name);
    } catch (const ConfigError&) {  // it batches in another way
    }
  }
  return engines;
}

// Shows engines side by side on a question about serving.
int run_service(const Options& options) {
  if (!options.schedules.empty() || !options.svg.empty() || options.strict)
    throw ConfigError({{"foretoken compare", "", "--schedules, --svg and --strict expect a scenario of training"}});
  static_cast<void>(io::read_service_file(options.scenario, options.sets));  // what is wrong with all is said once
  const study::Varied engines{"engine", options.engines.empty() ? engines_for(options) : options.engines};
  if (const auto twice = study::first_twice(engines.values))
    throw ConfigError({{"--engines " + printable(*twice, 60), "", "it stands twice"}});
  LongWork work("engines");
  const study::VariedService varied = study::vary_service(
      {.service = options.scenario, .sets = options.sets, .keys = {engines}, .threads = 1}, work.watch());
  work.end();
  print(options.form == Form::kJson  ? work.marked(vary_service_json(varied))
        : options.form == Form::kCsv ? vary_service_csv(varied)
                                     : vary_service_text(varied, page_paint(options.colour)));
  return work.status(0);
}

int run(const Options& options) {
  if (options.scenario != "-" && io::is_service(options.scenario)) return run_service(options);
  if (!options.engines.empty())
    throw ConfigError({{"foretoken compare", "", "--engines expects a question about serving (foretoken serve)"}});
  std::vector<ScheduleChoice> choices;
  for (const std::string& text : options.schedules) {
    ScheduleChoice choice = parse_choice(text);
    for (const ScheduleChoice& known : choices)
      if (known.schedule.name == choice.schedule.name && known.chunks == choice.chunks)
        throw ConfigError(
            {wrong_choice(text, known.label == text ? "it stands twice" : "it is the same as " + known.label)});
    choices.push_back(std::move(choice));
  }
  const study::ScenarioSource source =
      scenario_source(options.scenario, script_variables(options.variables, "foretoken compare"));
  const job::Job scenario = source.read(options.sets).job;  // an error of every schedule is printed once
  if (choices.empty()) choices = usual_choices(scenario);
  if (options.strict)
    if (const auto refusal = study::why_not_strict(scenario, options.scenario)) {
      print_error(refusal->line());
      return kRefused;
    }
  refuse_same_files(std::array{NamedFile{"--svg", options.svg}}, io::paths_of(source.files(options.sets)));
  std::optional<OutputFile> svg;
  if (!options.svg.empty()) svg.emplace(options.svg);
  LongWork work("schedules");
  const Rows rows =
      study::try_schedules(source, options.sets, scenario, choices, io::read_shipped_residuals(), work.watch());
  work.end();
  if (svg) {
    std::vector<report::Gantt> charts;
    for (const study::TriedSchedule& row : rows)
      if (row.metrics) charts.push_back(row.chart);
    svg->write(draw::gantt_svg(charts));
    svg->commit();
  }
  print(options.form == Form::kText  ? text_of(scenario.name, rows, options, page_paint(options.colour))
        : options.form == Form::kCsv ? csv_of(Json::parse(json_of(scenario.name, rows)).at("schedules"))
                                     : work.marked(json_of(scenario.name, rows)));
  return work.status(study::fastest(rows) ? 0 : 1);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken compare gpt3-175b-1024-a100\n"
    "  foretoken compare gpt3-175b-1024-a100 --schedules gpipe,1f1b,interleaved:2 --svg schedules.svg\n"
    "  foretoken compare my.json --set batch.global=512 --json\n"
    "  foretoken compare llama-3-70b-chat-8-h100 --engines vllm,sglang   (a question of serve)\n\n"
    "An impossible schedule is shown with the reason. Exit status 1: no schedule is possible.\n";

}  // namespace
}  // namespace compare_command

void add_compare(CLI::App& program, Action& chosen) {
  using namespace compare_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("compare", "Show pipeline schedules, or engines of a service, side by side");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input")
      ->required();
  command
      ->add_option("--schedules", options->schedules,
                   "Names from `foretoken schedule list`, with chunks a stage where there are several (gpipe, 1f1b, "
                   "zb-h1, interleaved:2, zb-v:2, v-half:2, interleaved:4 and the scenario's own)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command->add_option("--engines", options->engines, "Engines to compare on a question about serving (all that fit it)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  add_form_options(*command, options->form);
  command->add_option("--svg", options->svg, "Write the Gantt charts, one below the other")->type_name("FILE");
  command->add_flag("--no-gantt", options->no_gantt, "Show only the table");
  add_strict_option(*command, options->strict);
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools
