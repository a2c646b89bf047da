// Selects the notes of profiles and runtime that belong to numbers of the job.
#include "sim/step/source_notes.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sim/step/profile_uses.h"

namespace foretoken::step {
namespace {

/// Returns the names of unused parts of a profile: other precisions, links that the GPUs lack.
std::set<std::string> unused_parts(const cost::Profile& profile, const cost::Uses& uses) {
  std::set<std::string> names;
  for (const cost::Part& part : cost::parts_of(profile)) names.insert(part.name);
  for (const cost::Part& part : cost::parts_of(profile, uses)) names.erase(part.name);
  return names;
}

/// Returns a note when the profile has no law for the products of the job's experts.
std::optional<std::string> missing_law(const cost::Profile& profile, const cost::Uses& uses) {
  const auto law = profile.gemm.find(uses.precisions.front());
  if (!uses.grouped_products || law == profile.gemm.end() || law->second.grouped) return std::nullopt;
  return fmt::format(
      "profile {}: no law of grouped products in {}; the products of a rank's experts take as long as a batched "
      "product "
      "of their sizes",
      profile.name, foretoken::name_of(law->first));
}

/// Returns true when the job's passes use the number that a note of its runtime is about.
bool is_used(std::string_view note, const job::Job& job) {
  if (note.starts_with("host_update_bytes")) return job.offload.optimizer.any();
  if (note.starts_with("expert_")) return job.model.experts.has_value();
  if (note.starts_with("fp8_")) return job.precision == Precision::kFp8;
  return true;
}

}  // namespace

std::vector<std::string> source_notes(const job::Job& job) {
  std::vector<std::string> notes;
  std::set<std::string> names;
  for (const auto& [profile, uses] : profiles_used(job)) {
    if (!names.insert(profile->name).second) continue;
    const std::set<std::string> unused = unused_parts(*profile, uses);
    for (const std::string& note : profile->notes)
      if (!unused.contains(note.substr(0, note.find(':'))))
        notes.push_back(fmt::format("profile {}: {}", profile->name, note));
    if (auto note = missing_law(*profile, uses)) notes.push_back(std::move(*note));
  }
  if (job.layer_context().autocast)
    notes.push_back(
        fmt::format("autocast over fp32 weights: products in {}, of copies that every pass casts; norms and residual "
                    "stream in fp32",
                    foretoken::name_of(job.precision)));
  for (const std::string& note : job.runtime.notes)
    if (is_used(note, job)) notes.push_back(fmt::format("runtime {}: {}", job.runtime.name, note));
  return notes;
}

}  // namespace foretoken::step
