// A software stack: its fused kernels, its overlaps, its way to post messages, and its few fitted numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/job/offload.h"
#include "sim/model/layer_ops.h"

namespace foretoken::job {

/// A way to compute attention.
struct AttentionChoice {
  model::AttentionKind kind = model::AttentionKind::kFlash;
  FlashKernel kernel = FlashKernel::kFastest;
};

/// The overlaps that the users of a runtime can switch on and off. A search tries both.
struct OverlapSwitches {
  bool grad_reduce = false, param_gather = false, p2p = false, tensor_parallel = false;
  bool exchanges = false;  ///< of experts
};

/// Adam that runs tensor by tensor, each of its operations a kernel.
struct UnfusedAdam {
  std::vector<Precision> precisions;  ///< of training that uses it; other precisions have a fused optimizer
  double bytes = 0;                   ///< traffic per parameter, beside three passes over the gradients
  double kernels_per_tensor = 0;
  Seconds host_per_kernel;  ///< host time to issue one kernel
};

/// A runtime file, calibration/runtimes/NAME.json.
struct Runtime {
  std::string name;
  std::string description;
  std::string source;
  int year = 0;  ///< in which the software ran; 0: not stated. Intervals grow with years between it and measured runs

  // Behaviour.
  AttentionChoice default_attention;
  bool pytorch_attention = false;  ///< attention is PyTorch's scaled_dot_product_attention, which picks a kernel
  int default_zero_stage = 0;
  /// PyTorch FSDP: a layer is a unit, its fp32 shard is the master copy, and ZeRO-2 gathers in every forward pass.
  bool fully_sharded = false;
  bool overlap_backward_collectives = true;  ///< tensor-parallel collectives beside weight-gradient GEMMs
  bool scatter_gather = false;  ///< pipeline messages cut over tensor ranks, gathered in the receiving node
  bool fused_cross_entropy = false;
  bool compiled_cross_entropy = false;  ///< fused by PyTorch's compiler, not by Transformer Engine
  bool compiled_layers = false;         ///< PyTorch's compiler runs the layers
  model::Fusions fusions{};             ///< of the other kernels; the two losses above are not read here
  bool overlap_grad_reduce = false;     ///< defaults of the scenario's `overlap`
  bool overlap_param_gather = false;
  bool overlap_p2p = false;  ///< interleaved schedules only
  OverlapSwitches switches;
  model::TensorOverlap tensor_overlap = model::TensorOverlap::kNone;  ///< what `overlap.tensor_parallel` switches on
  bool userbuffers_gain = false;  ///< overlapped tensor-parallel collectives save the time that they stand beside GEMMs
  bool cublas_before_11_7 = false;             ///< batched products with misaligned rows run without tensor cores
  bool transformer_engine = false;             ///< layers are Transformer Engine's modules
  bool fused_accumulation = false;             ///< weight-gradient GEMMs add to the main gradient themselves
  bool experts_split_as_dense = false;         ///< expert_tensor is the tensor degree unless stated, else 1
  std::vector<model::Dispatcher> dispatchers;  ///< of tokens to experts; a search tries them. Empty: not stated
  int deepep_multiprocessors = 20;             ///< that an exchange by DeepEP holds
  bool pads_vocabulary = true;                 ///< to a multiple of 128 x tensor degree
  bool keeps_16bit_gradients = false;          ///< beside the fp32 main gradient: two more bytes per parameter
  double fp16_gradient_bytes = 2;              ///< element size of reduced gradients when training in fp16
  double bf16_gradient_bytes = 4;

  OffloadSupport offload;
  std::optional<UnfusedAdam> unfused_adam;

  // Fitted numbers. A runtime states at most six, each explained in its file.
  double gradient_accumulation_bytes = 6;  ///< bytes per weight and micro-batch of the kernel that adds gradients
  double tensor_comm_factor = 1;           ///< time of tensor-parallel collectives, relative to nccl-tests
  Seconds tensor_comm_overhead;            ///< added to each tensor-parallel collective
  double data_comm_factor = 1;             ///< time of data-parallel collectives across nodes, relative to nccl-tests
  /// Counts the NICs of a node that all its data-parallel groups fill together when each holds several of its GPUs.
  std::optional<double> data_comm_nics;
  double gemm_factor = 1;  ///< time of GEMMs inside training, relative to the profile
  /// Time of the backward pass's fp8 GEMMs on Hopper, relative to the profile's: their accumulators are split, which
  /// Blackwell does not need.
  double fp8_backward_factor = 1;
  Seconds collective_per_rank;  ///< time of each gathered or reduced tensor of sharded layers, per replica
  double optimizer_bytes = 48;  ///< memory traffic of the optimizer step per parameter of its share
  /// PyTorch's zero_grad drops gradients, so a step of one micro-batch has them only once its backward pass makes them.
  bool drops_gradients = false;
  /// PyTorch's autocast runs where weights are kept in fp32 and products have 16 bits.
  bool autocast = false;
  double frozen_input_copies = 1;      ///< of recomputed inputs, where shards are gathered and weights are frozen
  double optimizer_working_bytes = 0;  ///< short-lived bytes of the optimizer step per parameter of its share
  double memory_bound_factor = 1;      ///< time of memory-bound kernels inside training, relative to the profile
  Seconds host_per_layer_forward;  ///< host time to issue one layer with dropout at tensor degree 1; any other op takes
                                   ///< as long as one of its ops
  Seconds host_per_layer_backward;
  double host_growth_per_tensor_rank = 0;  ///< host time grows by this part per further tensor rank
  Seconds p2p_overhead;                    ///< added to each blocking pipeline message
  Seconds pass_overhead;                   ///< time between two passes of a pipeline stage
  Seconds step_overhead;                   ///< once per step of replicas: data, logging, loss
  Seconds expert_product;  ///< host time to issue the product of one expert, where each is a kernel of its own
  /// Time beyond the modelled kernels in each forward pass of a layer with experts that are exchanged: the host reads
  /// the counts of tokens, and then issues hundreds of small kernels.
  Seconds expert_wait;

  std::vector<std::string> notes;  ///< one line per number with its source, shown as assumptions
};

}  // namespace foretoken::job
