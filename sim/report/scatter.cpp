// Draws points in a plane with characters.
#include "sim/report/scatter.h"

#include <algorithm>
#include <cmath>

namespace foretoken::report {
namespace {

constexpr std::size_t kMostColumns = 64, kAround = 6, kRows = 11;

// Returns the cell of `value` among `cells` between `low` and `high`.
std::size_t cell(double value, double low, double high, std::size_t cells) {
  if (high <= low) return 0;
  return static_cast<std::size_t>(std::lround((value - low) / (high - low) * static_cast<double>(cells - 1)));
}

}  // namespace

std::string scatter_text(const std::vector<ScatterPoint>& points, const ScatterAxis& x, const ScatterAxis& y,
                         const Paint& paint) {
  if (points.empty()) return "";
  const auto by_x = [](const ScatterPoint& a, const ScatterPoint& b) { return a.x < b.x; };
  const auto by_y = [](const ScatterPoint& a, const ScatterPoint& b) { return a.y < b.y; };
  const auto [left, right] = std::minmax_element(points.begin(), points.end(), by_x);
  const auto [bottom, top] = std::minmax_element(points.begin(), points.end(), by_y);
  const std::string high = y.text(top->y), low = y.text(bottom->y);
  const std::size_t margin = std::max(columns_of(high), columns_of(low));
  const std::size_t columns = std::min(kMostColumns, paint.columns() - margin - kAround);
  std::vector<std::string> rows(kRows, std::string(columns, ' '));
  for (const ScatterPoint& point : points)
    rows[kRows - 1 - cell(point.y, bottom->y, top->y, kRows)][cell(point.x, left->x, right->x, columns)] = point.mark;
  std::string text = "  " + paint(Ink::kDim, y.title) + '\n';
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::string label = row == 0 ? high : row + 1 == kRows ? low : "";
    std::string marks = rows[row];
    marks.erase(marks.find_last_not_of(' ') + 1);
    text += "  " + pad_left(label, margin) + " │" + (marks.empty() ? "" : " ") + marks + '\n';
  }
  text += "  " + repeat(" ", margin) + " └" + repeat("─", columns + 1) + '\n';
  const std::string from = x.text(left->x), to = x.text(right->x);
  const std::size_t used = columns_of(from) + columns_of(to) + columns_of(x.title);
  const std::size_t gap = used + 2 < columns ? (columns - used) / 2 : 1;
  text += "  " + repeat(" ", margin + 3) + from + repeat(" ", gap) + paint(Ink::kDim, x.title) +
          repeat(" ", gap + (used + 2 < columns ? (columns - used) % 2 : 0)) + to + '\n';
  return text;
}

}  // namespace foretoken::report
