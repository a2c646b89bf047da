// Tells by its name whether a flag that Megatron-LM does not have can change a training step.
#include "sim/io/import/launch/megatron/flags_by_name.h"

#include <algorithm>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/harmless.h"

namespace foretoken::io::launch::megatron {
namespace {

// `words` are parted by spaces, with one before the first and behind the last.
// Forks have flags of their own for files, names, logs and losses. Parts of a name that say so, unless it also names
// something that runs or another model. Returns the part; empty for none.
std::string_view part_of_no_work(std::string_view flag) {
  constexpr std::string_view kRuns[] = {"config",  "teacher", "ref-",   "reward", "draft",  "critic",
                                        "adapter", "lora",    "vision", "layer",  "recipe", "spec-"};
  constexpr std::string_view kBegins[] = {
      "experiment-", "exp-",       "swanlab-",      "mlflow-",  "comet-", "clearml-",    "aim-",        "dataset-",
      "tokenizer-",  "loss-mask-", "rope-scaling-", "profile-", "lr-",    "train-data-", "valid-data-", "test-data-"};
  constexpr std::string_view kEnds[] = {"-path",         "-dir",         "-file",          "-name", "-run-id",
                                        "-token-id",     "-hf-tokens",   "special-tokens", "-url",  "-seed",
                                        "save-interval", "log-interval", "eval-interval"};
  if (std::ranges::any_of(kRuns, [&](std::string_view part) { return flag.find(part) != flag.npos; })) return "";
  for (const std::string_view part : kBegins)
    if (flag.starts_with(part)) return part.substr(0, part.size() - 1);
  for (const std::string_view part : kEnds)
    if (flag.ends_with(part)) return part.substr(part.starts_with('-') ? 1 : 0);
  return "";
}

bool has_any_of(const std::vector<std::string>& words, std::string_view known) {
  return std::ranges::any_of(words, [&](const std::string& word) { return holds_word(known, word); });
}

// Counts of data or steps, whatever else their names say, unless it is costly: --force-train-samples.
bool counts_data_or_steps(std::string_view flag) {
  constexpr std::string_view kOf = " train training valid validation eval test ",
                             kCounted = " samples iters iterations steps epochs tokens ";
  const auto words = words_of_name(flag);
  const auto has = [&](std::string_view known) { return has_any_of(words, known); };
  return has(kOf) && has(kCounted) && !has(" per ") && std::ranges::none_of(words, [&](const std::string& word) {
           return !holds_word(kCounted, word) && names_something_costly(word);
         });
}

// Weights of losses of the known layers, and their schedules: --mtp-loss-scaling-factor-decay-start. Other losses may
// belong to another method.
bool weighs_a_loss(std::string_view flag) {
  constexpr std::string_view kLosses = " aux balance balancing load loss losses lm moe mtp router z ",
                             kWeights = " coef coeff coefficient factor scale scaling weight weights ",
                             kSchedules =
                                 " decay end final init initial iterations iters max min samples start steps warmup ";
  const auto words = words_of_name(flag);
  const auto has = [&](std::string_view known) { return has_any_of(words, known); };
  return has(" loss losses ") && has(kWeights) && std::ranges::all_of(words, [&](const std::string& word) {
           return holds_word(kLosses, word) || holds_word(kWeights, word) || holds_word(kSchedules, word);
         });
}

}  // namespace

std::string why_free_by_name(std::string_view flag) {
  std::string word(part_of_no_work(flag));
  if (word.empty() && !is_harmless_name(flag) && !counts_data_or_steps(flag) && !weighs_a_loss(flag)) return "";
  if (word.empty()) word = harmless_word(flag);
  const std::string by = word.empty() ? "its name" : "\"" + word + "\" in its name";
  return "a flag that is not known; by " + by + " it is one of files, names, logs, losses or counts of data";
}

}  // namespace foretoken::io::launch::megatron
