// Reads inputs, rows and factors.
#include "calibration/fit/recipes/recipe_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "sim/base/text.h"
#include "sim/io/hardware/profile_fields.h"
#include "sim/io/json/fields.h"

namespace foretoken::fit {
namespace {

using io::Node;

Input read_input(const Node& node) {
  node.allow_only({"file", "sha256", "source", "form"});
  Input input{.source = node.text("source"), .form = node.text("form"), .place = place_of(node)};
  if (const auto file = node.find_text("file")) input.path = (node.source().folder / *file).lexically_normal();
  if (const auto sum = node.find_text("sha256")) {
    input.sha256 = *sum;
    const bool sound =
        sum->size() == 64 && std::all_of(sum->begin(), sum->end(), [](unsigned char c) { return std::isxdigit(c); });
    if (!sound) node.complain("sha256", fmt::format("expected 64 hexadecimal digits, found {}", in_quotes(*sum)));
  }
  return input;
}

/// Reads "bf16", ["TN", "NN"], or {"least": 128, "most": 4096}.
measured::ColumnTest read_test(const Node& node, const std::string& column) {
  measured::ColumnTest test{.column = column};
  if (node.is_text()) {
    test.one_of = {node.as_text()};
  } else if (node.value().is_array()) {
    for (const Node& each : node.as_array()) test.one_of.push_back(each.as_text());
    if (test.one_of.empty()) node.expected("at least one value");
  } else if (node.value().is_object()) {
    node.allow_only({"least", "most"});
    test.least = node.find_number("least");
    test.most = node.find_number("most");
    if (!test.least && !test.most) node.expected("\"least\", \"most\" or both");
  } else {
    node.expected("a text, a list of texts, or {\"least\": NUMBER, \"most\": NUMBER}");
  }
  return test;
}

}  // namespace

Place place_of(const Node& node) { return {node.source().file, node.pointer()}; }

Inputs read_inputs(const Node& node) {
  Inputs inputs;
  for (const std::string& name : node.keys()) inputs.emplace(name, read_input(node.object(name)));
  return inputs;
}

void want_input(const Node& node, const Inputs& inputs, const std::string& table) {
  if (inputs.contains(table) || !node.has("table")) return;
  std::vector<std::string> names;
  for (const auto& [name, input] : inputs) names.push_back(name);
  node.complain("table",
                fmt::format("expected one of the inputs ({}), found {}", fmt::join(names, ", "), in_quotes(table)));
}

Rows read_rows(const Node& node, const Inputs& inputs) {
  node.allow_only({"table", "where", "less", "layout"});
  Rows rows{.table = node.text("table"), .less = node.find_text("less").value_or(""), .place = place_of(node)};
  want_input(node, inputs, rows.table);
  if (const auto where = node.find_object("where"))
    for (const std::string& column : where->keys())
      rows.choice.where.push_back(read_test(where->child(column), column));
  if (node.has("layout"))
    rows.layout = node.one_of<GemmPass>(
        "layout", {{"TN", GemmPass::kForward}, {"NN", GemmPass::kInputGradient}, {"NT", GemmPass::kWeightGradient}});
  return rows;
}

FromProfile read_from(const Node& node) {
  node.allow_only({"profile", "note"});
  return {node.text("profile"), place_of(node)};
}

FactorOfRows read_factor_of_rows(const Node& node, const Inputs& inputs) {
  node.allow_only({"rows", "shortest_us", "least_dimension", "corrected", "note"});
  return {.rows = read_rows(node.object("rows"), inputs),
          .shortest = microseconds(node.find_number("shortest_us", io::kMicroseconds).value_or(0)),
          .least_dimension = node.find_whole("least_dimension").value_or(0),
          .corrected = node.find_boolean("corrected").value_or(false)};
}

std::optional<FactorRecipe> read_factor(const Node& node, std::string_view key, const Inputs& inputs) {
  if (!node.has(key)) return std::nullopt;
  const Node factor = node.child(key);
  if (!factor.value().is_object()) return factor.as_number(io::kFactor);
  if (factor.has("profile")) return read_from(factor);
  if (factor.has("products")) {
    factor.allow_only({"products", "note"});
    return FactorOfProducts{read_precision(factor, "products")};
  }
  return read_factor_of_rows(factor, inputs);
}

cost::Evidence read_evidence(const Node& node) {
  return io::Fields::read_fields<cost::Evidence>(node, io::evidence_fields);
}

Precision read_precision(const Node& node, std::string_view key) {
  return node.one_of<Precision>(key, {{"fp32", Precision::kFp32},
                                      {"fp16", Precision::kFp16},
                                      {"bf16", Precision::kBf16},
                                      {"fp8", Precision::kFp8},
                                      {"fp8_block", Precision::kFp8Block}});
}

}  // namespace foretoken::fit
