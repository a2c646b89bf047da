// Shows the assumptions of the prediction, and each constant with its source.
#include <fmt/format.h>

#include <array>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/job/parts.h"

namespace foretoken::html {
namespace {

// Splits an assumption at its first colon: "profile a100: gemm bf16: fitted: ..." belongs to profile a100.
std::pair<std::string, std::string> place_and_rest(const std::string& line) {
  const bool named = line.starts_with("profile ") || line.starts_with("runtime ");
  const std::size_t colon = named ? line.find(": ") : line.npos;
  if (colon == line.npos) return {"this scenario", line};
  return {line.substr(0, colon), line.substr(colon + 2)};
}

// Returns a badge with the evidence of a statement (fitted, scaled, assumed), where the statement names it.
std::string badge(const std::string& text) {
  constexpr std::array kWords{"not fitted", "fitted", "assumed", "scaled", "datasheet", "measured", "counted"};
  for (const char* word : kWords)
    if (text.find(word) != text.npos) {
      const std::string_view shown = std::string_view(word) == "not fitted" ? "stated" : word;
      return fmt::format("<span class=\"badge {0}\">{0}</span>", shown);
    }
  return "<span class=\"badge\">stated</span>";
}

}  // namespace

std::string assumptions(const ReportData& data) {
  Table table({{"belongs to", false}, {"founded on", false}, {"assumption and source", false}});
  for (const std::string& line : data.base.metrics.assumptions) {
    const auto [place, rest] = place_and_rest(line);
    table.add({Table::text(place), {badge(rest)}, Table::text(rest)});
  }
  const auto add_datasheet = [&](const std::string& place, const std::string& source) {
    if (!source.empty())
      table.add({Table::text(place), {"<span class=\"badge datasheet\">datasheet</span>"}, Table::text(source)});
  };
  const job::Parts parts(data.base.job);
  for (const job::Job* part : parts.all()) {
    add_datasheet("cluster " + part->cluster.name, part->cluster.source);
    add_datasheet("GPU " + part->cluster.gpu.name, part->cluster.gpu.source);
  }
  return table.html();
}

}  // namespace foretoken::html
