// Chooses the memory-bound kernels, attention shapes and collectives to measure.
#include <array>
#include <cmath>

#include "calibration/import/kernel_work.h"
#include "calibration/measure/plan.h"
#include "calibration/measure/spread.h"

namespace foretoken::measure {
namespace {

using measured::AttentionSample;
using measured::CollectiveSample;
using measured::KernelSample;

constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
constexpr double kSmallestKernel = 256 * kKiB, kLargestKernel = kGiB;

/// The row lengths of a kernel that training meets; 0: none further.
struct Rows {
  std::string_view kernel;
  std::array<std::int64_t, 3> columns;
};
constexpr std::array kRows{Rows{"copy", {4096, 0, 0}},
                           Rows{"cast_from_fp32", {4096, 0, 0}},
                           Rows{"layer_norm", {4096, 1024, 12288}},
                           Rows{"rms_norm", {4096, 1024, 12288}},
                           Rows{"bias_gelu", {16384, 4096, 0}},
                           Rows{"swiglu", {14336, 4096, 0}},
                           Rows{"masked_softmax", {2048, 1024, 4096}},
                           Rows{"dropout_add", {4096, 0, 0}},
                           Rows{"cross_entropy", {32000, 50304, 128256}},
                           Rows{"adam", {4096, 0, 0}}};

KernelSample kernel_sample(std::string_view kernel, double bytes, std::int64_t columns, bool cold) {
  KernelSample sample;
  sample.kernel = std::string(kernel);
  sample.columns = columns;
  double rows = std::round(bytes / (measured::bytes_per_element(kernel) * static_cast<double>(columns)));
  // The rows form whole score squares, so the causal half is a half.
  if (kernel == "masked_softmax") rows = std::round(rows / static_cast<double>(columns)) * static_cast<double>(columns);
  sample.rows = static_cast<std::int64_t>(std::max(rows, 0.0));
  sample.cold = cold;
  if (sample.rows > 0) sample.bytes = measured::kernel_bytes(kernel, sample.rows, columns);
  return sample;
}

AttentionSample attention_sample(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t length,
                                 std::int64_t head_dim) {
  AttentionSample sample;
  sample.shape.batch = batch;
  sample.shape.heads = heads;
  sample.shape.kv_heads = kv_heads;
  sample.shape.q_length = sample.shape.kv_length = length;
  sample.shape.head_dim = head_dim;
  return sample;
}

/// Returns the payload that gives every rank the same number of bf16 elements.
double whole_elements(double bytes, int ranks) {
  const double piece = 2.0 * ranks;
  return std::max(1.0, std::floor(bytes / piece)) * piece;
}

std::vector<AttentionSample> attention_shapes() {
  constexpr std::int64_t kTokens = 16384, kHidden = 2048;  // arXiv:2307.08691 section 4.1
  std::vector<AttentionSample> plan;
  for (std::int64_t length = 512; length <= 32768; length *= 2)
    for (const std::int64_t head_dim : {64, 128}) {
      const std::int64_t heads = kHidden / head_dim;
      plan.push_back(attention_sample(std::max<std::int64_t>(1, kTokens / length), heads, heads, length, head_dim));
      plan.push_back(
          attention_sample(1, 4, 4, length, head_dim));  // a tensor-parallel share: too few blocks for all SMs
      if (head_dim == 128)
        for (const std::int64_t share : {4, 8})
          plan.push_back(attention_sample(std::max<std::int64_t>(1, kTokens / length), 32, 32 / share, length, 128));
    }
  return plan;
}

}  // namespace

const std::vector<std::string_view>& kernel_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Rows& rows : kRows) all.push_back(rows.kernel);
    return all;
  }();
  return names;
}

std::vector<KernelSample> kernel_plan(Bytes cache, PlanSize size) {
  std::vector<KernelSample> plan;
  for (const Rows& kind : kRows)
    for (const std::int64_t columns : kind.columns)
      for (double bytes = kSmallestKernel; bytes <= kLargestKernel; bytes *= size.quick ? 8 : 2)
        for (const bool cold : {true, false}) {
          if (columns == 0 || (size.quick && columns != kind.columns.front())) continue;
          const KernelSample sample = kernel_sample(kind.kernel, bytes, columns, cold);
          if (sample.rows > 0 && (cold || sample.bytes <= cache)) plan.push_back(sample);
        }
  spread(plan, plan.size());
  return plan;
}

std::vector<AttentionSample> attention_plan(PlanSize size) {
  std::vector<AttentionSample> plan;
  for (AttentionSample sample : attention_shapes())
    for (const bool causal : {true, false})
      for (const bool backward : {false, true}) {
        if (size.quick && (sample.shape.q_length > 8192 || sample.shape.heads == 32)) continue;
        sample.shape.causal = causal;
        sample.shape.backward = backward;
        plan.push_back(sample);
      }
  spread(plan, plan.size());
  return plan;
}

std::vector<CollectiveSample> collective_plan(GroupShape group, Bytes largest, PlanSize size) {
  using measured::Collective;
  std::vector<CollectiveSample> plan;
  for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                Collective::kAllToAll, Collective::kSendRecv, Collective::kBroadcast})
    for (double bytes = kKiB; bytes <= std::min(4 * kGiB, largest.value()); bytes *= size.quick ? 8 : 2)
      for (const bool in_place : {false, true}) {
        if (in_place && kind != Collective::kAllReduce) continue;
        CollectiveSample sample;
        sample.kind = kind;
        sample.bytes = Bytes(whole_elements(bytes, group.ranks));
        sample.group = group;
        sample.in_place = in_place;
        sample.type = "bfloat16";
        plan.push_back(std::move(sample));
      }
  spread(plan, plan.size());
  return plan;
}

std::vector<int> group_sizes(int gpus) {
  std::vector<int> sizes;
  for (int ranks = 2; ranks < gpus; ranks *= 2) sizes.push_back(ranks);
  if (gpus >= 2) sizes.push_back(gpus);
  return sizes;
}

}  // namespace foretoken::measure
