// Reads the request of a fit, and the published steps that it names.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "calibration/fit_runtime/runtime_fit.h"
#include "calibration/fit_runtime/runtime_number.h"
#include "sim/io/json/document.h"
#include "sim/io/scenario/read_scenario.h"
#include "validate/case_set.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kMostNumbers = 6;

std::vector<Movable> read_numbers(const io::Node& node) {
  std::vector<Movable> numbers;
  for (const std::string& name : node.keys()) {
    if (find_runtime_number(name) == nullptr) node.complain(name, "expected a number of a runtime file");
    const std::vector<double> bounds = node.numbers(name);
    if (bounds.size() != 2 || bounds[0] >= bounds[1]) {
      node.complain(name, "expected [low, high]");
      continue;
    }
    numbers.push_back({name, bounds[0], bounds[1]});
  }
  if (numbers.empty() || numbers.size() > kMostNumbers)
    node.complain(fmt::format("expected one to {} numbers, found {}", kMostNumbers, numbers.size()));
  return numbers;
}

std::string group_of(const std::string& scenario, const std::vector<std::string>& pointers) {
  const nlohmann::json json = nlohmann::json::parse(scenario);
  std::string group;
  for (const std::string& pointer : pointers) {
    const nlohmann::json::json_pointer at(pointer);
    group += (json.contains(at) ? json.at(at).dump() : "-") + " ";
  }
  return group;
}

void add_steps(RuntimeFitRequest& request, const std::string& set, bool all,
               const std::vector<std::string>& group_pointers) {
  for (validate::Case& row : validate::read_case_set(set).cases) {
    if (!row.measured.step_time || (!all && !row.fitted)) continue;
    job::Job scenario = io::read_scenario_text(row.scenario, row.id).job;
    if (scenario.runtime.name != request.runtime) continue;
    request.steps.push_back({.scenario = std::move(scenario),
                             .seconds = row.measured.step_time->value(),
                             .group = group_pointers.empty() ? row.id : group_of(row.scenario, group_pointers)});
  }
}

std::vector<std::string> texts(const io::Node& node, std::string_view key) {
  std::vector<std::string> list;
  for (const io::Node& item : node.array(key)) list.push_back(item.as_text());
  return list;
}

}  // namespace

RuntimeFitRequest read_runtime_fit(const std::filesystem::path& path) {
  io::Findings findings;
  const auto document = io::document_from_file(path, findings);
  findings.throw_if_wrong();
  const io::Node node = document->root(findings);
  node.allow_only({"runtime", "sets", "rows", "groups", "numbers", "folds", "stride"});
  RuntimeFitRequest request{
      .runtime = node.text("runtime"), .numbers = read_numbers(node.object("numbers")), .steps = {}};
  request.folds = node.positive_int_or("folds", request.folds);
  request.stride = node.positive_int_or("stride", request.stride);
  const bool all = node.one_of_or<bool>("rows", true, {{"all", true}, {"fitted", false}});
  const std::vector<std::string> groups = node.has("groups") ? texts(node, "groups") : std::vector<std::string>{};
  const std::vector<std::string> sets = texts(node, "sets");
  findings.throw_if_wrong();
  for (const std::string& set : sets) add_steps(request, set, all, groups);
  std::set<std::string> names;
  for (const MeasuredStep& step : request.steps) names.insert(step.group);
  if (static_cast<int>(names.size()) < request.folds)
    node.complain("folds",
                  fmt::format("expected at most the {} groups of rows that run {}", names.size(), request.runtime));
  findings.throw_if_wrong();
  return request;
}

}  // namespace foretoken::fit
