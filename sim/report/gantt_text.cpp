// Draws the Gantt chart for a terminal: one character is one slice of time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sim/report/gantt_bins.h"
#include "sim/report/text/number.h"

namespace foretoken::report {
namespace {

constexpr std::size_t kMostRows = 32;
constexpr const char* kForwardGlyph = "▄";
constexpr const char* kBackwardGlyph = "█";
constexpr const char* kBackwardInputGlyph = "▓";
constexpr const char* kBackwardWeightGlyph = "▀";
constexpr const char* kRecomputeGlyph = "░";
constexpr const char* kStepEndGlyph = "▒";
constexpr const char* kCommunicationGlyph = "─";
constexpr const char* kHostCopyGlyph = "═";
constexpr const char* kIdleGlyph = "·";

std::string_view glyph_of(Activity activity) {
  switch (activity) {
    case Activity::kForward:
      return kForwardGlyph;
    case Activity::kBackward:
      return kBackwardGlyph;
    case Activity::kBackwardInput:
      return kBackwardInputGlyph;
    case Activity::kBackwardWeight:
      return kBackwardWeightGlyph;
    case Activity::kRecompute:
      return kRecomputeGlyph;
    case Activity::kStepEnd:
      return kStepEndGlyph;
    case Activity::kMessage:
    case Activity::kDataParallel:
      return kCommunicationGlyph;
    case Activity::kHostCopy:
      return kHostCopyGlyph;
  }
  return kIdleGlyph;
}

Ink ink_of(Activity activity) {
  switch (activity) {
    case Activity::kForward:
      return Ink::kBlue;
    case Activity::kBackward:
    case Activity::kBackwardInput:
    case Activity::kBackwardWeight:
      return Ink::kOrange;
    case Activity::kRecompute:
      return Ink::kBlue;
    case Activity::kStepEnd:
      return Ink::kGreen;
    case Activity::kMessage:
    case Activity::kDataParallel:
      return Ink::kMagenta;
    case Activity::kHostCopy:
      return Ink::kCyan;
  }
  return Ink::kDim;
}

// One character of a row.
struct Cell {
  std::string glyph = kIdleGlyph;
  Ink ink = Ink::kDim;
};

// Returns the columns to use. When all times are multiples of a coarse unit, the unit gets a whole number of columns,
// so that small textbook schedules are exact. Otherwise all columns are used.
std::size_t fitting_columns(const Gantt& chart, des::Duration axis, std::size_t most) {
  std::int64_t unit = axis.ps;
  for (const GanttRow& row : chart.rows)
    for (const GanttBar& bar : row.work) unit = std::gcd(std::gcd(unit, bar.begin.ps), bar.end.ps);
  if (unit == 0) return most;
  const std::int64_t units = axis.ps / unit;
  if (units > static_cast<std::int64_t>(most)) return most;
  return static_cast<std::size_t>(units) * std::min<std::size_t>(4, most / static_cast<std::size_t>(units));
}

// Writes the micro-batch's number at the start of every pass that has room for it and one more glyph.
void write_numbers(std::vector<Cell>& cells, const std::vector<GanttBar>& bars, double cells_per_ps) {
  for (const GanttBar& bar : bars) {
    if (!is_pass(bar.activity)) continue;
    const auto begin = static_cast<std::size_t>(std::llround(static_cast<double>(bar.begin.ps) * cells_per_ps));
    const auto end = static_cast<std::size_t>(std::llround(static_cast<double>(bar.end.ps) * cells_per_ps));
    const std::string number = fmt::format("{}", bar.microbatch.number());
    if (end > cells.size() || begin + number.size() >= end) continue;
    for (std::size_t i = 0; i < number.size(); ++i)
      cells[begin + i] = {std::string(1, number[i]), ink_of(bar.activity)};
  }
}

// Picks the glyph of every cell. A cell with several activities gets the activity that is most behind its share. Over a
// stretch the glyphs then appear in proportion to the time of the activities.
class GlyphPicker {
 public:
  // `shares` is by Activity. The rest up to 1 is idle.
  Cell pick(const std::array<double, kActivities>& shares) {
    constexpr double kWhole = 0.999, kTraced = 0.05;
    std::array<double, kActivities + 1> now{};
    std::copy(shares.begin(), shares.end(), now.begin());
    now.back() = std::max(0.0, 1 - std::accumulate(shares.begin(), shares.end(), 0.0));
    std::size_t best = now.size();
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (now[k] > kWhole) owed_.fill(0);
      owed_[k] += now[k];
      if (now[k] > kTraced && (best == now.size() || owed_[k] > owed_[best])) best = k;
    }
    if (best >= kActivities) return owed_.back() -= 1, Cell{};
    owed_[best] -= 1;
    const auto activity = static_cast<Activity>(best);
    return {std::string(glyph_of(activity)), ink_of(activity)};
  }

 private:
  std::array<double, kActivities + 1> owed_{};
};

std::vector<Cell> cells_of(const GanttRow& row, des::Duration axis, std::size_t columns) {
  std::vector<Cell> cells(columns);
  const std::vector<Stretch> work = binned(row.work, axis, columns);
  const std::vector<Stretch> communication = binned(row.communication, axis, columns);
  GlyphPicker picker;
  for (std::size_t c = 0; c < columns; ++c) {
    std::array<double, kActivities> shares = work[c].share;
    const double idle = std::max(0.0, 1 - std::accumulate(shares.begin(), shares.end(), 0.0));
    const auto& messages = communication[c].share;  // shown only where nothing computes
    const double copies = messages[static_cast<std::size_t>(Activity::kHostCopy)];
    const double between_gpus = std::min(idle, std::accumulate(messages.begin(), messages.end(), 0.0) - copies);
    shares[static_cast<std::size_t>(Activity::kMessage)] = between_gpus;
    shares[static_cast<std::size_t>(Activity::kHostCopy)] = std::min(idle - between_gpus, copies);
    cells[c] = picker.pick(shares);
  }
  if (axis.ps > 0) write_numbers(cells, row.work, static_cast<double>(columns) / static_cast<double>(axis.ps));
  return cells;
}

std::string painted(const std::vector<Cell>& cells, const Paint& paint) {
  std::string text;
  for (std::size_t c = 0; c < cells.size();) {
    std::string run;
    const Ink ink = cells[c].ink;
    for (; c < cells.size() && cells[c].ink == ink; ++c) run += cells[c].glyph;
    text += paint(ink, run);
  }
  return text;
}

}  // namespace

std::string gantt_legend(std::span<const Gantt> charts, const Paint& paint) {
  std::vector<std::string> entries;
  const auto add = [&](const std::string& glyph, std::string_view meaning) {
    entries.push_back(fmt::format("{} {}", glyph, meaning));
  };
  for (const PassKind& kind : passes_in(charts)) add(paint(ink_of(kind.activity), glyph_of(kind.activity)), kind.name);
  add(paint(Ink::kGreen, kStepEndGlyph), "optimizer and step end");
  add(paint(Ink::kMagenta, kCommunicationGlyph), "communication alone");
  if (copies_to_host(charts)) add(paint(Ink::kCyan, kHostCopyGlyph), "offload alone");
  add(kIdleGlyph, "idle");
  return paint.items(entries);
}

std::string gantt_text(const Gantt& chart, des::Duration axis, const Paint& paint) {
  std::size_t label = 0;
  for (const GanttRow& row : chart.rows) label = std::max(label, columns_of(row.label));
  const std::size_t columns = fitting_columns(chart, axis, paint.columns() - label - 4);
  const std::size_t every = (chart.rows.size() + kMostRows - 1) / kMostRows;
  std::string text = chart.title.empty() ? "" : paint(Ink::kBold, chart.title) + '\n';
  for (std::size_t r = 0; r < chart.rows.size();
       r += r + 1 == chart.rows.size() ? 1 : std::min(every, chart.rows.size() - 1 - r))
    text += "  " + pad_left(chart.rows[r].label, label) + "  " +
            painted(cells_of(chart.rows[r], axis, columns), paint) + '\n';
  const std::string end = time_text(des::to_seconds(axis));
  text += std::string(label + 4, ' ') + "0" + pad_left(end, columns - 1) + '\n';
  if (every > 1) text += fmt::format("  every {} of {} stages is shown, and the last\n", every, chart.rows.size());
  return text;
}

}  // namespace foretoken::report
