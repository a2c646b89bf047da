// Parts of a profile, by name.
#include "sim/cost/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

const char* gemm_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "gemm fp32";
    case Precision::kFp16:
      return "gemm fp16";
    case Precision::kBf16:
      return "gemm bf16";
    case Precision::kFp8:
      return "gemm fp8";
  }
  contract_broken("every precision has a name", __FILE__, __LINE__);
}

template <class Laws>
Part part(const char* name, const Laws& laws) {
  Part result{.name = name, .evidence = {}};
  for (const auto& law : laws) result.evidence.push_back(law.evidence);
  return result;
}

}  // namespace

std::string_view name_of(Provenance provenance) {
  switch (provenance) {
    case Provenance::kMeasured:
      return "measured";
    case Provenance::kFitted:
      return "fitted";
    case Provenance::kScaled:
      return "scaled";
    case Provenance::kAssumed:
      return "assumed";
  }
  contract_broken("every provenance has a name", __FILE__, __LINE__);
}

std::vector<Part> parts_of(const Profile& profile, const Uses& uses) {
  std::vector<Part> parts;
  const auto wanted = [&](Precision precision) {
    return uses.precisions.empty() ||
           std::find(uses.precisions.begin(), uses.precisions.end(), precision) != uses.precisions.end();
  };
  for (const auto& [precision, law] : profile.gemm)
    if (wanted(precision)) parts.push_back({gemm_name(precision), {law.evidence}});
  if (!profile.misaligned_rows.evidence.source.empty())
    parts.push_back({"misaligned rows of products", {profile.misaligned_rows.evidence}});
  if (uses.fused_attention) parts.push_back(part("attention", profile.attention.laws));
  parts.push_back({"memory-bound", {profile.memory_bound.evidence}});
  if (uses.nvlink) parts.push_back(part("collectives over NVLink", profile.nvlink.curves));
  if (uses.pcie) parts.push_back(part("collectives over PCIe", profile.pcie.curves));
  if (uses.network) parts.push_back(part("collectives across nodes", profile.network.curves));
  if (uses.messages) parts.push_back({"messages", {profile.point_to_point.evidence}});
  return parts;
}

std::vector<std::string> scaled_parts(const Profile& profile, const Uses& uses) {
  std::vector<std::string> lines;
  for (const Part& part : parts_of(profile, uses)) {
    const auto is_scaled = [](const Evidence& e) { return e.provenance == Provenance::kScaled; };
    const auto first = std::find_if(part.evidence.begin(), part.evidence.end(), is_scaled);
    if (first == part.evidence.end()) continue;
    const auto scaled = std::count_if(part.evidence.begin(), part.evidence.end(), is_scaled);
    const std::string share =
        part.evidence.size() > 1 ? fmt::format(" ({} of {} laws)", scaled, part.evidence.size()) : "";
    lines.push_back(fmt::format("{}: scaled from {}{}: {}", part.name, first->scaled_from, share, first->source));
  }
  return lines;
}

}  // namespace foretoken::cost
