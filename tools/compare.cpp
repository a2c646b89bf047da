// foretoken compare: schedules side by side on one scenario.
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
#include "sim/io/json/text.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/report/gantt.h"
#include "sim/report/json.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/schedule/catalogue.h"
#include "sim/study/error_bar.h"
#include "sim/study/simulate.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/reason.h"
#include "tools/scenario_text.h"
#include "tools/strict.h"

namespace foretoken::tools {
namespace {

using report::Paint;
using report::Table;
using Json = nlohmann::ordered_json;

struct Options {
  std::string scenario, svg, colour;
  std::vector<std::string> schedules, sets;
  bool json = false, no_gantt = false, strict = false;
};

// "interleaved:4": a schedule and its chunks a stage.
struct Candidate {
  std::string label, schedule;
  int chunks = 1;
  bool is_own = false;  ///< the scenario's
};

struct Row {
  Candidate candidate;
  std::optional<report::Metrics> metrics;
  report::Gantt chart;
  std::vector<Complaint> impossible;
};

Complaint wrong_candidate(const std::string& text, std::string message) {
  return {"--schedules " + io::printable(text, 60), "", std::move(message)};
}

Candidate parse_candidate(const std::string& text) {
  const std::size_t colon = text.find(':');
  Candidate candidate{.label = text, .schedule = text.substr(0, colon)};
  if (candidate.schedule == "interleaved") candidate.schedule = "interleaved-1f1b";
  const auto known = schedule::find_schedule(candidate.schedule);
  if (!known) {
    std::vector<std::string> names;
    for (const schedule::Schedule& each : schedule::all_schedules())
      names.push_back(std::string(each.name) + (each.interleaves ? ":2" : ""));
    const std::string meant = io::did_you_mean(candidate.schedule, names);
    throw ConfigError({wrong_candidate(
        text, "unknown schedule" + (meant.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : meant))});
  }
  if (colon != text.npos) {
    const auto chunks = parse_number<int>(std::string_view(text).substr(colon + 1), 1);
    if (!chunks) throw ConfigError({wrong_candidate(text, "expected NAME:CHUNKS, for instance interleaved:2")});
    candidate.chunks = *chunks;
  }
  if (known->interleaves && candidate.chunks < 2)
    throw ConfigError({wrong_candidate(text, "expected the chunks a stage, at least 2, for instance interleaved:2")});
  if (!known->interleaves && candidate.chunks > 1)
    throw ConfigError({wrong_candidate(text, "this schedule has one chunk a stage; leave the number out")});
  return candidate;
}

// The usual ones and the scenario's own, by chunks.
std::vector<Candidate> usual_candidates(const job::Job& scenario) {
  std::vector<Candidate> candidates;
  for (const char* text : {"gpipe", "1f1b", "interleaved:2", "interleaved:4"})
    candidates.push_back(parse_candidate(text));
  const int chunks = scenario.parallelism.virtual_pipeline;
  const auto is_own = [&](const Candidate& each) {
    return each.schedule == scenario.schedule && each.chunks == chunks;
  };
  if (std::none_of(candidates.begin(), candidates.end(), is_own)) {
    const std::string name = scenario.schedule == "interleaved-1f1b" ? "interleaved" : scenario.schedule;
    candidates.push_back({chunks > 1 ? fmt::format("{}:{}", name, chunks) : name, scenario.schedule, chunks});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.chunks < b.chunks; });
  return candidates;
}

// The scenario's own configuration with another schedule; all rules of scenarios apply.
Row try_candidate(const ScenarioSource& source, const Options& options, const trust::Evidence& evidence,
                  const Candidate& candidate) {
  Row row{.candidate = candidate, .metrics = {}, .chart = {}, .impossible = {}};
  std::vector<std::string> sets = options.sets;
  sets.push_back(fmt::format("schedule=\"{}\"", candidate.schedule));
  sets.push_back(fmt::format("parallelism.virtual_pipeline={}", candidate.chunks));
  if (candidate.chunks == 1) sets.emplace_back("batch.microbatch_group=null");
  try {
    const study::Simulation simulation = study::simulate(source.read(sets));
    row.metrics = simulation.metrics;
    study::add_interval(*row.metrics, simulation.job, evidence);
    row.chart = report::gantt_of(simulation.step.workload, simulation.run, candidate.label);
  } catch (const ConfigError& error) {
    row.impossible = error.complaints();
  }
  return row;
}

const Row* fastest(const std::vector<Row>& rows) {
  const Row* best = nullptr;
  for (const Row& row : rows)
    if (row.metrics && (best == nullptr || row.metrics->step_time < best->metrics->step_time)) best = &row;
  return best;
}

std::string table_text(const std::vector<Row>& rows, const Paint& paint) {
  const Row* best = fastest(rows);
  Table table({{"schedule", Table::Align::kLeft},
               {"step"},
               {"to best"},
               {"tokens/s"},
               {"MFU"},
               {"bubble"},
               {"ideal"},
               {"peak GiB"},
               {"fits", Table::Align::kLeft},
               {"sent a stage"}});
  for (const Row& row : rows) {
    const std::string label = row.candidate.label + (row.candidate.is_own ? " *" : "");
    if (!row.metrics) {
      table.add_note({label}, "impossible here, see below");
      continue;
    }
    const report::Metrics& m = *row.metrics;
    const double behind = m.step_time / best->metrics->step_time - 1;
    table.add({label, report::time_text(m.step_time), &row == best ? "best" : fmt::format("{:+.1f} %", behind * 100),
               report::significant(m.tokens_per_s), report::percent(m.mfu), report::percent(m.bubble_fraction),
               report::percent(m.ideal_bubble_fraction), report::gib(m.memory.peak), m.memory.fits ? "yes" : "NO",
               report::binary_bytes(Bytes(m.p2p_bytes_per_step))});
  }
  return table.text(paint);
}

// Each once, behind the schedules that it is of where these are not all.
std::vector<std::string> warnings_of(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> labels;  // by warning
  std::size_t possible = 0;
  for (const Row& row : rows) {
    if (!row.metrics) continue;
    ++possible;
    for (const std::string& warning : row.metrics->warnings) {
      auto known = std::find_if(labels.begin(), labels.end(), [&](const auto& each) { return each.first == warning; });
      if (known == labels.end()) known = labels.insert(labels.end(), {warning, {}});
      known->second.push_back(row.candidate.label);
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [warning, of] : labels)
    warnings.push_back(of.size() == possible ? warning : fmt::format("{}: {}", fmt::join(of, ", "), warning));
  return warnings;
}

std::string text_of(const std::string& name, const std::vector<Row>& rows, const Options& options, const Paint& paint) {
  std::string text = paint(report::Ink::kBold, name) + '\n' + table_text(rows, paint);
  text +=
      "  bubble: idle time of the pipeline over the work of its busiest stage; ideal (p-1)/(vm)\n"
      "  peak: fullest stage; sent a stage: pipeline messages of one GPU of the busiest stage in a step\n";
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.candidate.is_own; }))
    text += "  *: the scenario's own schedule\n";
  for (const Row& row : rows)
    for (const Complaint& complaint : row.impossible)
      text += report::paragraph("  " + row.candidate.label + ": ", reason(complaint));
  const std::string warnings = report::warnings_text(warnings_of(rows), paint);
  if (options.no_gantt || fastest(rows) == nullptr) return text + warnings;
  des::Duration axis;
  for (const Row& row : rows) axis = std::max(axis, row.chart.length);
  text += report::title_text("Over time", "all on one axis", paint);
  for (const Row& row : rows)
    if (row.metrics) text += report::gantt_text(row.chart, axis, paint) + '\n';
  return text + report::gantt_legend(paint) + warnings;
}

std::string json_of(const std::string& name, const std::vector<Row>& rows) {
  const Row* best = fastest(rows);
  Json json = {{"name", name}};
  json["best"] = best == nullptr ? Json() : Json(best->candidate.label);
  json["schedules"] = Json::array();
  for (const Row& row : rows) {
    Json entry = {{"label", row.candidate.label},
                  {"schedule", row.candidate.schedule},
                  {"virtual_pipeline", row.candidate.chunks},
                  {"is_own", row.candidate.is_own}};
    entry["impossible"] = row.impossible.empty() ? Json() : Json(reasons(row.impossible));
    if (row.metrics) {
      entry["step_time_to_best"] = row.metrics->step_time / best->metrics->step_time;
      entry["result"] = Json::parse(report::to_json(*row.metrics));
    }
    json["schedules"].push_back(std::move(entry));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

int run(const Options& options) {
  std::vector<Candidate> candidates;
  for (const std::string& text : options.schedules) candidates.push_back(parse_candidate(text));
  const ScenarioSource source(options.scenario);
  const job::Job scenario = source.read(options.sets);  // what is wrong whatever the schedule is said once
  if (candidates.empty()) candidates = usual_candidates(scenario);
  for (Candidate& each : candidates)
    each.is_own = each.schedule == scenario.schedule && each.chunks == scenario.parallelism.virtual_pipeline;
  if (options.strict)
    if (const auto refusal = why_not_strict(scenario, options.scenario)) {
      print_error(refusal->line());
      return kRefused;
    }
  std::optional<OutputFile> svg;
  if (!options.svg.empty()) svg.emplace(options.svg);
  std::vector<Row> rows;
  const trust::Evidence evidence = io::read_shipped_residuals();
  for (const Candidate& candidate : candidates) rows.push_back(try_candidate(source, options, evidence, candidate));
  if (svg) {
    std::vector<report::Gantt> charts;
    for (const Row& row : rows)
      if (row.metrics) charts.push_back(row.chart);
    svg->write(report::gantt_svg(charts));
    svg->commit();
  }
  const Paint paint(!options.json && wants_colour(options.colour));
  print(options.json ? json_of(scenario.name, rows) : text_of(scenario.name, rows, options, paint));
  return fastest(rows) == nullptr ? 1 : 0;
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken compare gpt3-175b-1024-a100\n"
    "  foretoken compare gpt3-175b-1024-a100 --schedules gpipe,1f1b,interleaved:2 --svg schedules.svg\n"
    "  foretoken compare my.json --set batch.global=512 --json\n\n"
    "A schedule that the scenario cannot have is shown with the reason. Exit status 1: none is possible.\n";

}  // namespace

void add_compare(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("compare", "Pipeline schedules side by side on one scenario");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input")
      ->required();
  command
      ->add_option("--schedules", options->schedules,
                   "Names from `foretoken schedule list`, interleaved with its chunks a stage "
                   "(gpipe,1f1b,interleaved:2,interleaved:4 and the scenario's own)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->add_option("--svg", options->svg, "Write the Gantt charts, one below the other")->type_name("FILE");
  command->add_flag("--no-gantt", options->no_gantt, "Only the table");
  add_strict_option(*command, options->strict);
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools
