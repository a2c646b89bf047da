// Words of a command that name a configuration.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace foretoken::io::launch {

/// Returns "sft.json" of "--config=sft.json"; other words as they are.
[[nodiscard]] std::string name_in(const std::string& word);

/// Returns true for Firefly's file of the Trainer's arguments at words[at]: --train_args_file sft.json.
[[nodiscard]] bool follows_arguments_flag(const std::vector<std::string>& words, std::size_t at);

/// Returns the place behind the first word. The options of "ray job submit" end at "--"; a program follows.
[[nodiscard]] std::size_t behind_submission(const std::vector<std::string>& words);

/// Returns the place of LLaMA-Factory's file in `llamafactory-cli train sft.yaml`: the word behind `train`, where it
/// ends like a file or nobody knows it. Nothing for flags alone.
[[nodiscard]] std::optional<std::size_t> place_of_factory_file(const std::vector<std::string>& words);

}  // namespace foretoken::io::launch
