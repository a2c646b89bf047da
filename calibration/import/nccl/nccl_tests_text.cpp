// Reads nccl-tests' text. The header above a row names its columns. Parameters come first (size, count, type, often
// redop and root). Then one block for out-of-place and one for in-place follow, each beginning with a time.
#include "calibration/import/nccl/nccl_tests_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "calibration/import/nccl/nccl_columns.h"
#include "sim/base/parse_number.h"

namespace foretoken::measured {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view digits_at(std::string_view text) {
  return text.substr(0, std::min(text.size(), text.find_first_not_of("0123456789")));
}

/// Removes "[1,0]<stdout>:" of mpirun --tag-output and "12: " of srun --label.
std::string_view without_launcher(std::string_view line) {
  if (line.starts_with("[")) {
    const std::size_t end = line.find("]<std");
    const std::size_t colon = line.find(':');
    if (end != std::string_view::npos && colon != std::string_view::npos && end < colon) return line.substr(colon + 1);
  }
  const std::string_view rank = digits_at(line);
  if (!rank.empty() && line.substr(rank.size()).starts_with(": ")) return line.substr(rank.size() + 2);
  return line;
}

/// Returns the word after `label` in "Rank  0 Group  0 Pid 12 on host device  0 [0x07] NVIDIA A100".
std::string_view after(const std::vector<std::string_view>& words, std::string_view label) {
  const auto found = std::find(words.begin(), words.end(), label);
  return found == words.end() || found + 1 == words.end() ? std::string_view() : *(found + 1);
}

std::optional<NcclDevice> device_of(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  const auto rank = parse_number<int>(after(words, "Rank"));
  const std::string_view host = after(words, "on");
  const std::size_t bracket = line.rfind("] ");
  if (!rank || host.empty() || bracket == std::string_view::npos) return std::nullopt;
  return NcclDevice{.rank = *rank,
                    .group = parse_number<int>(after(words, "Group")).value_or(0),
                    .host = std::string(host),
                    .gpu = std::string(trimmed(line.substr(bracket + 2)))};
}

/// Returns the iterations in "... warmup iters: 5 iters: 20 agg iters: 1 ..."; 0 when the line names none.
int iterations_of(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  for (std::size_t i = 1; i + 1 < words.size(); ++i)
    if (words[i] == "iters:" && words[i - 1] != "warmup" && words[i - 1] != "agg")
      return std::max(0, parse_number<int>(words[i + 1]).value_or(0));
  return 0;
}

constexpr std::string_view kProgramVersion = "nccl-tests version";

/// Reads line by line. A run ends where the next begins or the file ends.
class TextReader {
 public:
  TextReader(std::string file, const NcclTestsHints& hints) : file_(std::move(file)), hints_(hints) {}

  void line(std::string_view raw, std::size_t number) {
    where_ = fmt::format("{}:{}", file_, number);
    const std::string_view line = without_launcher(raw);
    const std::string_view text = trimmed(line);
    if (text.empty()) return;
    if (text.find("NCCL INFO") != std::string_view::npos || text.find("NCCL WARN") != std::string_view::npos) return;
    if (text.starts_with("NCCL version "))
      fact("nccl", text.substr(13));
    else if (text.starts_with("#"))
      comment(trimmed(text.substr(1)));
    else if (columns_)
      row(line);
    else if (const auto program = collective_of_program(text))
      begin_run(program);
  }

  Samples finish() {
    end_run();
    if (complaints_.empty() && samples_.collectives.empty())
      complaints_.push_back({file_, "",
                             found_table_ ? "the table has no rows: the run was cut short"
                                          : "no table of nccl-tests found: expected its header \"# size count ...\""});
    if (!complaints_.empty()) throw ConfigError(complaints_.listed());
    return std::move(samples_);
  }

 private:
  void comment(std::string_view text) {
    if (text.starts_with("Collective test starting:"))
      begin_run(collective_of_program(text));
    else if (text.starts_with("nThread"))
      arguments(text);
    else if (text.starts_with("Rank "))
      device(text);
    else if (text.starts_with(kProgramVersion))
      fact("nccl_tests", trimmed(text.substr(kProgramVersion.size())));
    else if (text.starts_with("size ") || text.starts_with("size\t"))
      header(text);
    else if (text.starts_with("Out of bounds values"))
      footer(text);
    else if (text.starts_with("Collective test concluded:") && !run_.collective)
      run_.collective = collective_of_program(text);
  }

  void begin_run(std::optional<Collective> collective) {
    end_run();
    run_.collective = collective;
  }

  void end_run() {
    if (columns_ && !run_.rows.empty())
      samples_.notes.push_back(fmt::format("{}: the table has no footer: the run was cut short", run_.where));
    if (!run_.rows.empty()) add_run(run_, hints_, file_, samples_, complaints_);
    run_ = {};
    columns_.reset();
  }

  void arguments(std::string_view text) {
    if (!run_.rows.empty()) begin_run(std::nullopt);
    fact("run", text);
    run_.iterations = iterations_of(text);
  }

  void device(std::string_view text) {
    if (!run_.rows.empty()) begin_run(std::nullopt);
    const auto device = device_of(text);
    if (device)
      run_.devices.push_back(*device);
    else
      complain("expected \"Rank N ... on HOST device N [BUS] GPU\"; the line seems cut");
  }

  void header(std::string_view text) {
    if (!run_.rows.empty()) end_run();
    std::string problem;
    columns_ = NcclColumns::from_header(text, problem);
    if (!columns_) complain(problem);
    run_.where = where_;
    found_table_ = true;
  }

  void footer(std::string_view text) {
    columns_.reset();
    if (text.find("FAILED") != std::string_view::npos)
      complain(fmt::format("\"{}\": the run's results are wrong", text));
  }

  void row(std::string_view line) {
    std::string problem;
    if (auto row = columns_->read(line, problem)) {
      row->where = where_;
      run_.rows.push_back(std::move(*row));
    } else {
      complain(problem);
    }
  }

  void fact(std::string key, std::string_view text) { run_.facts.emplace_back(std::move(key), text); }
  void complain(const std::string& message) { complaints_.push_back({where_, "", message}); }

  std::string file_;
  const NcclTestsHints& hints_;
  std::string where_;
  NcclRun run_;
  std::optional<NcclColumns> columns_;
  bool found_table_ = false;
  Samples samples_;
  Complaints complaints_;
};

}  // namespace

Samples parse_nccl_tests_text(std::string_view text, const std::string& file, const NcclTestsHints& hints) {
  TextReader reader(file, hints);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    reader.line(text.substr(0, end), number);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return reader.finish();
}

}  // namespace foretoken::measured
