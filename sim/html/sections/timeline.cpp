// Shows the pipeline over time: a drawing, and its data for the scripts that zoom into it.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/draw/gantt_svg.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/html/slices.h"
#include "sim/report/gantt.h"
#include "sim/report/text/number.h"

namespace foretoken::html {
namespace {

using Json = nlohmann::ordered_json;
using step::TaskMeaning;

// Writes [row, lane, begin, end] of every task on the critical path that takes time. Lane 0 is work, 1 communication.
Json path_json(const ReportData& data, des::Duration unit) {
  Json path = Json::array();
  for (const des::TaskId task : data.critical_path) {
    const step::Meaning& meaning = data.base.step.workload.meaning[task.value];
    const std::int64_t begin = data.base.run.start[task.value].ps / unit.ps,
                       end = data.base.run.end[task.value].ps / unit.ps;
    if (begin == end) continue;
    const bool works = meaning.kind != TaskMeaning::kCommunication && meaning.kind != TaskMeaning::kPassOverhead &&
                       meaning.kind != TaskMeaning::kHostUpdate;
    path.push_back({meaning.stage.number(), works ? 0 : 1, begin, end});
  }
  return path;
}

// Writes the bytes that a pass stores until its backward pass, as [stage][chunk].
Json stored_json(const ReportData& data) {
  Json stages = Json::array();
  for (const observe::StageTimeline& stage : data.base.memory) {
    Json chunks = Json::array();
    for (const Bytes stored : stage.stored) chunks.push_back(std::llround(stored.value()));
    stages.push_back(std::move(chunks));
  }
  return stages;
}

// Writes [stage, activity, chunk, sending stage, sending chunk] of every kind of pass that waits for another stage.
Json senders_json(const step::LoweredStep& step) {
  std::set<std::array<int, 5>> rows;
  for (const Stage stage : step.program.stages.ids())
    for (const step::PassTasks& pass : step.workload.passes[stage])
      if (const schedule::Place* const sender = step::sender_to(step.program.placement, stage, pass.op))
        rows.insert({stage.number(), static_cast<int>(report::activity_of(pass.op.kind)), pass.op.chunk.number(),
                     sender->stage.number(), sender->chunk.number()});
  return rows;
}

std::string data_of(const ReportData& data, const report::Gantt& gantt) {
  const des::Duration unit = slice_unit(gantt.length);
  Json json = {{"unit_s", des::to_seconds(unit).value()},
               {"length", (gantt.length.ps + unit.ps / 2) / unit.ps},
               {"rows", gantt.rows.size()},
               {"chunks", gantt.chunks},
               {"message_bytes", std::llround(data.base.step.message.value())},
               {"stash_bytes", stored_json(data)},
               {"senders", senders_json(data.base.step)},
               {"path", path_json(data, unit)},
               {"slices", packed_slices(gantt, unit)}};
  return "<script type=\"application/json\" id=\"timeline-data\">" + script_json(json.dump()) + "</script>\n";
}

std::string_view words_of(const step::Meaning& meaning, const step::Workload& workload) {
  if (meaning.kind == TaskMeaning::kPass) return "passes";
  if (meaning.kind == TaskMeaning::kHostUpdate) return "offload";
  if (meaning.kind != TaskMeaning::kCommunication) return "optimizer and step end";
  if (workload.communication_of(meaning)->purpose == step::Purpose::kHostCopy) return "offload";
  return is_message(workload.communication_of(meaning)->purpose) ? "messages" : "gradients and parameters";
}

std::string path_words(const ReportData& data) {
  std::map<std::string_view, Seconds> by_kind;
  Seconds all;
  for (const des::TaskId task : data.critical_path) {
    const Seconds time = des::to_seconds(data.base.run.end[task.value] - data.base.run.start[task.value]);
    by_kind[words_of(data.base.step.workload.meaning[task.value], data.base.step.workload)] += time;
    all += time;
  }
  std::string words;
  for (const std::string_view kind :
       {"passes", "messages", "gradients and parameters", "offload", "optimizer and step end"})
    if (const auto found = by_kind.find(kind); found != by_kind.end() && found->second / all > 5e-4)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", kind, report::percent(found->second / all));
  return words;
}

constexpr const char* kControls = R"html(<div class="toolbar needs-script" role="toolbar" aria-label="Timeline">
<button type="button" data-zoom="in" title="Zoom in (+ or W)">+</button>
<button type="button" data-zoom="out" title="Zoom out (- or S)">&minus;</button>
<button type="button" data-zoom="all" title="Whole step (0)">Whole step</button>
<button type="button" id="sum-view" title="Time of each kind in this view (R)">Sum up the view</button>
<label><input type="checkbox" id="drag-selects"> drag selects</label>
<label><input type="checkbox" id="show-path" checked> <span class="key k-path"></span>critical path</label>
<output id="timeline-range"></output></div>
<form class="toolbar needs-script" role="search"><input type="search" id="find" placeholder="B 12, or forward 3 stage 2" aria-label="Find a pass"><button>Find</button>
<button type="button" id="perfetto" title="Open ui.perfetto.dev in a new tab and hand it the trace; the trace stays in this browser">Open in Perfetto</button>
<button type="button" id="trace" title="Download the trace for ui.perfetto.dev">Download trace</button>
<output id="found" role="status"></output></form>
<div class="timeline needs-script"><canvas id="timeline" tabindex="0" aria-label="Pipeline over time; arrow keys move, plus and minus zoom, R sums up, slash searches"></canvas><div id="timeline-tip" role="status" hidden></div></div>
<table class="sums needs-script" id="timeline-sums" hidden><caption></caption><tbody></tbody><tfoot><tr><td colspan="3"><button type="button" id="sums-close">Close</button></td></tr></tfoot></table>
<p class="remark needs-script">Drag to select a range and see its time of each kind; Shift and drag, or a finger, moves. Ctrl + wheel, or the wheel after a click, zooms; double click zooms in. A click selects a pass; arrows show its messages. Keys: arrows or A and D move, + and - or W and S zoom, 0 shows the whole step, R sums up the view, / searches, Escape clears.</p>
)html";

}  // namespace

std::string timeline(const ReportData& data) {
  const report::Gantt gantt = report::gantt_of(data.base.step.workload, data.base.run, "");
  const std::vector<int> gpus = numbers_of(data.base.metrics.shown_gpus);
  const std::string shown =
      gpus.empty() ? "" : fmt::format(" One GPU of every stage is shown, from the top: {}.", fmt::join(gpus, ", "));
  return paragraph(
             fmt::format("Each pipeline stage during one step: passes above, communication as a strip "
                         "below, bubbles hatched.{} The critical path, the chain of tasks without slack, consists "
                         "of {}.",
                         shown, path_words(data))) +
         pipeline_legend({&gantt, 1}) + paragraph(draw::density_words() + ".", "remark") + kControls +
         "<figure class=\"wide static\">" + draw::gantt_svg_for_page({gantt}) + "</figure>\n" + data_of(data, gantt);
}

}  // namespace foretoken::html
