// Maps the flags of a T5: layers of both halves, the decoder's length, the encoder's stages.
//
// Rules: NVIDIA/Megatron-LM core 0.9, megatron/training/arguments.py, validate_args(), and
// docs/source/api-guide/encoder_decoder_parallelism.rst: the encoder's stages are a part of the pipeline by
// --pipeline-model-parallel-split-rank, and stand before it by --encoder-pipeline-model-parallel-size.
#include <fmt/format.h>

#include <vector>

#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr const char *kSplitRank = "pipeline-model-parallel-split-rank",
                     *kEncoderStagesFlag = "encoder-pipeline-model-parallel-size",
                     *kEncoderTensorFlag = "encoder-tensor-model-parallel-size";
constexpr const char *kPipelineKey = "parallelism.pipeline", *kEncoderStagesKey = "parallelism.encoder_pipeline",
                     *kDecoderLengthKey = "batch.decoder_sequence_length";

std::int64_t stated_ranks(const Flags& flags, const char* name) {
  return flags.whole(name, kEncoderStagesKey).value_or(0);
}

void refuse_stages_of_encoder(const Flags& flags) {
  for (const char* name : {kSplitRank, kEncoderStagesFlag, kEncoderTensorFlag})
    if (stated_ranks(flags, name) > 0)
      flags.report().refuse(std::string("--") + name, "an encoder in front of the decoder, and this is no T5",
                            flags.from(name));
}

void map_encoder_stages(const Flags& flags) {
  Report& report = flags.report();
  const auto stages = report.whole(kPipelineKey);  // nothing: a value that nobody can know
  if (const std::int64_t own = stated_ranks(flags, kEncoderStagesFlag); own > 0) {
    report.map(kEncoderStagesKey, own, flags.from(kEncoderStagesFlag));
    if (!stages) return;
    std::erase_if(report.mapped, [](const Mapped& one) { return one.key == kPipelineKey; });
    std::erase_if(report.assumed, [](const Assumed& one) { return one.key == kPipelineKey; });
    return report.map(kPipelineKey, *stages + own,
                      fmt::format("{} of the decoder behind {}", *stages, flags.from(kEncoderStagesFlag)));
  }
  if (stages == 1) return;
  if (!flags.map_whole(kSplitRank, kEncoderStagesKey))
    report.ask(kEncoderStagesKey, "the flags state no --pipeline-model-parallel-split-rank");
}

}  // namespace

bool has_two_halves(const Flags& flags, Program program) {
  if (program == Program::kT5) return true;
  // Programs of a decoder alone take --decoder-seq-length beside the same --seq-length.
  const auto decoder = flags.text("decoder-seq-length", ""), encoder = flags.text("seq-length", "");
  return decoder.has_value() && decoder != encoder;
}

// --num-layers counts the layers of each half.
void map_layers_of_halves(const Flags& flags) {
  const bool own = flags.find("encoder-num-layers") != nullptr;
  if (!flags.map_whole(own ? "encoder-num-layers" : "num-layers", "model.encoder_num_layers"))
    return flags.report().ask("model.encoder_num_layers", "the flags state no --encoder-num-layers");
  if (!flags.map_whole("decoder-num-layers", "model.decoder_num_layers"))
    flags.report().assume("model.decoder_num_layers", *flags.report().whole("model.encoder_num_layers"),
                          "as many layers as the encoder has");
}

void map_cut_of_halves(const Flags& flags, Program program) {
  if (!has_two_halves(flags, program)) return refuse_stages_of_encoder(flags);
  Report& report = flags.report();
  if (!flags.map_whole("decoder-seq-length", kDecoderLengthKey))
    report.ask(kDecoderLengthKey, "the flags state no --decoder-seq-length");
  map_encoder_stages(flags);
  const std::int64_t tensor = report.whole("parallelism.tensor").value_or(1),
                     own = stated_ranks(flags, kEncoderTensorFlag);
  if (own > 0 && own != tensor)
    report.refuse(std::string("--") + kEncoderTensorFlag,
                  fmt::format("expected {} tensor ranks, as in the decoder, found {}", tensor, own),
                  flags.from(kEncoderTensorFlag));
}

}  // namespace foretoken::io::launch::megatron
