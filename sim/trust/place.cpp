// The keys of a place, in the order in which words name them.
#include "sim/trust/place.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>

namespace foretoken::trust {
namespace {

constexpr auto kAll = std::to_array<PlaceKey>({
    {"gpu", "GPU", Scale::kKind, true, &Place::gpu},
    {"architecture", "GPU generation", Scale::kKind, true, &Place::architecture},
    {"runtime", "runtime", Scale::kKind, true, &Place::runtime},
    {"year", "year of the software", Scale::kYear, true, &Place::year},
    {"layers", "kinds of layers", Scale::kKind, true, &Place::layers},
    {"heads", "key and value heads", Scale::kSwitch, true, &Place::heads},
    {"mlp", "kind of MLP", Scale::kSwitch, true, &Place::mlp},
    {"parameters", "parameters", Scale::kDoubling, true, &Place::parameters},
    {"bits", "precision in bits", Scale::kKind, false, &Place::bits},
    {"sequence", "sequence length", Scale::kDoubling, false, &Place::sequence},
    {"board", "GPU board", Scale::kSwitch, false, &Place::board},
    {"fabric", "kind of network", Scale::kSwitch, false, &Place::fabric},
    {"recipe", "precision recipe", Scale::kSwitch, false, &Place::recipe},
    {"attention", "attention", Scale::kSwitch, false, &Place::attention},
    {"exchange", "exchange of context ranks", Scale::kSwitch, false, &Place::exchange},
    {"recompute", "recomputation", Scale::kSwitch, false, &Place::recompute},
    {"schedule", "schedule", Scale::kSwitch, false, &Place::schedule},
    {"zero", "ZeRO stage", Scale::kSwitch, false, &Place::zero},
    {"sequence_parallel", "sequence parallelism", Scale::kSwitch, false, &Place::sequence_parallel},
    {"grad_reduce", "overlapped gradient reduction", Scale::kSwitch, false, &Place::grad_reduce},
    {"param_gather", "overlapped parameter gathering", Scale::kSwitch, false, &Place::param_gather},
    {"p2p", "overlapped messages", Scale::kSwitch, false, &Place::p2p},
    {"tensor_overlap", "overlapped tensor parallelism", Scale::kSwitch, false, &Place::tensor_overlap},
    {"graphs", "CUDA graphs", Scale::kSwitch, false, &Place::graphs},
    {"compile", "compiled layers", Scale::kSwitch, false, &Place::compile},
    {"routing", "routing to experts", Scale::kSwitch, false, &Place::routing},
    {"dropout", "dropout", Scale::kSwitch, false, &Place::dropout},
    {"hardware", "slow or failed hardware", Scale::kSwitch, false, &Place::hardware},
    {"gpus", "GPUs", Scale::kDoubling, false, &Place::gpus},
    {"domain", "GPUs joined by NVLink", Scale::kDoubling, false, &Place::domain},
    {"network", "GB/s of network a GPU", Scale::kDoubling, false, &Place::network},
    {"micro", "micro-batch", Scale::kDoubling, false, &Place::micro},
    {"microbatches", "micro-batches", Scale::kDoubling, false, &Place::microbatches},
    {"tensor", "tensor degree", Scale::kDoubling, false, &Place::tensor},
    {"context", "context degree", Scale::kDoubling, false, &Place::context},
    {"pipeline", "pipeline degree", Scale::kDoubling, false, &Place::pipeline},
    {"chunks", "chunks a stage", Scale::kDoubling, false, &Place::chunks},
    {"expert", "expert degree", Scale::kDoubling, false, &Place::expert},
    {"expert_tensor", "tensor degree of experts", Scale::kDoubling, false, &Place::expert_tensor},
});

double between(Scale scale, double a, double b) {
  if (a == b) return 0;
  if (scale == Scale::kYear) return a > 0 && b > 0 ? std::abs(a - b) : 1;
  return scale == Scale::kDoubling ? std::abs(std::log2(a / b)) : 1;
}

void add_steps(Steps& steps, const PlaceKey& key, const Place& a, const Place& b) {
  double& sum = key.scale == Scale::kKind       ? steps.kinds
                : key.scale == Scale::kDoubling ? steps.doublings
                                                : steps.switches;
  sum += steps_of(key, a, b);
}

// The rank of a scale by the time of a comparison and by its usual weight.
constexpr int rank_of(Scale scale) {
  switch (scale) {
    case Scale::kKind:
      return 0;
    case Scale::kSwitch:
    case Scale::kYear:
      return 1;
    case Scale::kDoubling:
      break;
  }
  return 2;
}

constexpr int kRanks = 3;

// All keys by rank. Keys of one rank keep their order, so that their sums are those of steps_between().
constexpr auto kByRank = [] {
  std::array<const PlaceKey*, kAll.size()> keys{};
  std::size_t count = 0;
  for (int rank = 0; rank < kRanks; ++rank)
    for (const PlaceKey& key : kAll)
      if (rank_of(key.scale) == rank) keys[count++] = &key;
  return keys;
}();

}  // namespace

std::span<const PlaceKey> place_keys() { return kAll; }

std::string value_of(const PlaceKey& key, const Place& place) {
  if (const auto* text = std::get_if<Word Place::*>(&key.member)) return place.*(*text);
  return fmt::format("{:.6g}", place.*std::get<double Place::*>(key.member));
}

double steps_of(const PlaceKey& key, const Place& a, const Place& b) {
  if (const auto* text = std::get_if<Word Place::*>(&key.member)) return a.*(*text) == b.*(*text) ? 0 : 1;
  const auto number = std::get<double Place::*>(key.member);
  return between(key.scale, a.*number, b.*number);
}

Steps steps_between(const Place& a, const Place& b, bool of_question_alone) {
  Steps steps;
  for (const PlaceKey& key : kAll) {
    if (of_question_alone && !key.is_of_question) continue;
    add_steps(steps, key, a, b);
  }
  return steps;
}

std::optional<double> distance_within(double most, const Weights& weights, const Place& a, const Place& b) {
  Steps steps;
  auto key = kByRank.begin();
  for (int rank = 0; rank < kRanks; ++rank) {
    for (; key != kByRank.end() && rank_of((*key)->scale) == rank; ++key) add_steps(steps, **key, a, b);
    if (weights.distance(steps) > most) return std::nullopt;
  }
  return weights.distance(steps);
}

bool same_kind(const Place& a, const Place& b) { return a.gpu == b.gpu && a.runtime == b.runtime && a.bits == b.bits; }

std::string shown_kind(const Place& place) {
  std::string kind = place.gpu;
  for (char& letter : kind) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return kind;
}

std::string shown_bits(const Place& place) { return place.bits == 16 ? "" : fmt::format(" in {:g} bits", place.bits); }

}  // namespace foretoken::trust
