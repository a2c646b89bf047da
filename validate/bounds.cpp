// Reads bounds, and checks results against them.
#include "validate/bounds.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/noun.h"
#include "sim/io/json/document.h"
#include "sim/io/json/node.h"

namespace foretoken::validate {
namespace {

constexpr double kPercent = 0.01;

SetBound read_set(const io::Node& node) {
  node.allow_only({"step_time", "peak_memory", "layer_forward", "layer_backward", "tau", "false_out_of_memory"});
  SetBound bound;
  for (const Quantity quantity : kQuantities)
    if (const auto one = node.find_object(key_of(quantity))) {
      one->allow_only({"mean_percent", "worst_percent"});
      bound.errors[quantity] = {kPercent * one->number("mean_percent", io::kPositive),
                                kPercent * one->number("worst_percent", io::kPositive)};
    }
  bound.tau = node.find_number("tau", {.low = -1, .high = 1}).value_or(-1);
  bound.false_out_of_memory = static_cast<int>(node.whole_or("false_out_of_memory", 0, {.low = 0, .high = 1000}));
  return bound;
}

void check_errors(const SetResult& result, const SetBound& bound, std::vector<std::string>& broken) {
  for (const QuantityErrors& errors : result.errors) {
    const auto allowed = bound.errors.find(errors.quantity);
    if (allowed == bound.errors.end()) {
      broken.push_back(fmt::format("{}: no bound for its {}", result.set.name, words_of(errors.quantity)));
      continue;
    }
    const auto check = [&](std::string_view what, double found, double limit) {
      if (found > limit)
        broken.push_back(fmt::format("{}: {} error of the {} is {:.2f} %, at most {:.2f} % is allowed", result.set.name,
                                     what, words_of(errors.quantity), 100 * found, 100 * limit));
    };
    check("mean", errors.all.mean, allowed->second.mean);
    check("worst", errors.all.worst, allowed->second.worst);
  }
}

}  // namespace

Bounds read_bounds(const std::filesystem::path& file) {
  io::Findings findings;
  const auto document = io::document_from_file(file, findings);
  findings.throw_if_wrong();
  Bounds bounds;
  const io::Node root = document->root(findings);
  for (const std::string& name : root.keys()) bounds[name] = read_set(root.object(name));
  findings.throw_if_wrong();
  return bounds;
}

std::vector<std::string> broken_bounds(const SetResult& result, const Bounds& bounds) {
  std::vector<std::string> broken;
  const auto bound = bounds.find(result.set.name);
  if (bound == bounds.end()) return {fmt::format("{}: no bounds", result.set.name)};
  check_errors(result, bound->second, broken);
  if (result.ranking.pairs > 0 && result.ranking.tau < bound->second.tau)
    broken.push_back(fmt::format("{}: Kendall's tau is {:.3f}, at least {:.3f} is required", result.set.name,
                                 result.ranking.tau, bound->second.tau));
  if (result.false_out_of_memory > bound->second.false_out_of_memory)
    broken.push_back(fmt::format("{}: {} that ran {} predicted to run out of memory, at most {} allowed",
                                 result.set.name, with_noun(result.false_out_of_memory, "row"),
                                 result.false_out_of_memory == 1 ? "is" : "are", bound->second.false_out_of_memory));
  return broken;
}

}  // namespace foretoken::validate
