// Draws what a search of services found: all that fit, and the front of each layout on it.
#include <algorithm>
#include <cmath>
#include <map>

#include "sim/draw/scatter_svg.h"
#include "sim/study/serve/service_words.h"
#include "tools/text/serve/service_search_text.h"

namespace foretoken::tools {
namespace {

constexpr std::size_t kMostLayouts = 8;

/// Axis from 0 to a round value above `most`.
draw::ScatterAxis linear_axis(const std::string& title, double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  const double tick = most / power > 5 ? power : most / power > 2 ? power / 2 : power / 5;
  return {title, 0, std::ceil(most / tick) * tick, false, tick};
}

/// Lines between the points that no other beats in both directions: more throughput in less time.
std::vector<draw::Guide> outline_of(std::vector<draw::Point> points) {
  std::sort(points.begin(), points.end(), [](const draw::Point& a, const draw::Point& b) {
    return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
  });
  std::vector<draw::Guide> lines;
  const draw::Point* last = nullptr;
  for (const draw::Point& point : points) {
    if (last != nullptr && point.second <= last->second) continue;
    if (last != nullptr) lines.emplace_back(*last, point);
    last = &point;
  }
  return lines;
}

}  // namespace

std::string service_search_svg(const ServiceSearchAnswer& answer) {
  const bool is_static = answer.service.batching == serve::Batching::kStatic;
  const auto point = [&](std::size_t at) {
    const serve::Prediction& prediction = answer.search.fitting[at].prediction;
    const double time = is_static || !prediction.tpot ? prediction.latency.mean : 1000 * prediction.tpot->mean;
    return draw::Point(time, prediction.tokens_per_s_per_gpu);
  };
  draw::Series others{.name = "not on the front", .points = {}, .labels = {}, .behind = true},
      rest{.name = "front, other layouts", .points = {}};
  std::vector<draw::Series> layouts;
  std::map<std::string, std::size_t> place;
  std::vector<bool> on_front(answer.search.fitting.size());
  std::vector<draw::Point> front;
  double most_x = 0, most_y = 0;
  for (const std::size_t at : answer.search.front) {
    on_front[at] = true;
    const study::ServiceLayout& layout = answer.search.fitting[at].layout;
    const std::string name = layout.disaggregated ? study::pool_words(layout.disaggregated->decode) + ", split"
                                                  : study::pool_words(layout.pool);
    if (!place.contains(name) && layouts.size() < kMostLayouts) {
      place[name] = layouts.size();
      layouts.push_back({.name = name, .points = {}});
    }
    (place.contains(name) ? layouts[place[name]] : rest).points.push_back(point(at));
    front.push_back(point(at));
    most_x = std::max(most_x, point(at).first);
    most_y = std::max(most_y, point(at).second);
  }
  for (std::size_t at = 0; at < answer.search.fitting.size(); ++at)
    if (!on_front[at] && point(at).first <= most_x) others.points.push_back(point(at));
  if (!rest.points.empty()) layouts.push_back(std::move(rest));
  layouts.push_back(std::move(others));
  return scatter_svg(answer.service.name + ": throughput against " + (is_static ? "latency" : "time per output token"),
                     linear_axis(is_static ? "latency, s" : "time per output token (mean), ms", std::max(most_x, 1e-9)),
                     linear_axis("output tokens/s a GPU", std::max(most_y, 1e-9)), layouts, outline_of(front));
}

}  // namespace foretoken::tools
