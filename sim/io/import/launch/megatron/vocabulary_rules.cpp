// Rounds the vocabulary up, as Megatron-LM does before it cuts the table of words over tensor ranks.
//
// Source: NVIDIA/Megatron-LM, megatron/training/tokenizer/tokenizer.py, _vocab_size_with_padding: a multiple of
// --make-vocab-size-divisible-by times the tensor ranks. Runtimes of Megatron round up to 128 x tensor by themselves.
#include <fmt/format.h>

#include <algorithm>

#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr const char* kDivisor = "make-vocab-size-divisible-by";
constexpr std::int64_t kUsualDivisor = 128;

std::int64_t rounded_up(std::int64_t words, std::int64_t multiple) {
  return (words + multiple - 1) / multiple * multiple;
}

void round_up(const Flags& flags, std::int64_t words, std::int64_t multiple, std::int64_t usual) {
  Report& report = flags.report();
  const std::int64_t padded = rounded_up(words, multiple), held = rounded_up(padded, usual);
  if (padded != words)
    report.map("model.vocab_size", padded,
               fmt::format("the vocabulary of {}, rounded up to a multiple of {} by {}", words, multiple,
                           flags.from(kDivisor)));
  if (held != padded)
    report.approximate(
        std::string("--") + kDivisor,
        fmt::format("tables have {} rows, a multiple of 128 x tensor, in the place of {}", held, padded));
}

// Says in the question what the size must be a multiple of.
void name_multiple(Report& report, std::int64_t divisor) {
  const auto question = std::ranges::find(report.asked, "model.vocab_size", &Asked::key);
  if (question == report.asked.end() || divisor == 1) return;
  const auto tensor = report.whole("parallelism.tensor");
  if (tensor && *tensor >= 1 && *tensor <= kMostCount)
    question->because += fmt::format(", rounded up to a multiple of {} x tensor {} = {}: state that number", divisor,
                                     *tensor, divisor * *tensor);
  else
    question->because += fmt::format(", rounded up to a multiple of {} x tensor: state that number", divisor);
}

}  // namespace

void pad_vocabulary(const Flags& flags) {
  Report& report = flags.report();
  if (flags.find(kDivisor) == nullptr) return name_multiple(report, kUsualDivisor);
  const std::int64_t divisor = flags.whole(kDivisor, "model.vocab_size").value_or(0);
  if (divisor == kUsualDivisor) return name_multiple(report, kUsualDivisor);
  if (divisor < 1 || divisor > kMostCount) return;
  for (const char* padded : {"padded-vocab-size", "pad-vocab-size-to"})
    if (flags.find(padded) != nullptr) return;
  const auto stated = report.whole("parallelism.tensor");
  const std::int64_t tensor = std::clamp<std::int64_t>(stated.value_or(1), 1, kMostCount), multiple = divisor * tensor;
  if (const auto words = report.whole("model.vocab_size"); words && *words > 0 && stated && *words < 1LL << 31)
    return round_up(flags, *words, multiple, kUsualDivisor * tensor);
  name_multiple(report, divisor);
}

}  // namespace foretoken::io::launch::megatron
