// Options that stand for keys of a question: --tp for parallelism.tensor.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/text.h"

namespace foretoken::tools {

inline constexpr const char* kStatedOrigin = "the command line";  ///< of questions without a file, in complaints

/// An option whose text is the value of a key. `value` is empty when it was not given.
template <class Options>
struct KeyedOption {
  const char *option, *key;
  std::string Options::*value;
  const char *type, *about;
};

template <class Options>
void add_keyed(CLI::App& command, Options& options, std::span<const KeyedOption<Options>> all) {
  for (const KeyedOption<Options>& keyed : all)
    command.add_option(keyed.option, options.*keyed.value, keyed.about)->type_name(keyed.type);
}

/// Appends KEY=VALUE of every option that was given.
template <class Options>
void append_sets(std::vector<std::string>& sets, const Options& options, std::span<const KeyedOption<Options>> all) {
  for (const KeyedOption<Options>& keyed : all)
    if (!(options.*keyed.value).empty()) sets.push_back(fmt::format("{}={}", keyed.key, options.*keyed.value));
}

/// Appends the options that were given as words of a command line: "--model", "qwen3-32b", ...
template <class Options>
void append_words(std::vector<std::string>& words, const Options& options, std::span<const KeyedOption<Options>> all) {
  for (const KeyedOption<Options>& keyed : all)
    if (!(options.*keyed.value).empty()) words.insert(words.end(), {keyed.option, options.*keyed.value});
}

/// Names the options in complaints about values that they stated: "--tp many", not "--set parallelism.tensor=many".
template <class Options>
void name_as_given(std::vector<Complaint>& complaints, const Options& options,
                   std::span<const KeyedOption<Options>> all) {
  constexpr std::size_t kLongest = 60;
  for (const KeyedOption<Options>& keyed : all) {
    const std::string& value = options.*keyed.value;
    if (value.empty()) continue;
    const std::string given = fmt::format("{} {}", keyed.option, printable(value, kLongest));
    const std::string set = "--set " + printable(fmt::format("{}={}", keyed.key, value), kLongest);
    std::string pointer = fmt::format("/{}", keyed.key);
    std::ranges::replace(pointer, '.', '/');
    for (Complaint& complaint : complaints) {
      const bool of_text = complaint.file == kStatedOrigin && complaint.pointer == pointer && complaint.option.empty();
      if (complaint.option == set || of_text) complaint.option = given;
      if (complaint.file == set) complaint.file = given;
    }
  }
}

}  // namespace foretoken::tools
