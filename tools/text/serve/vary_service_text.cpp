// Writes rows of services as a table, as JSON and as CSV.
#include "tools/text/serve/vary_service_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/text/number.h"
#include "sim/study/reason.h"
#include "sim/study/serve/service_words.h"
#include "tools/text/json_csv.h"
#include "tools/text/serve/serve_text.h"

namespace foretoken::tools {
namespace {

using report::Paint;
using report::Table;
using VariedJson = nlohmann::ordered_json;

/// Returns true when services generate tokens one after another. An encoder answers a batch in one pass.
bool generates(const study::VariedService& varied) { return !varied.service.model.encoder; }

std::string share_text(const serve::Prediction& prediction) {
  return report::percent(*prediction.goodput_requests_per_s / prediction.requests_per_s);
}

void add_service(Table& table, std::vector<std::string> cells, int gpus, const serve::Prediction& prediction,
                 const study::VariedService& varied) {
  cells.push_back(report::whole(gpus));
  if (!prediction.fits) {
    table.add_note(std::move(cells), fmt::format("does not fit: {}", name_of(prediction.memory.front().fits()
                                                                                 ? prediction.memory.back().limit
                                                                                 : prediction.memory.front().limit)));
    return;
  }
  const auto time = [](double seconds) { return report::time_text(Seconds(seconds)); };
  cells.push_back(report::significant(prediction.tokens_per_s_per_gpu));
  if (generates(varied)) {
    cells.push_back(time(prediction.ttft.mean));
    cells.push_back(time(prediction.ttft.p99));
    cells.push_back(prediction.tpot ? time(prediction.tpot->mean) : "-");
  }
  cells.push_back(time(prediction.latency.mean));
  if (varied.service.limits.any()) cells.push_back(share_text(prediction));
  cells.push_back(prediction.cost_per_million_tokens ? report::significant(*prediction.cost_per_million_tokens, 3)
                                                     : "-");
  table.add(std::move(cells));
}

std::string rows_text(const study::VariedService& varied, const Paint& paint) {
  std::vector<Table::Column> columns;
  for (const study::Varied& key : varied.keys) columns.push_back({key.key.substr(key.key.rfind('.') + 1)});
  columns.insert(columns.end(), {{"GPUs", Table::Align::kRight, 3}, {"tokens/s/GPU"}});
  if (generates(varied)) columns.insert(columns.end(), {{"TTFT"}, {"P99 TTFT", Table::Align::kRight, 2}, {"TPOT"}});
  columns.push_back({"latency"});
  if (varied.service.limits.any()) columns.push_back({"within"});
  columns.push_back({"USD/M", Table::Align::kRight, 1});
  Table table(columns);
  add_service(table, std::vector<std::string>(varied.keys.size(), "as is"), varied.service.gpus(), varied.base, varied);
  for (const study::VariedServiceRow& row : varied.rows) {
    std::vector<std::string> cells;
    for (std::size_t key = 0; key < row.choice.size(); ++key) cells.push_back(varied.keys[key].values[row.choice[key]]);
    if (row.prediction)
      add_service(table, std::move(cells), row.gpus, *row.prediction, varied);
    else
      table.add_note(std::move(cells), study::reason(row.impossible.front()));
  }
  return table.text(paint, 2, "--csv and --json");
}

/// Returns each assumption of the base and the rows once.
std::vector<std::string> all_assumptions(const study::VariedService& varied) {
  std::vector<std::string> all = serve::assumptions_of(varied.service);
  for (const study::VariedServiceRow& row : varied.rows)
    for (const std::string& line : row.assumptions)
      if (std::find(all.begin(), all.end(), line) == all.end()) all.push_back(line);
  return all;
}

VariedJson answer_of(const serve::Prediction& prediction, int gpus) {
  VariedJson json = {{"gpus", gpus}, {"fits", prediction.fits}};
  json.update(answer_json(prediction));
  json["preemptions"] = prediction.preemptions;
  return json;
}

VariedJson rows_json(const study::VariedService& varied, bool assumptions) {
  VariedJson rows = VariedJson::array();
  for (const study::VariedServiceRow& row : varied.rows) {
    VariedJson json;
    for (std::size_t key = 0; key < row.choice.size(); ++key)
      json["set"][varied.keys[key].key] = varied.keys[key].values[row.choice[key]];
    json["impossible"] = row.prediction ? VariedJson() : VariedJson(study::reasons(row.impossible));
    if (row.prediction) {
      json["result"] = answer_of(*row.prediction, row.gpus);
      if (assumptions) json["assumptions"] = row.assumptions;
    }
    rows.push_back(std::move(json));
  }
  return rows;
}

}  // namespace

std::string vary_service_text(const study::VariedService& varied, const Paint& paint) {
  std::string text = paint.name(varied.service.name) + '\n' + rows_text(varied, paint);
  const auto add = [&](const char* what, const std::optional<std::size_t>& row) {
    if (row)
      text += paint.paragraph("  ", fmt::format("{}: {}", what, choice_text(varied.keys, varied.rows[*row].choice)));
  };
  add("Most throughput a GPU", varied.most_throughput);
  add("Lowest latency", varied.lowest_latency);
  if (varied.service.limits.any())
    text += paint.paragraph(
        "  ", fmt::format("within: requests that met{}", study::service_limits_words(varied.service.limits)));
  for (const std::string& line : all_assumptions(varied)) text += paint.paragraph("  assumed: ", line);
  return text + paint.paragraph("  ", "Times are means. `foretoken serve` gives the interval of one service.");
}

std::string vary_service_json(const study::VariedService& varied) {
  const auto place = [](const std::optional<std::size_t>& row) { return row ? VariedJson(*row) : VariedJson(); };
  VariedJson json = {{"name", varied.service.name}, {"base", answer_of(varied.base, varied.service.gpus())}};
  json["vary"] = VariedJson::array();
  for (const study::Varied& key : varied.keys) json["vary"].push_back({{"key", key.key}, {"values", key.values}});
  json["assumptions"] = serve::assumptions_of(varied.service);
  json["rows"] = rows_json(varied, true);
  json["most_throughput_row"] = place(varied.most_throughput);
  json["lowest_latency_row"] = place(varied.lowest_latency);
  return json.dump(-1, ' ', false, VariedJson::error_handler_t::replace) + '\n';
}

std::string vary_service_csv(const study::VariedService& varied) {
  VariedJson rows = VariedJson::array();
  VariedJson base;
  for (const study::Varied& key : varied.keys) base["set"][key.key] = "as is";
  base["result"] = answer_of(varied.base, varied.service.gpus());
  rows.push_back(std::move(base));
  for (VariedJson& row : rows_json(varied, false)) rows.push_back(std::move(row));
  return csv_of(rows);
}

}  // namespace foretoken::tools
