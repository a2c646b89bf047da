// Words the refusal of --strict: the scaled parts, their origin, and the command that measures them.
#include "sim/study/predict/strict.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/step/profile_uses.h"

namespace foretoken::study {

namespace {

std::optional<Complaint> why_not_strict(const cost::Profile& profile, const cost::Uses& uses, const std::string& gpu,
                                        const std::string& file) {
  if (profile.gpu != gpu)
    return Complaint{
        file, "/profile",
        fmt::format("--strict: expected costs of the cluster's GPU {}, found profile {} of GPU {}; measure "
                    "with foretoken-calibrate all, then fit with foretoken calibrate fit --gpu {}",
                    in_quotes(gpu), in_quotes(profile.name), in_quotes(profile.gpu), gpu)};
  std::vector<std::string> parts;
  std::set<std::string_view> measurements;
  for (const cost::ScaledPart& part : cost::scaled_parts(profile, uses)) {
    parts.push_back(fmt::format("{} (from {})", part.name, part.from));
    if (!part.measured_by.empty()) measurements.insert(part.measured_by);
  }
  if (parts.empty()) return std::nullopt;
  const std::string how = measurements.empty() ? "tables of these parts are needed to "
                                               : fmt::format("measure with foretoken-calibrate {}, then ",
                                                             fmt::join(measurements, " and "));
  return Complaint{
      file, "/profile",
      fmt::format(
          "--strict: expected no scaled parts, found in profile {}: {}; {}fit with foretoken calibrate fit --gpu "
          "{}",
          in_quotes(profile.name), fmt::join(parts, ", "), how, profile.gpu)};
}

// Returns the first stage on the next kind of nodes.
Stage first_stage_after(Stage first, const job::Job& scenario) {
  return id_of<Stage>(first.number() + scenario.groups[scenario.group_of(first)].stages);
}

}  // namespace

std::optional<Complaint> why_not_strict(const job::Job& scenario, const std::string& file) {
  Stage first;  // of the kind of nodes
  for (const auto& [profile, uses] : step::profiles_used(scenario)) {
    if (auto complaint = why_not_strict(*profile, uses, scenario.cluster_of(first).gpu.name, file)) return complaint;
    if (!scenario.groups.empty()) first = first_stage_after(first, scenario);
  }
  return std::nullopt;
}

}  // namespace foretoken::study
