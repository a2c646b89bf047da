// Reads operator tables of attention.
#include "calibration/import/attention_csv.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

/// Returns the integer after "name=" in a shape text such as "batch=1, seq_len=4096".
std::int64_t named_size(const std::string& shape, const std::string& name) {
  const auto at = shape.find(name + "=");
  if (at != std::string::npos) {
    std::string_view rest = std::string_view(shape).substr(at + name.size() + 1);
    if (const auto value = take_number<std::int64_t>(rest, 1)) return *value;
  }
  throw std::invalid_argument(fmt::format("shape: expected {}=NUMBER in it, found {}", name, in_quotes(shape)));
}

std::optional<AttentionSample> operator_of(const CsvRow& row) {
  const std::string& op = row.text("op");
  if (op != "sdp_fwd" && op != "sdp_bwd") return std::nullopt;
  const std::string& shape = row.text("shape");
  if (named_size(shape, "qk_head_dim") != named_size(shape, "v_head_dim")) return std::nullopt;
  if (shape.find("qkv_contiguous=False") != std::string::npos) return std::nullopt;
  AttentionSample sample;
  sample.implementation = row.text("system");
  sample.shape = {.batch = named_size(shape, "batch"),
                  .heads = named_size(shape, "head_num"),
                  .kv_heads = named_size(shape, "kv_head_num"),
                  .q_length = named_size(shape, "seq_len"),
                  .kv_length = named_size(shape, "seq_len"),
                  .head_dim = named_size(shape, "qk_head_dim"),
                  .causal = true,
                  .backward = op == "sdp_bwd"};
  const Seconds time = 2.0 * sample.shape.flop() / teraflops(row.number("tflops"));
  sample.time.median = sample.time.p10 = sample.time.p90 = time;
  return sample;
}

}  // namespace

std::vector<AttentionSample> parse_attention_operators(std::string_view text, const std::string& file,
                                                       const RowChoice& choice) {
  std::vector<AttentionSample> samples;
  read_csv(
      text, file, [](const Columns&) {},
      [&](const CsvRow& row) {
        if (!row.passes(choice)) return;
        if (auto sample = operator_of(row)) samples.push_back(std::move(*sample));
      });
  return samples;
}

}  // namespace foretoken::measured
