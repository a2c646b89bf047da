// Reads the text of one cell: an action, a pair of passes, or nothing.
#include "sim/schedule/csv/actions.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"

namespace foretoken::schedule {
namespace {

constexpr int kMostNumber = 1 << 24;  // of stages and micro-batches: far beyond any file that is read

CsvCell wrong(std::string message) { return {.actions = {}, .wrong = std::move(message)}; }

// Returns the text without blanks and quotes around it.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto trim = [&] {
    const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
    text.remove_prefix(first);
    text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  };
  trim();
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
    trim();
  }
  return text;
}

std::vector<std::string> all_words() {
  std::vector<std::string> words;
  for (const CsvWordTraits& one : kCsvWordTraits)
    if (one.word != CsvWord::kOlderBackward) words.emplace_back(one.text);
  return words;
}

std::string unknown_word(std::string_view cell, std::string_view word) {
  std::vector<std::string> words = all_words();
  const auto meant = nearest(word, words);
  words.emplace_back(kOverlapWord);
  return fmt::format("expected {} after the stage, found {}; try {}", either(words), in_quotes(cell),
                     meant ? *meant : "0F1, the forward pass of stage 0 over micro-batch 1");
}

CsvCell parse_action(std::string_view cell) {
  std::string_view rest = cell;
  const std::optional<int> stage = take_number<int>(rest, 0, kMostNumber);
  if (!stage)
    return wrong(fmt::format("expected a stage, a word and a micro-batch, found {}; try 0F1, or an empty cell",
                             in_quotes(cell)));
  const std::string_view word = rest.substr(0, rest.find_first_of("0123456789"));
  const std::string_view number = rest.substr(word.size());
  const auto found = std::ranges::find(kCsvWordTraits, word, &CsvWordTraits::text);
  if (found == kCsvWordTraits.end()) return wrong(unknown_word(cell, word));

  if (!found->has_microbatch) {
    const std::string right = to_text(*stage, found->word, 0);
    if (!number.empty())
      return wrong(
          fmt::format("expected no micro-batch after {}, found {}; try {}", found->text, in_quotes(cell), right));
    return {.actions = {{.word = found->word, .stage = *stage}}};
  }
  const std::optional<int> microbatch = parse_number<int>(number, 0, kMostNumber);
  if (!microbatch)
    return wrong(fmt::format("expected a micro-batch after {}{}, found {}; try {}", *stage, word, in_quotes(cell),
                             to_text(*stage, found->word, 0)));
  return {.actions = {{.word = found->word, .pass = found->pass, .stage = *stage, .microbatch = *microbatch}}};
}

// Reads a forward and a backward pass that share a cell.
CsvCell parse_pair(std::string_view cell) {
  const auto refused = [&] {
    return wrong(fmt::format("expected a forward and a backward pass like (0F1;3B0){}, found {}; try that form",
                             kOverlapWord, in_quotes(cell)));
  };
  const std::size_t end = cell.find(')'), middle = cell.find(';');
  if (end == cell.npos || middle > end || cell.substr(end + 1) != kOverlapWord) return refused();
  CsvCell pair = parse_action(trimmed(cell.substr(1, middle - 1)));
  const CsvCell second = parse_action(trimmed(cell.substr(middle + 1, end - middle - 1)));
  if (!pair.wrong.empty() || !second.wrong.empty()) return refused();
  pair.actions.push_back(second.actions.front());
  const auto forwards = std::ranges::count(pair.actions, CsvWord::kForward, &CsvAction::word);
  const auto passes = std::ranges::count_if(
      pair.actions, [](const CsvAction& one) { return one.pass.has_value() && one.word != CsvWord::kBackwardWeight; });
  return forwards == 1 && passes == 2 ? pair : refused();
}

}  // namespace

std::string to_text(int stage, CsvWord word, int microbatch) {
  const CsvWordTraits& its = traits(word);
  return its.has_microbatch ? fmt::format("{}{}{}", stage, its.text, microbatch) : fmt::format("{}{}", stage, its.text);
}

std::string to_text(const CsvAction& action) { return to_text(action.stage, action.word, action.microbatch); }

CsvCell parse_cell(std::string_view text) {
  const std::string_view cell = trimmed(text);
  if (cell.empty()) return {};
  return cell.front() == '(' ? parse_pair(cell) : parse_action(cell);
}

}  // namespace foretoken::schedule
