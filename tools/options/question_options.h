// Options that state a question without a file, or change the one of a file: --model, --cluster, --gpus, --tp, ...
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "tools/options/keyed_option.h"

namespace foretoken::tools {

struct QuestionOptions {
  std::string model, cluster, gpus, tensor, pipeline, data, context, micro_batch, global_batch, sequence, tokens;
};

/// Adds --model, --cluster, --tp, --pp, --dp, --cp, --micro-batch, --global-batch and --seq.
void add_question_options(CLI::App& command, QuestionOptions& options);

/// Adds --gpus as one number, and --tokens. Commands that try several sizes have options of their own.
void add_size_options(CLI::App& command, QuestionOptions& options);
/// Adds --tokens alone, to a command whose --gpus may be several sizes.
void add_tokens_option(CLI::App& command, QuestionOptions& options);

/// Returns the overrides that the options stand for, in the form KEY=VALUE. A stated number of GPUs leaves the
/// data-parallel degree open, unless --dp states it.
[[nodiscard]] std::vector<std::string> sets_of(const QuestionOptions& options);

/// Refuses a key that an option and one of `fixes` (KEY=VALUE, of --fix) hold at different values.
void refuse_contradiction(const QuestionOptions& options, std::span<const std::string> fixes);

/// Returns the options that were given, as words of a command line: "--model", "qwen3-32b", ...
[[nodiscard]] std::vector<std::string> words_of(const QuestionOptions& options);

/// A question without a file.
struct StatedQuestion {
  std::string text;                      ///< JSON with model, cluster, GPUs and batch
  std::vector<std::string> assumptions;  ///< of the keys that no option states
};

/// Returns the question of the options alone, with a batch where none is stated. A precision is chosen for old GPUs
/// unless one of the overrides `sets` states it. Throws ConfigError unless model, cluster and GPUs are stated;
/// `command` is named in the complaint.
[[nodiscard]] StatedQuestion stated_question(const QuestionOptions& options, std::span<const std::string> sets,
                                             const std::string& command);

/// Names the options in complaints about values that they stated: "--tp many" and not "--set parallelism.tensor=many".
[[nodiscard]] std::vector<Complaint> as_given(std::vector<Complaint> complaints, const QuestionOptions& options);

/// Calls `run`. Complaints that it throws name the options as as_given() does.
template <class Run>
int with_given_names(const QuestionOptions& options, Run run) {
  try {
    return run();
  } catch (const ConfigError& error) {
    throw ConfigError(as_given(error.complaints(), options));
  }
}

}  // namespace foretoken::tools
