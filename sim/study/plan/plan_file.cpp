// Reads capacity plans for a report. Keys that a report does not show are ignored.
#include "sim/study/plan/plan_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/io/json/document.h"
#include "sim/io/json/node.h"
#include "sim/io/scenario/dispatcher_choice.h"
#include "sim/report/text/number.h"
#include "sim/study/search/answer.h"

namespace foretoken::study {
namespace {

using io::Node;

model::RecomputeGranularity recompute_of(const Node& found) {
  using model::RecomputeGranularity;
  const std::string name = found.text("recompute");
  for (const auto each : {RecomputeGranularity::kSelective, RecomputeGranularity::kFull})
    if (name_of(each) == name) return each;
  return RecomputeGranularity::kNone;
}

std::optional<Precision> precision_of(const Node& found) {
  if (!found.has("precision")) return std::nullopt;
  return precision_named(found.text("precision"));
}

job::Overlap overlap_of(const Node& found) {
  job::Overlap overlap;
  const Node stated = found.object_or_empty("overlap");
  for (const auto& [name, member] : job::kOverlaps) overlap.*member = stated.boolean_or(name, false);
  overlap.exchanges = stated.boolean_or("exchanges", false);
  return overlap;
}

std::optional<model::Dispatcher> dispatcher_of(const Node& found) {
  if (!found.has("dispatcher")) return std::nullopt;
  return found.one_of("dispatcher", io::kDispatcherNames);
}

std::string words_of(const Node& found, int gpus) {
  PerAxis<int> degrees(1);
  for (const auto& [axis, member] : job::kDegrees) degrees[axis] = found.positive_int(name_of(axis));
  for (const auto& [axis, member] : job::kExpertDegrees)
    if (found.has(name_of(axis))) degrees[axis] = found.positive_int(name_of(axis));
  return configuration_words({.gpus = gpus,
                              .degrees = degrees,
                              .virtual_pipeline = found.positive_int("virtual_pipeline"),
                              .micro = found.whole("micro"),
                              .microbatch_group = static_cast<int>(found.whole_or("microbatch_group", 0)),
                              .sequence_parallel = found.boolean("sequence_parallel"),
                              .recompute = recompute_of(found),
                              .zero_stage = static_cast<int>(found.whole("zero_stage", {.low = 0, .high = 3})),
                              .precision = precision_of(found),
                              .short_gradients = found.boolean_or("gradients_in_16_bit", false),
                              .dispatcher = dispatcher_of(found)},
                             overlap_of(found));
}

std::optional<report::Range> find_range(const Node& node, std::string_view key) {
  const auto found = node.find_array(key);
  if (!found) return std::nullopt;
  const std::vector<Node>& ends = *found;
  if (ends.size() != 2) {
    node.complain(key, "expected two numbers, the ends of an interval");
    return std::nullopt;
  }
  return report::Range{ends[0].as_number(io::kNonNegative), ends[1].as_number(io::kNonNegative)};
}

PlanOption read_option(const Node& node) {
  PlanOption option{.cluster = node.text("cluster"),
                    .gpus = node.positive_int("gpus"),
                    .impossible = node.text_or("impossible", ""),
                    .configuration = {},
                    .cost = {},
                    .energy_mwh = {}};
  if (!option.impossible.empty()) return option;
  option.configuration = words_of(node.object("configuration"), option.gpus);
  option.expected_days = node.number("expected_days", io::kPositive);
  option.p50_days = node.number("p50_days", io::kPositive);
  option.p90_days = node.number("p90_days", io::kPositive);
  option.goodput = node.number("goodput", io::kNonNegative);
  option.gpu_hours = node.number("gpu_hours", io::kNonNegative);
  option.scaling_efficiency = node.number("scaling_efficiency", io::kNonNegative);
  option.cost = node.find_number("cost", io::kNonNegative);
  option.energy_mwh = node.find_number("energy_mwh", io::kNonNegative);
  option.days_range = find_range(node, "days_interval");
  option.cost_range = find_range(node, "cost_interval");
  option.meets_deadline = node.boolean("meets_deadline");
  option.within_budget = node.find_boolean("within_budget");
  option.chance = node.find_number("chance", io::kFraction);
  return option;
}

// Returns the place of the option that `key` names.
std::optional<std::size_t> chosen(const Node& root, std::string_view key, std::size_t options) {
  if (options == 0) {
    if (root.has(key)) root.complain(key, "expected none without options");
    return std::nullopt;
  }
  const auto place = root.find_whole(key, {.low = 0, .high = static_cast<std::int64_t>(options) - 1});
  return place ? std::optional(static_cast<std::size_t>(*place)) : std::nullopt;
}

// Lists the assumptions of the plan about failures, checkpoints and energy. Plans of older versions hold fewer.
std::vector<std::string> assumptions_of(const Node& root, const Node& option) {
  std::vector<std::string> lines;
  if (const auto assumed = root.find_object("assumptions")) {
    if (const auto hours = assumed->find_number("mtbf_hours_per_gpu", io::kPositive))
      lines.push_back(fmt::format("{} hours between interruptions of one GPU", report::plain(*hours)));
    if (const auto restart = assumed->find_number("restart_s", io::kNonNegative))
      lines.push_back(fmt::format("{} to restart", report::days_text(*restart / 86400)));
    if (const auto pue = assumed->find_number("pue", io::kPositive))
      lines.push_back(fmt::format("PUE {}", report::plain(*pue)));
  }
  const auto write = option.find_number("checkpoint_write_s", io::kNonNegative);
  const auto between = option.find_number("checkpoint_interval_s", io::kNonNegative);
  if (write && between)
    lines.push_back(fmt::format("a checkpoint every {}, {} to write", report::days_text(*between / 86400),
                                report::time_text(Seconds(*write))));
  return lines;
}

PlanFile read(const Node& root) {
  PlanFile file{.plan = {.tokens = root.number("tokens", io::kPositive),
                         .deadline_days = root.find_number("deadline_days", io::kPositive),
                         .budget = root.find_number("budget", io::kPositive),
                         .currency = root.text_or("currency", "USD"),
                         .options = {},
                         .about = {},
                         .assumptions = {},
                         .command = root.text_or("command", ""),
                         .version = root.text_or("version", "")},
                .scenario = {}};
  const std::vector<Node> options = root.array("options");
  std::optional<std::size_t> about;
  for (std::size_t i = 0; i < options.size(); ++i) {
    file.plan.options.push_back(read_option(options[i].as_object()));
    if (!about && file.plan.options.back().impossible.empty()) about = i;
  }
  const auto smallest = chosen(root, "smallest", options.size()), cheapest = chosen(root, "cheapest", options.size());
  if (smallest) file.plan.options[*smallest].is_smallest = true;
  if (cheapest) file.plan.options[*cheapest].is_cheapest = true;
  if (smallest) about = smallest;
  if (cheapest) about = cheapest;
  if (!about)
    root.complain("options", "expected an option with a configuration, found none; there is nothing to report on");
  else {
    file.plan.about = about;
    file.plan.assumptions = assumptions_of(root, options[*about].as_object());
    file.scenario = options[*about].object("scenario").value().dump();
  }
  return file;
}

}  // namespace

std::optional<PlanFile> read_plan_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  io::Findings findings;
  const std::optional<io::Document> document = io::document_from_file(path, findings);
  if (!document || !document->value.is_object() || !document->value.contains("options")) return std::nullopt;
  PlanFile file = read(document->root(findings));
  findings.throw_if_wrong();
  return file;
}

}  // namespace foretoken::study
