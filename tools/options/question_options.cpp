// Turns the options of a question into overrides, or into a question of their own.
#include "tools/options/question_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/parse_count.h"
#include "sim/base/text.h"
#include "sim/io/json/data_path.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::tools {
namespace {

// Sequences of 4k and steps of 4 M tokens, as Llama 2 trains (arXiv:2307.09288, Table 1).
constexpr std::int64_t kUsualSequence = 4096, kUsualTokens = 4 << 20;

using Keyed = KeyedOption<QuestionOptions>;

constexpr Keyed kKeyed[] = {
    {"--model", "model", &QuestionOptions::model, "NAME", "Model: a name (foretoken models list) or a config.json"},
    {"--cluster", "cluster", &QuestionOptions::cluster, "NAME", "Cluster: a name (foretoken clusters list) or a file"},
    {"--tp", "parallelism.tensor", &QuestionOptions::tensor, "N", "Tensor-parallel degree"},
    {"--pp", "parallelism.pipeline", &QuestionOptions::pipeline, "N", "Pipeline-parallel degree"},
    {"--dp", "parallelism.data", &QuestionOptions::data, "N", "Data-parallel degree"},
    {"--cp", "parallelism.context", &QuestionOptions::context, "N", "Context-parallel degree"},
    {"--micro-batch", "batch.micro", &QuestionOptions::micro_batch, "N", "Sequences of a micro-batch"},
    {"--global-batch", "batch.global", &QuestionOptions::global_batch, "N",
     "Sequences of a step: 1024, or 1k for 1000"},
    {"--seq", "batch.sequence_length", &QuestionOptions::sequence, "N", "Tokens of a sequence: 4096, or 4k"}};

constexpr Keyed kSizes[] = {
    {"--gpus", "gpus", &QuestionOptions::gpus, "N", "GPUs of the job"},
    {"--tokens", "run.tokens", &QuestionOptions::tokens, "N", "Tokens of the whole training: 15T, 300B"}};

// Asks for what no assumption can stand for.
void require_basics(const QuestionOptions& options, const std::string& command) {
  std::vector<Complaint> complaints;
  if (options.model.empty() && options.cluster.empty() && options.gpus.empty())
    throw ConfigError({{command, "", "SCENARIO is required, or --model, --cluster and --gpus"}});
  const auto require = [&](const std::string& value, const char* option, const char* example) {
    if (value.empty())
      complaints.push_back({command, "", fmt::format("without a SCENARIO, {} is required; try {}", option, example)});
  };
  require(options.model, "--model", "--model qwen3-32b (foretoken models list)");
  require(options.cluster, "--cluster", "--cluster dgx-h100-ndr (foretoken clusters list)");
  require(options.gpus, "--gpus", "--gpus 64");
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
}

std::int64_t number_or(const std::string& text, double thousand, std::int64_t fallback) {
  const double value = foretoken::parse_count(text, thousand).value_or(0);
  return value >= 1 && value < 1e9 ? static_cast<std::int64_t>(value) : fallback;
}

// Returns 4096, or fewer tokens where the model has fewer learned positions or a narrower window.
std::int64_t usual_sequence(const model::Transformer& model) {
  std::int64_t sequence = kUsualSequence;
  for (const std::int64_t most : {model.max_positions, model.attention_window})
    if (most > 0) sequence = std::min(sequence, most);
  return sequence;
}

// Returns a name as it was given, and for a file the name of what stands in it.
std::string shown_name(const std::string& given, const std::string& inside) {
  return io::is_path(given) ? inside : given;
}

// Returns sequences of about four million tokens, as a multiple of the GPUs: every data-parallel degree divides it.
std::int64_t usual_batch(std::int64_t gpus, std::int64_t sequence) {
  const std::int64_t tokens = gpus * sequence;
  return gpus * std::max<std::int64_t>(1, (kUsualTokens + tokens - 1) / tokens);
}

}  // namespace

void add_question_options(CLI::App& command, QuestionOptions& options) {
  add_keyed<QuestionOptions>(command, options, kKeyed);
}

void add_size_options(CLI::App& command, QuestionOptions& options) {
  add_keyed<QuestionOptions>(command, options, kSizes);
}

void add_tokens_option(CLI::App& command, QuestionOptions& options) {
  add_keyed<QuestionOptions>(command, options, std::span(kSizes).last<1>());
}

std::vector<std::string> sets_of(const QuestionOptions& options) {
  std::vector<std::string> sets;
  if (!options.gpus.empty()) sets.emplace_back("parallelism.data=null");
  append_sets<QuestionOptions>(sets, options, kSizes);
  append_sets<QuestionOptions>(sets, options, kKeyed);
  return sets;
}

void refuse_contradiction(const QuestionOptions& options, std::span<const std::string> fixes) {
  std::vector<Keyed> all(std::begin(kKeyed), std::end(kKeyed));
  all.insert(all.end(), std::begin(kSizes), std::end(kSizes));
  for (const std::string& fix : fixes) {
    const std::size_t equals = std::min(fix.find('='), fix.size());
    for (const Keyed& keyed : all) {
      const std::string& value = options.*keyed.value;
      if (value.empty() || fix.substr(0, equals) != keyed.key || fix.substr(equals) == '=' + value) continue;
      throw ConfigError({{"--fix " + printable(fix, 60), "",
                          fmt::format("{} {} states another value of this key; leave one of them out", keyed.option,
                                      printable(value, 60))}});
    }
    for (const std::string& other : fixes)
      if (other != fix && other.starts_with(fix.substr(0, equals) + '='))
        throw ConfigError(
            {{"--fix " + printable(other, 60), "",
              fmt::format("--fix {} states another value of this key; leave one of them out", printable(fix, 60))}});
  }
}

std::vector<std::string> words_of(const QuestionOptions& options) {
  std::vector<std::string> words;
  append_words<QuestionOptions>(words, options, kKeyed);
  append_words<QuestionOptions>(words, options, kSizes);
  return words;
}

std::vector<Complaint> as_given(std::vector<Complaint> complaints, const QuestionOptions& options) {
  name_as_given<QuestionOptions>(complaints, options, kKeyed);
  name_as_given<QuestionOptions>(complaints, options, kSizes);
  return complaints;
}

StatedQuestion stated_question(const QuestionOptions& options, std::span<const std::string> sets,
                               const std::string& command) {
  require_basics(options, command);
  const std::int64_t gpus = number_or(options.gpus, kThousand, 1);
  nlohmann::ordered_json json = {
      {"name", fmt::format("{} on {} GPUs of {}", options.model, options.gpus, options.cluster)},
      {"model", options.model},
      {"cluster", options.cluster},
      {"gpus", gpus},
      {"batch", {{"global", gpus}, {"sequence_length", 1}}}};
  const job::Question read = io::read_open_scenario_text(json.dump(), kStatedOrigin).asked();
  json["name"] = fmt::format("{} on {} GPUs of {}", shown_name(options.model, read.model.name), options.gpus,
                             shown_name(options.cluster, read.cluster.name));
  StatedQuestion stated;
  const bool chosen = std::ranges::any_of(sets, [](const std::string& set) { return set.starts_with("precision="); });
  if (!chosen && !read.cluster.gpu.peak_of(Precision::kBf16)) {
    json["precision"] = "fp16";
    stated.assumptions.push_back(
        fmt::format("Precision fp16: {} has no bf16 (--set precision=... states another).", read.cluster.gpu.name));
  }
  std::int64_t sequence = number_or(options.sequence, kBinaryThousand, kUsualSequence);
  if (options.sequence.empty()) {
    sequence = usual_sequence(read.model);
    stated.assumptions.push_back(fmt::format("Sequences of {} tokens (state them with --seq).", sequence));
  }
  json["batch"]["sequence_length"] = sequence;
  if (options.global_batch.empty()) {
    const std::int64_t batch = usual_batch(gpus, sequence);
    json["batch"]["global"] = batch;
    stated.assumptions.push_back(
        fmt::format("A global batch of {} sequences, {:.1f} million tokens, about that of Llama 2 "
                    "(arXiv:2307.09288, section 2.1; state it with --global-batch).",
                    batch, static_cast<double>(batch * sequence) / 1e6));
  }
  stated.text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return stated;
}

}  // namespace foretoken::tools
