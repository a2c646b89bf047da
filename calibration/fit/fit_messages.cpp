// Latency and efficiency of a path by downhill simplex over the very function that predictions call.
//
// Every rank sends to the next one of its group. Inside a node each has its own link; across nodes the slowest message
// is one that crosses, of which each group has one a node.
#include "calibration/fit/fit_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/minimise.h"
#include "calibration/fit/own_samples.h"
#include "calibration/fit/residuals.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

using Messages = std::vector<measured::From<measured::CollectiveSample>>;
using Path = cost::PointToPointLaw::Path;

constexpr std::size_t kLeastRows = 8;
constexpr double kLeastLargest = 1 << 20;

/// Out of place, between at least two ranks, ascending.
Messages messages_of(const measured::Samples& samples, bool across) {
  Messages found;
  for (const auto& sample : samples.collectives)
    if (sample.kind == measured::Collective::kSendRecv && !sample.in_place && sample.group.ranks > 1 &&
        sample.bytes.value() > 0 && (sample.group.nodes > 1) == across)
      found.push_back(sample);
  return found;
}

NodeLinks links_of(const cost::Profile& profile, const FitRequest& request) {
  return {.nvlink_per_gpu = request.over_pcie ? BytesPerSecond(0) : profile.nvlink.reference,
          .pcie_per_gpu = profile.pcie.reference,
          .nic = gigabytes_per_second(request.nic_gb_per_s / request.nics),
          .nics = request.nics,
          .gpus = request.nics,
          .oversubscription = 1,
          .hop_latency = Seconds(0)};
}

void fit_path(Path& path, cost::Profile& profile, const measured::Samples& samples, const Messages& messages,
              const NodeLinks& links) {
  const auto outcomes = [&](const Messages& some, const Arguments& at) {
    path.latency = Seconds(rounded(std::exp(at[0])));
    path.efficiency = rounded(std::min(1.0, std::exp(at[1])));
    std::vector<Outcome> all;
    for (const auto& message : some) {
      const PointToPointShape shape{message.bytes, message.group.nodes > 1, message.group.groups_per_node};
      all.push_back({cost::point_to_point_time(shape, links, profile).value(), message.time.median.value()});
    }
    return all;
  };
  Messages fitted, apart;
  for (const auto& message : messages) {
    const std::string key = fmt::format("sendrecv {} {} {} {}", message.bytes.value(), message.group.ranks,
                                        message.group.nodes, message.group.groups_per_node);
    (held_out(key) ? apart : fitted).push_back(message);
  }
  const Arguments best = minimise([&](const Arguments& at) { return mean_log_error(outcomes(fitted, at)); },
                                  {std::log(10e-6), std::log(0.7)}, 0.3);
  path.evidence = evidence(source_of(samples, messages), fitted.size(), outcomes(apart, best));
  path.evidence.provenance = provenance_of(messages);
}

}  // namespace

void fit_messages(cost::Profile& profile, const measured::Samples& samples, const FitRequest& request) {
  const NodeLinks links = links_of(profile, request);
  for (const bool across : {false, true}) {
    const Messages messages = messages_of(samples, across);
    const bool large = std::any_of(messages.begin(), messages.end(),
                                   [](const auto& message) { return message.bytes.value() >= kLeastLargest; });
    if (messages.size() < kLeastRows || !large || (across && request.nic_gb_per_s <= 0)) continue;
    cost::PointToPointLaw& law = profile.point_to_point;
    fit_path(across ? law.network : request.over_pcie ? law.pcie : law.nvlink, profile, samples, messages, links);
  }
}

}  // namespace foretoken::fit
