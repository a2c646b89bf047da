// Reads the "nvlink", "pcie" and "network" parts of a recipe.
#include "calibration/fit/recipes/read_parts.h"
#include "calibration/fit/recipes/recipe_nodes.h"
#include "sim/io/hardware/profile_fields.h"

namespace foretoken::fit {
namespace {

using io::Node;

std::vector<std::string> read_texts(const Node& node, std::string_view key) {
  std::vector<std::string> texts;
  for (const Node& each : node.array(key)) texts.push_back(each.as_text());
  return texts;
}

TableChoice read_tables(const Node& node, const Inputs& inputs) {
  node.allow_only({"table", "gpus", "not_over", "link_gb_per_s", "source"});
  TableChoice choice{.table = node.text("table"),
                     .gpus = read_texts(node, "gpus"),
                     .link_gb_per_s = node.number("link_gb_per_s", io::kRate),
                     .source = node.text("source"),
                     .place = place_of(node)};
  if (node.has("not_over")) choice.not_over = read_texts(node, "not_over");
  want_input(node, inputs, choice.table);
  return choice;
}

}  // namespace

InsideRecipe read_inside_recipe(const Node& node, const Inputs& inputs) {
  if (node.has("profile")) {
    node.allow_only({"profile", "evidence", "note"});
    InsideOfProfile law{.from = {node.text("profile"), place_of(node)}};
    if (const auto evidence = node.find_object("evidence")) law.at_own_rate = read_evidence(*evidence);
    return law;
  }
  node.allow_only({"tables", "latencies", "measured_on", "note"});
  InsideFit law{.tables = read_tables(node.object("tables"), inputs), .measured_on = node.find_text("measured_on")};
  if (const auto latencies = node.find_object("latencies")) law.latencies = read_from(*latencies);
  return law;
}

AcrossRecipe read_across_recipe(const Node& node, const Inputs& inputs) {
  if (node.has("profile")) {
    node.allow_only({"profile", "evidence", "measured_groups", "checked_on", "note"});
    AcrossOfProfile law{.from = {node.text("profile"), place_of(node)},
                        .with_measured = node.find_boolean("measured_groups").value_or(true)};
    if (const auto evidence = node.find_object("evidence")) law.evidence = read_evidence(*evidence);
    if (const auto tables = node.find_object("checked_on")) law.checked_on = read_tables(*tables, inputs);
    if (law.checked_on && !law.evidence) node.complain("evidence", "missing beside \"checked_on\"; expected an object");
    return law;
  }
  node.allow_only({"tables", "two_node_gain", "latency_per_doubling", "note"});
  AcrossFit law{.tables = read_tables(node.object("tables"), inputs)};
  if (const auto gain = node.find_object("two_node_gain")) law.two_node_gain = read_tables(*gain, inputs);
  if (const auto doubling = node.find_object("latency_per_doubling")) law.latency_per_doubling = read_from(*doubling);
  return law;
}

}  // namespace foretoken::fit
