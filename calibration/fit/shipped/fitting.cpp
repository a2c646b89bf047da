// Fits each part of a profile from its recipe, or takes it from another profile.
#include "calibration/fit/shipped/fitting.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/fit/laws/benchmark_clock.h"
#include "calibration/fit/laws/fit_engines.h"
#include "calibration/fit/laws/fit_grouped.h"
#include "calibration/fit/laws/fit_kernels.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/fit_profile.h"
#include "calibration/fit/shipped/factors.h"
#include "calibration/fit/shipped/profile_notes.h"
#include "calibration/fit/shipped_file.h"
#include "sim/base/check.h"
#include "sim/base/text.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/document.h"

namespace foretoken::fit {
namespace {

template <class Law>
using PartOf = const Law& (Fitting::*)(const FromProfile&);

/// Returns the law that the recipe states, or the law of the profile that it names.
template <class Law>
Law make_stated(const Stated<Law>& stated, Fitting& fitting, PartOf<Law> part) {
  if (const auto* from = std::get_if<FromProfile>(&stated)) return (fitting.*part)(*from);
  return std::get<Law>(stated);
}

}  // namespace

std::optional<cost::Profile> shipped_profile(const std::string& name) {
  return find_shipped(io::kProfiles, name, io::read_profile);
}

const cost::Profile& Fitting::known(const FromProfile& from) {
  if (const auto found = taken_.find(from.profile); found != taken_.end()) return found->second;
  std::optional<cost::Profile> profile = known_(from.profile);
  if (!profile) {
    const std::string unknown = io::unknown_name(io::kProfiles, from.profile);
    refuse({from.place.file, from.place.pointer + "/profile"}, unknown + "; it has no recipe here either");
  }
  return taken_.emplace(from.profile, std::move(*profile)).first->second;
}

void Fitting::fit_tables(const FromProfile& from) {
  const auto recipe = recipes_->find(from.profile);
  if (recipe == recipes_->end() || (recipe->second.kernel_tables.empty() && recipe->second.serving_tables.empty()))
    return;
  if (!begun_.contains(from.profile)) (void)profile(from.profile);
}

template <class Part, class Make, class Take>
const Part& Fitting::part(std::map<Name, Part>& done, const char* what, const FromProfile& from, Precision precision,
                          const Make& make, const Take& take) {
  const Name name{from.profile, precision};
  if (const auto found = done.find(name); found != done.end()) return found->second;
  const auto recipe = recipes_->find(from.profile);
  if (recipe == recipes_->end()) return done.emplace(name, take(known(from))).first->second;
  const std::string word = fmt::format("{} of {} ({})", what, from.profile, name_of(precision));
  if (!open_.insert(word).second)
    refuse(from.place, fmt::format("the {} of {} stands on itself through this", what, in_quotes(from.profile)));
  Part made = make(recipe->second);
  open_.erase(word);
  return done.emplace(name, std::move(made)).first->second;
}

const cost::GemmLaw& Fitting::gemm(const FromProfile& from, Precision precision) {
  fit_tables(from);
  return part(
      gemm_, "product law", from, precision,
      [&](const Recipe& recipe) {
        if (!recipe.gemm.contains(precision))
          refuse(from.place, fmt::format("{} has no law of {} products", from.profile, name_of(precision)));
        return make_gemm(recipe, precision, *this);
      },
      [&](const cost::Profile& profile) {
        if (!profile.gemm.contains(precision))
          refuse(from.place, fmt::format("{} has no law of {} products", from.profile, name_of(precision)));
        return profile.gemm.at(precision);
      });
}

const cost::MisalignedRows& Fitting::misaligned_rows(const FromProfile& from) {
  return part(
      misaligned_rows_, "law of misaligned rows", from, {},
      [&](const Recipe& recipe) { return make_stated(recipe.misaligned_rows, *this, &Fitting::misaligned_rows); },
      [](const cost::Profile& profile) { return profile.misaligned_rows; });
}

const cost::AttentionLaws& Fitting::attention(const FromProfile& from) {
  fit_tables(from);
  return part(
      attention_, "attention", from, {}, [&](const Recipe& recipe) { return make_attention(recipe, *this); },
      [](const cost::Profile& profile) { return profile.attention; });
}

const cost::MemoryBoundLaw& Fitting::memory_bound(const FromProfile& from) {
  return part(
      memory_bound_, "memory-bound law", from, {},
      [&](const Recipe& recipe) { return make_stated(recipe.memory_bound, *this, &Fitting::memory_bound); },
      [](const cost::Profile& profile) { return profile.memory_bound; });
}

const cost::InsideNodeLaw& Fitting::nvlink(const FromProfile& from) {
  return part(
      nvlink_, "NVLink law", from, {}, [&](const Recipe& recipe) { return make_nvlink(recipe, *this); },
      [](const cost::Profile& profile) { return profile.nvlink; });
}

const cost::InsideNodeLaw& Fitting::pcie(const FromProfile& from) {
  return part(
      pcie_, "PCIe law", from, {}, [&](const Recipe& recipe) { return make_pcie(recipe, *this); },
      [](const cost::Profile& profile) { return profile.pcie; });
}

const cost::AcrossNodesLaw& Fitting::network(const FromProfile& from) {
  return part(
      network_, "network law", from, {}, [&](const Recipe& recipe) { return make_network(recipe, *this); },
      [](const cost::Profile& profile) { return profile.network; });
}

const cost::PointToPointLaw& Fitting::point_to_point(const FromProfile& from) {
  return part(
      point_to_point_, "law of messages", from, {},
      [&](const Recipe& recipe) { return make_stated(recipe.point_to_point, *this, &Fitting::point_to_point); },
      [](const cost::Profile& profile) { return profile.point_to_point; });
}

const std::vector<cost::ExchangeLaw>& Fitting::exchanges(const FromProfile& from) {
  return part(
      exchanges_, "exchanges of tokens", from, {}, [&](const Recipe& recipe) { return make_exchanges(recipe, *this); },
      [](const cost::Profile& profile) { return profile.exchanges; });
}

net::Gpu Fitting::datasheet(const FromProfile& from) {
  if (const auto recipe = recipes_->find(from.profile); recipe != recipes_->end()) return recipe->second.gpu;
  const std::string name = known(from).gpu;
  const auto gpu = find_shipped(io::kGpus, name, io::read_gpu);
  if (!gpu) refuse(from.place, io::unknown_name(io::kGpus, name));
  return *gpu;
}

namespace {

/// Computes the sustained factors of measured rows again, over the laws that the kernel tables gave.
void set_sustained(cost::Profile& profile, const Recipe& recipe, const Tables& tables) {
  const auto factor_of = [&](Precision precision) -> double& {
    return std::get<cost::TileWaveLaw>(profile.gemm.at(precision).law).sustained_factor;
  };
  for (const auto& [precision, entry] : recipe.gemm) {
    const auto* gemm = std::get_if<GemmRecipe>(&entry);
    if (gemm == nullptr || !gemm->sustained || !std::holds_alternative<FactorOfRows>(*gemm->sustained)) continue;
    const auto& rows = std::get<FactorOfRows>(*gemm->sustained);
    factor_of(precision) = 1;
    const auto products = tables.products(recipe, rows.rows, precision);
    const double factor = median_over_law(products, rows, profile.gemm.at(precision));
    factor_of(precision) = std::max(1.0, rounded(factor, 3));
  }
  for (const auto& [precision, entry] : recipe.gemm) {
    const auto* gemm = std::get_if<GemmRecipe>(&entry);
    const auto* own = gemm && gemm->sustained ? std::get_if<FactorOfProducts>(&*gemm->sustained) : nullptr;
    if (own != nullptr) factor_of(precision) = factor_of(own->precision);
    if (const auto* other = std::get_if<Precision>(&entry)) factor_of(precision) = factor_of(*other);
  }
  for (const Precision narrow : {Precision::kFp8Block, Precision::kNvfp4})  // no long runs without their quantisation
    if (!recipe.gemm.contains(narrow) && profile.gemm.contains(narrow) && profile.gemm.contains(Precision::kFp8))
      factor_of(narrow) = factor_of(Precision::kFp8);
  const auto& attention = recipe.attention.sustained;
  if (attention && std::holds_alternative<FactorOfProducts>(*attention))
    profile.attention.sustained_factor = factor_of(std::get<FactorOfProducts>(*attention).precision);
}

/// Returns the profile with the laws that the samples give. `lines`: products are corrected by their waves, too.
cost::Profile with_samples(cost::Profile profile, measured::Samples samples, bool lines, const Recipe& recipe,
                           const Tables& tables) {
  const std::string name = profile.name, gpu = profile.gpu;
  profile = fit_profile(
      std::move(samples),
      {.gpu = gpu, .datasheet = recipe.gpu, .base = std::move(profile), .base_datasheet = recipe.gpu, .lines = lines});
  profile.name = name;
  set_sustained(profile, recipe, tables);
  return profile;
}

bool lowers_the_clock(const measured::GemmSample& product) {
  return bits_per_element(product.shape.precision) >= 16 && product.time.median > kFullClockProduct;
}

/// Returns the profile with its products, quantisation and attention replaced by fits on the recipe's kernel tables. A
/// first fit without the products that lower the clock gives the factor of long runs. It has no lines: these products
/// have more waves than the others, where lines have no samples. With the factor the second fit takes the products at
/// their time at full clocks.
cost::Profile with_kernel_tables(cost::Profile profile, const Recipe& recipe, const Tables& tables) {
  measured::Samples samples;
  for (const Rows& rows : recipe.kernel_tables) samples.append(tables.kernels(recipe, rows));
  measured::Samples brief = samples;
  std::erase_if(brief.gemms, lowers_the_clock);
  if (brief.gemms.size() == samples.gemms.size())
    return with_samples(std::move(profile), std::move(samples), true, recipe, tables);
  const cost::Profile first = with_samples(profile, std::move(brief), false, recipe, tables);
  for (auto& product : samples.gemms) {
    const Precision precision = product.shape.precision;
    if (!lowers_the_clock(product)) continue;
    const auto law = first.gemm.find(precision);
    const auto* tiles = law == first.gemm.end() ? nullptr : std::get_if<cost::TileWaveLaw>(&law->second.law);
    if (tiles == nullptr)
      refuse(recipe.kernel_tables.front().place,
             fmt::format("long products in {} expect a tile-and-wave law beside them", name_of(precision)));
    product.time.median = at_full_clock(product.time.median, tiles->sustained_factor, kFullClockProduct, precision);
  }
  return with_samples(std::move(profile), std::move(samples), true, recipe, tables);
}

/// Adds laws of engines without a mask, for prompts that meet a cache. Their rates have the proportion to training that
/// causal ones of the same head dimension have.
void add_laws_without_a_mask(cost::AttentionLaws& attention) {
  const auto law_of = [](const std::vector<cost::AttentionLaw>& laws, int head_dim, bool causal) {
    const auto found =
        std::ranges::find_if(laws, [&](const auto& law) { return law.head_dim == head_dim && law.causal == causal; });
    return found == laws.end() ? nullptr : &*found;
  };
  std::vector<cost::AttentionLaw> added;
  for (const cost::AttentionLaw& serving : attention.serving) {
    const cost::AttentionLaw* const causal = law_of(attention.laws, serving.head_dim, true);
    const cost::AttentionLaw* const full = law_of(attention.laws, serving.head_dim, false);
    if (!serving.causal || causal == nullptr || full == nullptr) continue;
    cost::AttentionLaw law = *full;
    law.forward.peak =
        FlopPerSecond(rounded(full->forward.peak.value() * (serving.forward.peak / causal->forward.peak)));
    law.evidence = {.provenance = cost::Provenance::kAssumed,
                    .source = "in the proportion of causal kernels of engines to those of training"};
    added.push_back(std::move(law));
  }
  attention.serving.insert(attention.serving.end(), added.begin(), added.end());
}

/// Fits the attention of engines of inference on the recipe's tables of it.
void fit_serving_attention(cost::Profile& profile, const Recipe& recipe, const Tables& tables) {
  measured::Samples samples;
  for (const Rows& rows : recipe.serving_tables) samples.append(tables.kernels(recipe, rows));
  profile.attention.serving = fitted_attention(profile, samples).laws;
  add_laws_without_a_mask(profile.attention);
}

/// Fits what engines add to the laws of attention, on the recipe's tables of engines.
void fit_engine_tables(cost::Profile& profile, const Recipe& recipe, const Tables& tables) {
  measured::Samples samples;
  for (const Rows& rows : recipe.engine_tables) {
    measured::Samples table = tables.kernels(recipe, rows);
    for (measured::Provenance& origin : table.origins) origin.source = rows.table;  // the recipe says what it is
    samples.append(table);
  }
  fit_engines(profile.attention, samples);
}

/// Gives the laws of products that the recipe's tables of experts have their grouped part.
void fit_experts(cost::Profile& profile, const Recipe& recipe, const Tables& tables) {
  std::map<Precision, std::vector<measured::ExpertSample>> layers;
  std::map<Precision, std::string> sources;
  for (const Rows& rows : recipe.expert_tables)
    for (const measured::ExpertSample& sample : tables.experts(recipe, rows)) {
      layers[sample.precision].push_back(sample);
      const Input& input = recipe.inputs.at(rows.table);
      sources[sample.precision] = input.source + ", " + input.form;
    }
  for (const auto& [precision, samples] : layers) {
    const auto law = profile.gemm.find(precision);
    if (law == profile.gemm.end() || !std::holds_alternative<cost::TileWaveLaw>(law->second.law))
      refuse(recipe.expert_tables.front().place,
             fmt::format("experts in {} expect a tile-and-wave law of products beside them", name_of(precision)));
    law->second.grouped = fit_grouped(samples, profile, sources[precision]);
  }
  for (const auto& [precision, entry] : recipe.gemm)
    if (const auto* other = std::get_if<Precision>(&entry))
      profile.gemm[precision].grouped = profile.gemm[*other].grouped;
}

}  // namespace

cost::Profile Fitting::profile(const std::string& name) {
  const auto recipe = recipes_->find(name);
  expects(recipe != recipes_->end(), "a profile that is fitted has a recipe");
  if (const auto made = whole_.find(name); made != whole_.end()) return made->second;
  begun_.insert(name);
  const FromProfile own{name, recipe->second.place};
  cost::Profile profile{.name = name, .gpu = recipe->second.gpu.name};
  for (const auto& [precision, entry] : recipe->second.gemm) profile.gemm[precision] = gemm(own, precision);
  profile.misaligned_rows = misaligned_rows(own);
  profile.attention = attention(own);
  profile.memory_bound = memory_bound(own);
  profile.nvlink = nvlink(own);
  profile.pcie = pcie(own);
  profile.network = network(own);
  profile.point_to_point = point_to_point(own);
  profile.exchanges = exchanges(own);
  if (!recipe->second.kernel_tables.empty()) {
    profile = with_kernel_tables(std::move(profile), recipe->second, *tables_);
    fit_experts(profile, recipe->second, *tables_);
    for (const auto& [precision, law] : profile.gemm) gemm_.insert_or_assign({name, precision}, law);
  }
  if (!recipe->second.serving_tables.empty()) fit_serving_attention(profile, recipe->second, *tables_);
  if (!recipe->second.engine_tables.empty()) fit_engine_tables(profile, recipe->second, *tables_);
  attention_.insert_or_assign({name, {}}, profile.attention);
  profile.notes = notes_of(profile);
  return whole_.emplace(name, std::move(profile)).first->second;
}

}  // namespace foretoken::fit
