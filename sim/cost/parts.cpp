// Lists the parts of a profile by name.
#include "sim/cost/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"
#include "sim/cost/kernels/attention.h"
#include "sim/cost/unseen.h"

namespace foretoken::cost {
namespace {

template <class Laws>
Part part(const char* name, const Laws& laws, std::string_view measured_by) {
  Part result{.name = name, .evidence = {}, .measured_by = measured_by};
  for (const auto& law : laws) result.evidence.push_back(law.evidence);
  return result;
}

// Lists the curves that a prediction reads. NCCL's choice replaces some of them.
template <class Curves>
Part collectives(const char* name, const Curves& curves, const Profile& profile) {
  Part result{.name = name, .evidence = {}, .measured_by = "collectives"};
  const bool stands_in = profile.nccl && profile.nccl->stands_in;
  for (const auto& curve : curves)
    if (!stands_in || !unseen(curve.kind, curve.evidence.provenance)) result.evidence.push_back(curve.evidence);
  return result;
}

Part attention_part(const std::vector<AttentionLaw>& laws, const char* name, int head_dim) {
  if (head_dim == 0) return part(name, laws, "attention");
  const auto [below, above] = nearest_laws(laws, /*causal=*/true, head_dim);
  std::vector<AttentionLaw> read;
  for (const AttentionLaw* law : {below, above})
    if (law != nullptr && (read.empty() || below != above)) read.push_back(*law);
  return part(name, read, "attention");
}

// Lists the laws of exchanges between nodes, where the profile has some.
void add_exchanges_across(std::vector<Part>& parts, const Profile& profile) {
  Part across{.name = "exchanges across nodes", .evidence = {}, .measured_by = ""};
  for (const ExchangeLaw& law : profile.exchanges)
    if (law.across) across.evidence.push_back(law.across->evidence);
  if (!across.evidence.empty()) parts.push_back(std::move(across));
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
    if (wanted(precision))
      parts.push_back({fmt::format("gemm {}", foretoken::name_of(precision)), {law.evidence}, "gemm"});
  for (const auto& [precision, law] : profile.gemm)
    if (wanted(precision) && uses.grouped_products && law.grouped)
      parts.push_back(
          {fmt::format("grouped products {}", foretoken::name_of(precision)), {law.grouped->evidence}, "gemm"});
  if (!profile.misaligned_rows.evidence.source.empty())
    parts.push_back({"misaligned rows of products", {profile.misaligned_rows.evidence}, "gemm"});
  if (uses.fused_attention && !uses.fp8_attention)
    parts.push_back(attention_part(profile.attention.laws, "attention", uses.head_dim));
  if (uses.fused_attention && uses.fp8_attention)
    parts.push_back(attention_part(profile.attention.fp8, "attention fp8", uses.head_dim));
  if (uses.serving && !profile.attention.serving.empty())
    parts.push_back(part("attention of engines", profile.attention.serving, ""));
  parts.push_back({"memory-bound", {profile.memory_bound.evidence}, "kernels"});
  if (profile.quantisation && (wanted(Precision::kFp8) || wanted(Precision::kFp8Block) || wanted(Precision::kNvfp4)))
    parts.push_back(
        {"quantisation", {profile.quantisation->cast.evidence, profile.quantisation->scan.evidence}, "kernels"});
  if (uses.nvlink) parts.push_back(collectives("collectives over NVLink", profile.nvlink.curves, profile));
  if (uses.pcie) parts.push_back(part("collectives over PCIe", profile.pcie.curves, "collectives"));
  if (uses.network) parts.push_back(collectives("collectives across nodes", profile.network.curves, profile));
  if (uses.exchanges_inside && !profile.exchanges.empty())
    parts.push_back(part("exchanges of tokens", profile.exchanges, ""));
  if (uses.exchanges_across) add_exchanges_across(parts, profile);
  const PointToPointLaw& messages = profile.point_to_point;
  if (uses.messages_inside && uses.nvlink)
    parts.push_back({"messages over NVLink", {messages.nvlink.evidence}, "collectives"});
  if (uses.messages_inside && uses.pcie)
    parts.push_back({"messages over PCIe", {messages.pcie.evidence}, "collectives"});
  if (uses.messages_across) parts.push_back({"messages across nodes", {messages.network.evidence}, "collectives"});
  if (profile.host) parts.push_back({"host", {profile.host->evidence}, "host"});
  return parts;
}

std::vector<ScaledPart> scaled_parts(const Profile& profile, const Uses& uses) {
  std::vector<ScaledPart> scaled;
  for (const Part& part : parts_of(profile, uses)) {
    const auto first = std::find_if(part.evidence.begin(), part.evidence.end(),
                                    [](const Evidence& e) { return e.provenance == Provenance::kScaled; });
    if (first != part.evidence.end()) scaled.push_back({part.name, first->scaled_from, part.measured_by});
  }
  return scaled;
}

}  // namespace foretoken::cost
