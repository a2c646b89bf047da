// Writes a trace's times beside the predicted ones, as text and as JSON.
#include "tools/text/diagnose/trace_answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/text.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"

namespace foretoken::tools {
namespace trace_text {
namespace {

using report::Paint;
using report::time_text;
using Json = nlohmann::ordered_json;

// Returns the time of one layer and one micro-batch, of a whole step.
std::string by_layer(Seconds time, const std::optional<study::PredictedTimes>& predicted) {
  if (!predicted || predicted->layers < 1 || predicted->microbatches < 1) return "";
  return time_text(time / (static_cast<double>(predicted->layers) * predicted->microbatches));
}

std::optional<Seconds> prediction_of(const TraceAnswer& answer, io::trace::Work work) {
  return answer.predicted ? answer.predicted->works[static_cast<std::size_t>(work)] : std::nullopt;
}

std::string works_text(const TraceAnswer& answer, const Paint& paint) {
  using Align = report::Table::Align;
  std::vector<report::Table::Column> columns{{"kind", Align::kLeft}, {"kernels"}, {"measured"}, {"of step"}};
  if (answer.predicted)
    for (const char* head : {"predicted", "ratio", "measured a layer"}) columns.push_back({head});
  report::Table table(columns);
  for (const study::WorkTime& each : answer.times.works) {
    std::vector<std::string> cells{std::string(name_of(each.work)), report::whole(static_cast<double>(each.kernels)),
                                   time_text(each.measured), report::percent(each.measured / answer.times.step)};
    if (answer.predicted) {
      const auto expected = prediction_of(answer, each.work);
      cells.push_back(expected ? time_text(*expected) : "none");
      cells.push_back(expected ? fmt::format("{:.2f}", each.measured / *expected) : "");
      cells.push_back(by_layer(each.measured, answer.predicted));
    }
    table.add(std::move(cells));
  }
  return report::title_text("Kernels by kind", "sums over a step; kernels may run side by side", paint) +
         table.text(paint);
}

std::string span_line(std::string_view label, Seconds time, Seconds step, const std::string& remark) {
  return fmt::format("  {}{}{}{}\n", report::pad_right(label, 26), report::pad_right(time_text(time), 12),
                     report::pad_right(report::percent(time / step), 10), remark);
}

std::string split_text(const TraceAnswer& answer, const Paint& paint) {
  const study::TraceTimes& t = answer.times;
  std::string text = report::title_text(
      "One step",
      t.steps_are_marked ? fmt::format("mean of {} marked steps", t.steps) : "no step is marked: all of the trace",
      paint);
  text += span_line("step", t.step, t.step,
                    answer.predicted ? fmt::format("predicted {}", time_text(answer.predicted->step)) : "");
  text += span_line("computing", t.computing, t.step, "");
  text += span_line("exposed communication", t.exposed, t.step,
                    answer.predicted ? fmt::format("predicted {}", time_text(answer.predicted->exposed)) : "");
  text += span_line("hidden communication", t.communicating - t.exposed, t.step, "");
  return text + span_line("idle", t.idle, t.step,
                          fmt::format("{} of 10 us or more, the longest {}",
                                      report::counted(static_cast<double>(t.gaps), "gap"), time_text(t.longest_gap)));
}

}  // namespace
}  // namespace trace_text

std::string trace_answer_text(const TraceAnswer& answer, const report::Paint& paint) {
  using namespace trace_text;
  std::string text = paint.name(answer.file);
  text += fmt::format("  a trace of {}\n", answer.gpu.empty() ? "one GPU" : printable(answer.gpu));
  if (answer.predicted)
    text += fmt::format("  beside {}, stage {}: {} layers, {} micro-batches\n", answer.prediction->metrics.name,
                        answer.predicted->stage.number(), answer.predicted->layers, answer.predicted->microbatches);
  text += split_text(answer, paint) + works_text(answer, paint);
  if (answer.times.other.empty()) return text;
  text += report::title_text("Kernels of no known kind", "the largest", paint);
  for (const study::TopKernel& each : answer.times.other)
    text += fmt::format("  {}{}\n", report::pad_right(time_text(each.time), 12),
                        report::one_line(printable(each.name), paint.columns() - 16));
  return text;
}

std::string trace_answer_json(const TraceAnswer& answer) {
  using namespace trace_text;
  const study::TraceTimes& t = answer.times;
  Json works = Json::array(), other = Json::array();
  for (const study::WorkTime& each : t.works) {
    const auto expected = prediction_of(answer, each.work);
    works.push_back({{"kind", name_of(each.work)},
                     {"kernels", each.kernels},
                     {"measured_s", each.measured.value()},
                     {"predicted_s", expected ? Json(expected->value()) : Json(nullptr)}});
  }
  for (const study::TopKernel& each : t.other)
    other.push_back({{"name", each.name}, {"kernels", each.kernels}, {"measured_s", each.time.value()}});
  Json json{{"file", answer.file},
            {"format", "PyTorch profiler"},
            {"gpu", answer.gpu},
            {"steps", t.steps},
            {"steps_are_marked", t.steps_are_marked},
            {"step_time_s", t.step.value()},
            {"computing_s", t.computing.value()},
            {"communication_s", t.communicating.value()},
            {"exposed_communication_s", t.exposed.value()},
            {"idle_s", t.idle.value()},
            {"gaps", t.gaps},
            {"longest_gap_s", t.longest_gap.value()},
            {"kinds", std::move(works)},
            {"unknown_kernels", std::move(other)}};
  if (answer.predicted)
    json["prediction"] = {{"name", answer.prediction->metrics.name},
                          {"stage", answer.predicted->stage.number()},
                          {"layers", answer.predicted->layers},
                          {"microbatches", answer.predicted->microbatches},
                          {"step_time_s", answer.predicted->step.value()},
                          {"exposed_communication_s", answer.predicted->exposed.value()}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace foretoken::tools
