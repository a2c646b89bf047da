// The flags of Megatron-LM and its forks. A family of flags has a row for its first words.
#include "sim/io/import/launch/megatron/flag_table.h"

#include <algorithm>
#include <array>

#include "sim/base/text.h"
#include "sim/io/import/launch/masked_tokens.h"
#include "sim/io/import/launch/megatron/flags_by_name.h"
#include "sim/io/import/launch/megatron/fusions.h"
#include "sim/io/import/launch/megatron/ignored_flags.h"

namespace foretoken::io::launch::megatron {
namespace {

/// Flags that rules read.
constexpr std::string_view kReadFlags =
    "num-layers hidden-size ffn-hidden-size intermediate-size num-attention-heads kv-channels group-query-attention "
    "num-query-groups num-key-value-heads multi-query-attention n-head-kv num-attention-heads-kv use-multiquery-attn "
    "attention-head-type transformer-type use-alibi-mask use-mistral-rotary-position-embeddings enable-gpt-oss "
    "allow-padding-num-layers mtp-use-repeated-layer shared-moe-ffn-hidden-size enable-shared-expert "
    "max-position-embeddings "
    "position-embedding-type use-rotary-position-embeddings use-llama2-rotary-position-embeddings "
    "no-position-embedding swiglu squared-relu geglu quick-geglu glu-activation normalization "
    "disable-bias-linear add-qkv-bias qk-layernorm untie-embeddings-and-output-weights embed-layernorm "
    "hidden-dropout attention-dropout vocab-size padded-vocab-size pad-vocab-size-to "
    "make-vocab-size-divisible-by "
    "mtp-num-layers num-experts moe-router-topk moe-topk topk moe-ffn-hidden-size "
    "moe-shared-expert-intermediate-size moe-shared-expert-gate moe-layer-freq expert-interval "
    "moe-router-enable-expert-bias multi-latent-attention q-lora-rank kv-lora-rank qk-head-dim qk-pos-emb-head-dim "
    "v-head-dim window-size window-attn-skip-freq tensor-model-parallel-size model-parallel-size "
    "pipeline-model-parallel-size pipe-parallel-size "
    "no-pipeline-parallel context-parallel-size expert-model-parallel-size moe-expert-parallel-size "
    "expert-tensor-parallel-size export-tensor-parallel-size enable-expert-tensor-parallelism sequence-parallel "
    "num-layers-per-virtual-pipeline-stage "
    "num-virtual-stages-per-pipeline-rank virtual-pipeline-model-parallel-size pipeline-model-parallel-layout "
    "decoder-first-pipeline-num-layers "
    "decoder-last-pipeline-num-layers decoder-pipeline-manual-split-list account-for-embedding-in-pipeline-split "
    "account-for-loss-in-pipeline-split "
    "microbatch-group-size-per-virtual-pipeline-stage cp-comm-type micro-batch-size "
    "batch-size global-batch-size gas gradient-accumulation-steps seq-length encoder-seq-length decoder-seq-length "
    "step-batch-size-schedule bf16 fp16 "
    "fp8-format fp8 fp8-hybrid fp8-e4m3 fp8-recipe fp8-param-gather fp4-format fp4-recipe "
    "accumulate-allreduce-grads-in-fp32 grad-reduce-in-bf16 use-precision-aware-optimizer main-grads-dtype "
    "main-params-dtype exp-avg-dtype exp-avg-sq-dtype recompute-granularity recompute-method recompute-num-layers "
    "recompute-modules recompute-activations checkpoint-activations checkpoint-num-layers "
    "activations-checkpoint-method activations-checkpoint-granularity activations-checkpoint-num-layers "
    "use-distributed-optimizer optimizer zero-stage deepspeed deepspeed-config use-megatron-fsdp use-custom-fsdp "
    "use-torch-fsdp2 data-parallel-sharding-strategy megatron-fsdp-version num-distributed-optimizer-instances "
    "DDP-impl "
    "overlap-grad-reduce "
    "overlap-param-gather "
    "no-overlap-p2p-communication overlap-p2p-communication tp-comm-overlap overlap-moe-expert-parallel-comm "
    "moe-shared-expert-overlap moe-token-dispatcher-type moe-enable-deepep moe-flex-dispatcher-backend "
    "moe-expert-capacity-factor moe-train-capacity-factor moe-router-force-load-balancing attention-backend "
    "use-flash-attn use-flash-attn-v2 "
    "use-flash-attn-triton "
    "transformer-impl use-mcore-models use-legacy-models cuda-graph-impl enable-cuda-graph external-cuda-graph "
    "cuda-graph-scope nproc-per-node nnodes gpus-per-node ntasks-per-node nodes ntasks gpus gres num-gpus num-nodes "
    "nproc include "
    "decoder-num-layers encoder-num-layers pipeline-model-parallel-split-rank relative-attention-num-buckets "
    "encoder-pipeline-model-parallel-size encoder-tensor-model-parallel-size "
    "bert-no-binary-head optimizer-cpu-offload optimizer-offload-fraction cpu-offloading cpu-offloading-num-layers "
    "use-bnb-optimizer use-checkpoint-args "
    "rampup-batch-size "
    "ds-sequence-parallel-size context-parallel-algo moe-intermediate-size num-shared-experts n-shared-experts "
    "apply-layernorm-rms use-rms-norm no-tie-embed-logits use-bias parallel-attn multiple-of hidden-dim-multiplier "
    "use-flash-attn-cutlass use-flash-attn-torch use-fusion-attn-v2 world-size lora-r lora-target-modules stage "
    "moe-layer-recompute spec first-k-dense-replace num-layer-list multi-head-latent-attention qk-rope-head-dim "
    "qk-nope-head-dim shared-expert-gate mlp-type pos-emb-type cpu-optimizer pp-partition-method use-rmsnorm "
    "llama-swiglu swiglu-multiple-of";

/// Flags that change little, and what is taken instead.
struct Row {
  std::string_view names, because;
};
constexpr Row kNoted[] = {
    {"deterministic-mode no-gradient-accumulation-fusion use-deter-comp",
     "deterministic or unfused kernels of the gradients are slower; fused ones are taken"},
    {"no-rope-fusion no-masked-softmax-fusion no-bias-gelu-fusion no-bias-swiglu-fusion no-bias-dropout-fusion "
     "no-persist-layer-norm no-moe-permute-fusion cross-entropy-fusion-impl no-gradient-reduce-div-fusion "
     "moe-grouped-gemm moe-use-legacy-grouped-gemm use-tutel disable-mamba-mem-eff-path use-fused-rmsnorm "
     "use-fused-swiglu use-fused-rotary-pos-emb use-fused-moe-token-permute-and-unpermute "
     "use-fused-ring-attention-update use-fused-mlp enable-token-rearrange-opt mla-mm-split mla-fa-without-pad "
     "mla-fa-divide-qk enable-fa-within-mla shape-order jit-compile gemm-gradient-accumulation-fusion lora-fusion",
     kKernelsFused},
    {"attention-softmax-in-fp32 input-layernorm-in-fp32 rotary-position-embeddings-in-fp32 fp16-lm-cross-entropy "
     "router-gating-in-fp32",
     "kernels of little work have the precision that the runtime gives them"},
    {"qk-l2-norm post-norm", "these norms are not counted, which take little time"},
    {"no-post-layer-norm", "the norm behind the last layer is counted, which takes little time"},
    {"te-rng-tracker", "random numbers are drawn as in the runtime"},
    {"use-z-loss", "this term of the loss is not counted, which takes little time"},
    {"memory-centric-tiled-linear tile-factor output-layer-slice-num",
     "these products run in one piece, which takes more memory"},
    {"fp8-amax-compute-algo fp8-amax-history-len fp8-margin fp8-interval",
     "the scales of fp8 cost as in the runtime's recipe"},
    {"no-fp8-wgrad", "gradients of weights are products in fp8, too, which take less time"},
    {"first-last-layers-bf16 num-layers-at-start-in-bf16 num-layers-at-end-in-bf16", "all layers run in fp8"},
    {kRankOrderFlag, kRankOrder},
    {"activation-func-fp8-input-store", kNarrowInput},
    {"keep-fp8-transpose-cache keep-fp8-transpose-cache-when-using-custom-fsdp keep-fp8-weight-transpose-cache",
     kKeptTransposes},
    {"disable-parameter-transpose-cache", "transposed weights in fp8 are kept as in the runtime"},
    {"reuse-grad-buf-for-mxfp8-param-ag", "gathered weights have a buffer of their own, which takes more memory"},
    {"megatron-fsdp-main-grads-dtype megatron-fsdp-main-params-dtype",
     "gradients and master weights have the types of the precision"},
    {"train-mode training-phase", "a step of fine-tuning all weights costs what one of pre-training does"},
    {"variable-seq-lengths is-instruction-dataset data-type padded-base-length",
     "sequences that are not packed are as long as the data; all are taken as long as stated"},
    {"optimizer-split-size", "Adam has one group of weights with decay"},
    {"embedding-weights-in-fp32 fp32-embedding fp32-tokentypes fp32-layernorm",
     "the embedding and the norms have the precision of the other weights"},
    {"manual-gc manual-gc-interval", "garbage collection costs no time"},
    {"use-normhead", "the weights of the head are not normalised in each pass, which takes time and a copy of them"},
    {"trace transformer-timers do-trace trace-start trace-dir trace-interval trace-granularity "
     "continuous-trace-iterations",
     "tracing costs no time"},
    {"no-async-tensor-model-parallel-allreduce no-scatter-gather-tensors-in-pipeline delay-wgrad-compute "
     "defer-embedding-wgrad-compute wgrad-deferral-limit overlap-p2p-communication-warmup-flush "
     "overlap-param-gather-with-optimizer-step tp-comm-overlap-cfg ddp-num-buckets ddp-bucket-size "
     "ddp-average-in-collective ddp-pad-buckets-for-high-nccl-busbw high-priority-stream-groups "
     "disable-gloo-process-groups outer-dp-sharding-strategy expert-outer-dp-sharding-strategy "
     "use-nccl-ub fsdp-double-buffer no-delay-grad-reduce delay-grad-reduce delay-param-gather no-delay-param-gather "
     "tp-comm-split-ag tp-comm-split-rs "
     "tp-comm-bulk-dgrad tp-comm-bulk-wgrad use-ring-exchange-p2p nccl-communicator-config-path "
     "hierarchical-context-parallel-sizes megatron-fsdp-grad-comm-dtype nccl-ub overlap-cpu-optimizer-d2h-h2d "
     "no-align-param-gather disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag "
     "disable-tp-comm-overlap-rs disable-tp-comm-split-ag disable-tp-comm-split-rs tp-comm-overlap-rs-dgrad "
     "pipeline-model-parallel-comm-backend use-sharp sharp-enabled-group suggested-communication-unit-size "
     "enable-full-sharding-in-hsdp no-pin-cpu-grads no-pin-cpu-params scatter-gather-tensors-in-pipeline "
     "tp-comm-atomic-ag tp-comm-atomic-rs align-param-gather "
     "use-contiguous-buffers-in-local-ddp no-contiguous-buffers-in-local-ddp moe-permutation-async-comm "
     "use-separate-send-recv-groups use-cp-send-recv-overlap cp-window-size kv-head-repeat-before-uly-alltoall "
     "disable-gloo-group no-pre-communication-optimization moe-deepep-num-sms moe-hybridep-num-sms "
     "moe-flex-dispatcher-num-sms mla-up-proj-tp-overlap",
     "communication is arranged as the runtime does it"},
    {"moe-router-padding-for-quantization moe-router-padding-for-fp8 moe-router-num-groups moe-router-group-topk "
     "moe-enable-routing-replay moe-pad-expert-input-to-capacity moe-token-drop-policy disable-moe-token-dropping "
     "moe-min-capacity moe-router-force-biased moe-router-topk-limited-devices fix-router",
     "tokens are spread evenly, and none is dropped"},
    {"cuda-graph-modules cuda-graph-warmup-steps cuda-graph-trace", "a CUDA graph holds whole layers"},
    {"glu-linear-offset activation-func-clamp-value apply-query-key-layer-scaling openai-gelu gelu-tanh "
     "attn-logit-softcapping output-logit-softcapping final-logit-softcapping router-logit-softcapping "
     "moe-apply-probs-on-input",
     "fused kernels take as long without it"},
    {"empty-unused-memory-level", "the cache of the allocator is not emptied"},
    {"reset-position-ids reset-attention-mask eod-mask-loss-in-attention attention-mask-in-length "
     "attention-mask-type cp-attention-mask-type attention-mask-on-cpu sparse-mode pre-tockens next-tockens neat-pack",
     "attention sees the whole sequence"},
    {"recompute-norm recompute-norm-num-layers recompute-activation-function recompute-activation-function-num-layers "
     "recompute-mla-up-proj recompute-mtp-norm recompute-mtp-layer recompute-lgd moe-zero-memory "
     "moe-zero-memory-num-layers mla-zero-memory mtp-mem-efficient-logits moe-unperm2-mem-optim",
     "parts of a layer that would be computed again are kept, which takes more memory"},
    {"enable-recompute-layers-per-pp-rank recompute-in-advance",
     "the layers that are computed again are counted for each chunk"},
    // Layers in two parts: deepspeedai/Megatron-DeepSpeed, megatron/arguments.py (_add_memoryopt_args).
    {"deepspeed-activation-checkpointing split-transformers",
     "it computes the same layers again as Megatron-LM's own code, which counts here"},
    {"synchronize-each-layer", "the wait for the GPU behind each layer is not counted"},
    {"vocab-extra-ids no-rope-freq add-dense-bias add-output-layer-bias disable-bias-linear-fc disable-bias-attn-fc",
     "it changes the model by less than 0.1 %"},
    // NVIDIA/Megatron-LM, megatron/core/tensor_parallel/generalized_tensor_parallelism.py.
    {"expert-tensor-parallel-num-weight-shards tensor-parallel-num-weight-shards",
     "weights are not sharded further over other ranks, which takes more memory and fewer gathers"},
    {"partition-activations scattered-embeddings distribute-saved-activations distribute-checkpointed-activations",
     "activations are kept on every tensor rank"},
    {"window-attn-softcap", "kernels of attention take as long without it"},
    {"sink-attention softmax-type", kWithoutSinks}};

/// Flags of MindSpeed that change nothing with one tensor rank.
constexpr std::string_view kOfTensorRanks =
    "use-ascend-mc2 use-ascend-coc use-mc2 coc-fused-kernel coc-mode coc-parallel-num enable-overlap-ag-with-matmul "
    "enable-overlap-matmul-with-rs enable-backward-overlap-ag-with-matmul";

constexpr Row kRefused[] = {
    {"fmoefy moe-num-experts moe-top-k moe-expert-model-parallelism moe-loss-weight moe-weight-parallelism "
     "moe-lbl-in-fp32 moe-zloss-weight",
     "layers of experts of MegaBlocks or FastMoE"},
    {"hybrid-layer-pattern is-hybrid-model hybrid-override-pattern hybrid-mlp-ratio hybrid-attention-ratio spec-hybrid",
     "a hybrid of state-space and attention layers"},
    {"experimental-attention-variant dsa-indexer-topk dsa-indexer-head-dim dsa-indexer-n-heads "
     "dsa-indexer-loss-coeff dsa-indexer-use-sparse-loss attention-output-gate enable-dsa-indexer",
     "an experimental attention"},
    {"sliding-window interleave-sliding-window", "attention to a window of the sequence"},
    {"qk-clip", "the largest products of queries and keys are gathered and clipped in each step, beside Muon"},
    {"muon-momentum muon-scale-mode muon-extra-scale-factor", "the Muon optimizer has other costs and memory"},
    {"img-h img-w image-tag-type vision-model-type language-model-type language-model-checkpoint image-token-id "
     "disable-vision-class-token dynamic-resolution "
     "audio-encoder-model patch-dim pixel-shuffle freeze-LM freeze-ViT freeze-llm freeze-clip-vision-tower "
     "tune-mm-mlp-adapter cvcuda-image-processing spatial-merge-size temporal-patch-size use-tiling "
     "max-num-tiles use-thumbnail num-frames packing-buffer-size packing-seq-length",
     "a multimodal model"},
    {"patch-size use-te total-seq-length use-packed-sequence", "a flag of multimodal programs"},
    {"task bert-load pretrained-checkpoint-task titles-data-path query-in-block-prob",
     "a downstream task, not pre-training"},
    {"kd mos distill load-teacher num-layers-teacher hidden-size-teacher num-attention-heads-teacher "
     "num-experts-teacher",
     "distillation: a second model runs"},
    {"random-ltd data-efficiency-curriculum-learning curriculum-learning curriculum-learning-legacy",
     "the length of the sequences changes during the run"},
    {"standalone-embedding-stage", "a stage for the embedding alone"},
    {"fp4-param", "weights of 4 bits"},
    {"batch-invariant-mode", "kernels whose sums do not depend on the batch are slower"},
    {"fake-process-group is-scaling-mode", "no communication: one process plays all of them"},
    {"recompute-method-per-stage recompute-granularity-per-stage recompute-num-layers-per-stage "
     "recompute-granularity-per-stage-micro-batch recompute-method-per-stage-micro-batch "
     "recompute-num-layers-per-stage-micro-batch",
     "recomputing that differs by stage"},
    {"checkpoint-in-cpu", "activations that move to the host's memory"},
    {"ds-sequence-parallel-fpdt ds-sequence-parallel-fpdt-chunk-size ds-sequence-parallel-fpdt-offloading",
     "chunks of the sequence that move to the host"},
    {"enable-zbh1-pipeline enable-zbh1-exact-semantics enable-zero-bubble zero-bubble-v-schedule enable-zb-runtime "
     "enable-1f1b-v zero-bubble-max-pending-backward",
     "a zero-bubble schedule; state the schedule with --set schedule=zb-h1 and allow this flag"},
    {"cpu-offloading-weights fine-grained-activation-offloading offload-modules offload-chunk-num cpu-offload "
     "offload-optimizer-states optimizer-offload-policy optimizer-offload-auto-threshold optimizer-offload-chunk-size "
     "delay-offload-until-cuda-graph min-offloaded-tensor-size activation-offload-fraction",
     "tensors that move to the host's memory"},
    {"fp32-residual-connection", "a residual stream in fp32"},
    {"moe-extended-tp moe-tp-extend-ep", "experts cut by the expert and the tensor ranks together"},
    {"kitchen-config-file te-precision-config-file", "products of several formats, by a file"},
    {"torch-fsdp2-no-reshard-after-forward", "FSDP2 that keeps its gathered weights for the backward pass"},
    {"use-torch-optimizer-for-cpu-offload remote-device", "tensors that move to the host's memory"},
    {"num-unique-layers param-sharing-style", "layers that share their weights"},
    {"ict-head-size biencoder-projection-dim biencoder-shared-query-context-model",
     "a retriever, not a language model"},
    {"num-classes num-channels", "a vision model"},
    {"bitfit", "weights that do not train"},
    {"compression-training", "layers that change during the run"},
    {"noop-layers", "layers without weights that fill up the stages"},
    {"reuse-fp32-param", "weights that share the memory of their fp32 copies"},
    {"moe-alltoall-overlap-comm moe-allgather-overlap-comm moe-fb-overlap moe-zerc",
     "communication that overlaps with the products of its own layer"},
    {kOfTensorRanks, "communication that overlaps with the products of its own layer"},
    {"swap-optimizer", "states of the optimizer that move to the host's memory"},
    {"o2-optimizer o2-gradient", "moments or gradients of 16 bits"},
    {"moe router-type moe-input-feature-slicing expert-tensor-parallelism",
     "layers of experts of the fork's own, as DeepSpeed or Tutel has them"},
    {"disable-parallel-output", "logits that are gathered over the tensor ranks"},
    {"enable-gradient-checkpointing", "a trainer of Hugging Face's models, which recomputes layers by its own rules"},
    {"enable-vocab-parallel", "a vocabulary that is cut over the stages"},
    {"enable-layer-redistribution final-stage-num-layers",
     "stages with layers of the fork's own choice; state them with --set 'parallelism.layers_per_stage=[N, ...]'"},
    {"micro-batch-size-per-dp", "data ranks whose micro-batches differ"},
    {"share-kvstates cla-share-factor", "layers that share their keys and values"},
    {"use-nd-matmul tp-2d", "weights cut along two dimensions"},
    {"schedules-method dualpipev-dw-detach", "a schedule that runs two pipelines against each other"},
    {"swap-attention mla-swap-core-attn-out moe-unperm2-mem-optim-swap", "activations that move to the host's memory"},
    {"lumen-attn-backend linear-fp8 linear-fp8-scaling linear-fp8-amax-algo linear-fp8-amax-history",
     "kernels of Lumen"},
    {"ckpt-convert-format ckpt-convert-save ckpt-convert-update-legacy-dist-opt-format",
     "no training step: it converts a checkpoint and ends"},
    {"skip-train eval-only adaptive-seq-len num-fewshot convert-checkpoint-from-megatron-to-transformers "
     "cache-mla-latents ds-inference inference",
     "no training step"},
    {"fix-sub-seq-length", "packed sequences that attend to themselves alone"},
    {"moe-latent-size moe-expert-int-list", "experts behind a projection, or cut at random"},
    {"num-seq-splits interleave-group-size", "sequences that are split in the pipeline"},
    // NVIDIA/Megatron-LM, megatron/elastification/arguments.py.
    {"flextron enable-router emb-int-list mlp-int-list head-int-list emb-per-list mlp-per-list head-per-list "
     "moe-expert-per-list router-std router-beta router-gbs router-inter-dim lr-mult-router freeze-router "
     "normalize-router-logits linear-scaler-start linear-scaler-end budget-type budget-list budget-probs "
     "disable-budget param-budget-target hard-sample-th soft-mask binary-mask slice tau-init tau-decay loss-alpha "
     "original-model-sample-prob add-skipping no-attn-skip flex-strict is-flex-eval flex-hetero-ffn flex-hetero-mamba "
     "flex-hetero-head flex-hetero-moe-expert layer-ranking-list freeze-model",
     "elastic networks with a router"},
    {"model-provider dataset-provider", "a program of its own, such as a multimodal model"},
    {"source-seq-len target-seq-len position-encoding-2d", "ChatGLM's two-dimensional positions are not modelled"},
    {"temperature top-k top-p output-path output-every-n-results prompt-file-num-truncate termination-id stop-words "
     "repetition-penalty use-flashinfer-fused-rope top-n-logprobs capture-range capture-range-end prompt-path",
     "inference, not a training step"},
    {"sft test-mode decode-only-cuda-graphs use-coordinator",
     "fine-tuning or inference on sequences of several lengths"},
    {"max-batch-size max-tokens-to-oom num-tokens-to-generate return-log-probs prompts incoming-requests-per-sec "
     "incoming-requests-per-step enable-chunked-prefill flash-decode text-generate-input-file "
     "text-generate-output-file out-seq-length prompt-file use-legacy-static-engine input-len generation-length",
     "inference, not a training step"},
    {"perform-rl-step langrl-env-config advantage-estimator n-samples-per-prompt eps-clip kl-coef ref-model "
     "reward-model",
     "a step of reinforcement learning"},
    {"heterogeneous-layers-config-path heterogeneous-layers-config-encoded-json", "layers of several sizes"},
    {"hybrid-context-parallel sequence-packing-scheduler", "sequences of several lengths"},
    {"moe-use-upcycling", "another step at the start of the run"}};

constexpr Row kPrefixes[] = {{"inference-", "inference, not a training step"},
                             {"grpo-", "a step of reinforcement learning"},
                             {"no-rl-", "a step of reinforcement learning"},
                             {"rl-", "a step of reinforcement learning"},
                             {"rollout-", "a step of reinforcement learning"},
                             {"ppo-", "a step of reinforcement learning"},
                             {"actor-", "a step of reinforcement learning"},
                             {"critic-", "a step of reinforcement learning"},
                             {"sglang-", "a step of reinforcement learning"},
                             {"fake-", "no communication: one process plays all of them"},
                             {"mm-", "a multimodal model"},
                             {"dpo-", "training on preferences"},
                             {"simpo-", "training on preferences"},
                             {"hetero-", "GPUs of several kinds in one training"},
                             {"mamba-", "state-space layers"},
                             {"linear-", "layers of linear attention"},
                             {"retro-", "RETRO, which retrieves neighbours"},
                             {"export-", "export or distillation of a model"},
                             {"zero-bubble-", "a zero-bubble schedule"},
                             {"retriever-", "a retriever"},
                             {"image-", "a multimodal model"},
                             {"vision-", "a multimodal model"},
                             {"llm-", "a multimodal model"},
                             {"encoder-tp", "a multimodal model"},
                             {"encoder-dp", "a multimodal model"},
                             {"encoder-ddp", "a multimodal model"},
                             {"offload-", "tensors that move to the host's memory"},
                             {"refit-", "a step of reinforcement learning"}};

bool lists(std::string_view names, std::string_view name) {
  for (std::size_t at = names.find(name); at != names.npos; at = names.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

bool is_of_tensor_ranks(std::string_view flag) { return lists(kOfTensorRanks, flag); }

std::optional<FlagRule> rule_of(std::string_view flag) {
  if (flag.empty() || flag.find(' ') != flag.npos) return std::nullopt;
  if (lists(kReadFlags, flag)) return FlagRule{Effect::kRead, ""};
  if (masks_tokens(flag)) return FlagRule{Effect::kRefused, kMaskedModel};
  if (lists(kIgnoredFlags, flag)) return FlagRule{Effect::kIgnored, ""};
  for (const Row& row : kNoted)
    if (lists(row.names, flag)) return FlagRule{Effect::kNoted, std::string(row.because)};
  for (const Row& row : kRefused)
    if (lists(row.names, flag)) return FlagRule{Effect::kRefused, std::string(row.because)};
  for (const Row& row : kPrefixes)
    if (flag.starts_with(row.names)) return FlagRule{Effect::kRefused, std::string(row.because)};
  for (const std::string_view begin :
       {"wandb-", "tensorboard-", "log-", "ckpt-", "no-ckpt-", "straggler-", "tiktoken-", "one-logger-", "dist-ckpt-",
        "mock-", "rerun-", "error-injection-", "inprocess-", "mup-", "rotary-", "rope-"})
    if (flag.starts_with(begin)) return FlagRule{Effect::kIgnored, ""};
  const bool fused = is_fusion(std::string(flag)) || flag.ends_with("-fusion") || flag.starts_with("use-fused-") ||
                     flag.starts_with("no-use-fused-");
  if (fused) return FlagRule{Effect::kNoted, kKernelsFused};
  const std::string why = why_free_by_name(flag);
  return why.empty() ? std::nullopt : std::optional(FlagRule{Effect::kNoted, why});
}

}  // namespace foretoken::io::launch::megatron
