// Stores samples by kind; lists nccl-tests' names and factors.
#include "calibration/import/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

struct NamedCollective {
  std::string_view name;
  Collective kind;
};
constexpr std::array kNames{NamedCollective{"all_reduce", Collective::kAllReduce},
                            NamedCollective{"all_gather", Collective::kAllGather},
                            NamedCollective{"reduce_scatter", Collective::kReduceScatter},
                            NamedCollective{"alltoall", Collective::kAllToAll},
                            NamedCollective{"broadcast", Collective::kBroadcast},
                            NamedCollective{"reduce", Collective::kReduce},
                            NamedCollective{"gather", Collective::kGather},
                            NamedCollective{"scatter", Collective::kScatter},
                            NamedCollective{"sendrecv", Collective::kSendRecv},
                            NamedCollective{"hypercube", Collective::kHypercube}};

/// A word of the column `implementation`.
struct NamedKernels {
  std::string_view word;
  cost::AllReduceKernels kernels;
};
constexpr std::array kImplementations{NamedKernels{"trtllm", cost::AllReduceKernels::kTrtLlm},
                                      NamedKernels{"TRTLLM", cost::AllReduceKernels::kTrtLlm},
                                      NamedKernels{"vllm_graph", cost::AllReduceKernels::kVllm},
                                      NamedKernels{"sglang_graph", cost::AllReduceKernels::kSglang}};

template <class T>
void append_kind(std::vector<From<T>>& to, std::vector<From<T>>& from, std::size_t shift) {
  for (From<T>& sample : from) sample.origin += shift;
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

cost::CacheKind DecodeSample::kind() const {
  const bool narrow = bytes_per_element(cache) < 2;
  if (latent) return narrow ? cost::CacheKind::kLatentNarrow : cost::CacheKind::kLatent;
  return narrow ? cost::CacheKind::kNarrow : cost::CacheKind::kWide;
}

std::string why_impossible(const GemmSample& sample) {
  const double us = sample.time.median.value() * 1e6;
  if (!(us >= kShortestUs && us <= kLongestUs))
    return fmt::format("expected a time from {} to {} us, found {} us", kShortestUs, kLongestUs, us);
  const double tflops = (sample.shape.flop() / sample.time.median).value() * 1e-12;
  if (tflops <= kHighestTflops) return "";
  return fmt::format("{} x {} x {} in {} us would be {:.3g} TFLOP/s; expected at most {:g}", sample.shape.m,
                     sample.shape.n, sample.shape.k, us, tflops, kHighestTflops);
}

std::string_view name_of(LayerFamily family) { return family == LayerFamily::kGpt ? "gpt" : "llama"; }

std::string why_impossible(const LayerSample& s) {
  constexpr double kMostElements = 1e15;  // of the scores of all heads, or of a matrix: sizes stay exact numbers
  if (s.hidden % s.heads != 0) return fmt::format("hidden {} is not a multiple of heads {}", s.hidden, s.heads);
  if (s.heads % s.tensor != 0 || s.ffn % s.tensor != 0)
    return fmt::format("tensor {} does not divide heads {} and ffn {}", s.tensor, s.heads, s.ffn);
  const double tokens = static_cast<double>(s.batch) * static_cast<double>(s.sequence);
  const double widest = static_cast<double>(std::max(3 * s.hidden, 2 * s.ffn));
  const double scores = tokens * static_cast<double>(s.sequence) * static_cast<double>(s.heads);
  if (std::max({tokens * widest, static_cast<double>(s.hidden) * widest, scores}) > kMostElements)
    return fmt::format("a tensor of more than {:g} elements", kMostElements);
  return "";
}

void Samples::add(Sample sample) {
  expects(!origins.empty(), "a sample has an origin");
  const std::size_t origin = origins.size() - 1;
  struct Sorter {
    Samples& to;
    std::size_t origin;
    void operator()(GemmSample& s) const { to.gemms.push_back({std::move(s), origin}); }
    void operator()(KernelSample& s) const { to.kernels.push_back({std::move(s), origin}); }
    void operator()(AttentionSample& s) const { to.attention.push_back({std::move(s), origin}); }
    void operator()(LayerSample& s) const { to.layers.push_back({s, origin}); }
    void operator()(CollectiveSample& s) const { to.collectives.push_back({std::move(s), origin}); }
    void operator()(HostSample& s) const { to.host.push_back({std::move(s), origin}); }
    void operator()(ClockSample& s) const { to.clocks.push_back({std::move(s), origin}); }
  };
  std::visit(Sorter{*this, origin}, sample);
}

void Samples::add(ExchangeSample sample) {
  expects(!origins.empty(), "a sample has an origin");
  exchanges.push_back({std::move(sample), origins.size() - 1});
}

void Samples::add(DecodeSample sample) {
  expects(!origins.empty(), "a sample has an origin");
  decodes.push_back({sample, origins.size() - 1});
}

std::optional<cost::AllReduceKernels> kernels_of(std::string_view implementation) {
  for (const auto& [word, kernels] : kImplementations)
    if (word == implementation) return kernels;
  return std::nullopt;
}

void require_known_kernels(const Samples& table, const std::string& file) {
  const auto& rows = table.small_all_reduces;
  const bool known = std::any_of(rows.begin(), rows.end(), [](const SmallAllReduceSample& row) {
    return kernels_of(row.implementation).has_value();
  });
  if (rows.empty() || known) return;
  std::vector<std::string> words;
  for (const NamedKernels& each : kImplementations) words.emplace_back(each.word);
  const std::string message = fmt::format("implementation: expected {} in some row, found {} in the first",
                                          either(words), in_quotes(rows.front().implementation));
  throw ConfigError({{file, "", message}});
}

void Samples::add(SmallAllReduceSample sample) {
  expects(!origins.empty(), "a sample has an origin");
  small_all_reduces.push_back({std::move(sample), origins.size() - 1});
}

void Samples::append(Samples other) {
  const std::size_t shift = origins.size();
  origins.insert(origins.end(), other.origins.begin(), other.origins.end());
  append_kind(gemms, other.gemms, shift);
  append_kind(kernels, other.kernels, shift);
  append_kind(attention, other.attention, shift);
  append_kind(layers, other.layers, shift);
  append_kind(collectives, other.collectives, shift);
  append_kind(exchanges, other.exchanges, shift);
  append_kind(decodes, other.decodes, shift);
  append_kind(small_all_reduces, other.small_all_reduces, shift);
  experts.insert(experts.end(), other.experts.begin(), other.experts.end());
  append_kind(host, other.host, shift);
  append_kind(clocks, other.clocks, shift);
  notes.insert(notes.end(), other.notes.begin(), other.notes.end());
}

std::size_t Samples::size() const {
  return gemms.size() + kernels.size() + attention.size() + layers.size() + collectives.size() + exchanges.size() +
         decodes.size() + small_all_reduces.size() + experts.size() + host.size() + clocks.size();
}

std::string_view name_of(Collective kind) {
  for (const auto& [name, named] : kNames)
    if (named == kind) return name;
  expects(false, "every collective has a name");
  return {};
}

std::optional<Collective> collective_named(std::string_view name) {
  for (const auto& [known, kind] : kNames)
    if (known == name) return kind;
  return std::nullopt;
}

std::string product_work(Precision precision) { return std::string(name_of(precision)) + " product of "; }

double bus_factor(Collective kind, int ranks) {
  expects(ranks >= 1, "a group has at least one rank");
  const double n = ranks;
  switch (kind) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kHypercube:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return 1;
  }
  return 1;
}

}  // namespace foretoken::measured
