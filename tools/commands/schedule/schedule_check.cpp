// The command `foretoken schedule check`: checks that a program written as text or as CSV can run to its end.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/io/import/read_schedule.h"
#include "sim/io/json/parse_json.h"
#include "sim/report/text/layout.h"
#include "sim/report/text/number.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/op_text.h"
#include "tools/commands/schedule/schedule_commands.h"
#include "tools/options/lines.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace {

using Stages = Table<Stage, schedule::StageProgram>;

std::string read_text(const std::string& file) {
  if (file == "-") return read_standard_input();
  io::Findings findings;
  const auto text = io::read_text_file(file, printable(file), findings);
  findings.throw_if_wrong();
  return *text;
}

// Reads one stage a line. Blank lines and text after # do not count.
Stages parse_stages(const std::string& text, const std::string& file) {
  constexpr std::size_t kMostComplaints = 20;
  constexpr int kMostNumber = 1 << 24;
  Stages stages;
  std::vector<Complaint> complaints;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.erase(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    schedule::StageProgram ops;
    for (std::string word; words >> word;) {
      const schedule::StageProgram found = schedule::parse_word(word);
      const bool sound = std::ranges::all_of(found, [](const schedule::StageOp& op) {
        return op.microbatch.number() < kMostNumber && op.chunk.number() < kMostNumber;
      });
      if (sound && !found.empty()) {
        ops.insert(ops.end(), found.begin(), found.end());
      } else if (complaints.size() < kMostComplaints) {
        complaints.push_back({printable(file), "",
                              fmt::format("line {}: expected an op like F0, B3 or F2.1, or a pair like F4+B3, found {}",
                                          number, in_quotes(word))});
      }
    }
    if (!ops.empty()) stages.push_back(std::move(ops));
  }
  if (stages.empty() && complaints.empty())
    complaints.push_back({printable(file), "", "empty; expected one line of ops a stage, for instance F0 B0"});
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
  return stages;
}

// Returns the smallest shape that holds every op of the text.
schedule::PipelineShape shape_of(const Stages& stages) {
  schedule::PipelineShape shape{.stages = static_cast<int>(stages.size())};
  for (const schedule::StageProgram& ops : stages)
    for (const schedule::StageOp& op : ops) {
      shape.microbatches = std::max(shape.microbatches, op.microbatch.number() + 1);
      shape.chunks = std::max(shape.chunks, op.chunk.number() + 1);
    }
  return shape;
}

// Refuses a text with large gaps: a huge number in one op would ask for tables of that size.
void refuse_gaps(const schedule::PipelineShape& shape, const Stages& stages, const std::string& file) {
  std::size_t ops = 0;
  for (const schedule::StageProgram& stage : stages) ops += stage.size();
  const double expected = 2.0 * shape.stages * shape.microbatches * shape.chunks;
  constexpr double kSlack = 1e6;
  if (expected > static_cast<double>(ops) + kSlack)
    throw ConfigError({{printable(file), "",
                        fmt::format("found {}, but {} of {} on {} need {:.0f}; number micro-batches and chunks "
                                    "from 0",
                                    with_noun(static_cast<std::int64_t>(ops), "op"),
                                    with_noun(shape.microbatches, "micro-batch", "micro-batches"),
                                    with_noun(shape.chunks, "chunk"), with_noun(shape.stages, "stage"), expected)}});
}

// Returns the placement that --placement names.
schedule::Placement placed(const std::string& placement, const schedule::PipelineShape& shape) {
  if (placement == "looped") return schedule::Placement::looped(shape.stages, shape.chunks);
  if (shape.chunks != 2)
    throw ConfigError({{"foretoken schedule check", "",
                        fmt::format("--placement {}: expected 2 chunks a stage, found {}", placement, shape.chunks)}});
  return placement == "v" ? schedule::Placement::v_shaped(shape.stages) : schedule::Placement::two_way(shape.stages);
}

// Returns true for PyTorch's CSV. Its cells begin with a stage or a bracket, the words of the other form with a letter.
bool is_csv(const std::string& text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf", kFirst = "0123456789(,\"";
  const std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t first = text.find_first_not_of(" \t\r\n", begin);
  return first != text.npos && kFirst.find(text[first]) != kFirst.npos;
}

std::string shape_words(const schedule::PipelineShape& shape) {
  return fmt::format("{}, {}, {} a stage", report::counted(shape.stages, "stage"),
                     report::counted(shape.microbatches, "micro-batch", "micro-batches"),
                     report::counted(shape.chunks, "chunk"));
}

std::string valid_text(const std::string& what, const report::Paint& paint) {
  return paint.paragraph("valid: ", what + "; every pass once, forwards before backwards, no deadlock");
}

int check_text(Stages stages, const std::string& file, const std::string& placement) {
  const schedule::PipelineShape shape = shape_of(stages);
  refuse_gaps(shape, stages, file);
  const schedule::Program program{.placement = placed(placement, shape), .stages = std::move(stages)};
  const std::vector<std::string> problems = schedule::check_program(program, shape);
  const report::Paint paint(false, page_columns());
  std::string list;
  for (const std::string& problem : problems) list += paint.paragraph("  - ", problem);
  const std::string what = shape_words(shape);
  print(problems.empty() ? valid_text(what, paint) : fmt::format("invalid: {}\n{}", what, list));
  return problems.empty() ? 0 : 1;
}

// A CSV is refused at its first mistake. Otherwise it says what became of its actions.
int check_csv(const std::string& text, const std::string& file) {
  io::Findings findings;
  const auto imported = io::read_schedule_text(text, printable(file), findings);
  findings.throw_if_wrong();
  const report::Paint paint(false, page_columns());
  std::string page = valid_text(shape_words(imported->shape), paint);
  for (const std::string& remark : imported->remarks) page += paint.paragraph("  - ", remark);
  print(page);
  return 0;
}

int check(const std::string& file, const std::string& placement) {
  const std::string text = read_text(file);
  if (is_csv(text) || file.ends_with(".csv")) {
    if (!placement.empty())
      throw ConfigError(
          {{"foretoken schedule check", "", "--placement: the rows of a CSV place the stages; leave it out"}});
    return check_csv(text, file);
  }
  return check_text(parse_stages(text, file), file, placement.empty() ? "looped" : placement);
}

}  // namespace

void add_schedule_check(CLI::App& schedule, Action& chosen) {
  const auto file = std::make_shared<std::string>();
  const auto placement = std::make_shared<std::string>();
  CLI::App* command =
      schedule.add_subcommand("check", "Check that a program is complete, ordered and free of deadlock");
  command->footer(
      "The file has one line a stage with its passes in order: F0 F1 B0 B1, or with chunks F0.0 F0.1 ...\n"
      "A backward pass may come in two parts: I0 for its input, W0 for its weights.\n"
      "A CSV has one row a rank, as PyTorch writes it: 0F0,0F1,0B0,0B1. The first mistake is named by row and column.\n"
      "Exit status: 0 valid, 1 invalid, 2 unreadable or a CSV with a mistake.\n\nExamples:\n"
      "  foretoken schedule show gpipe --stages 2 --microbatches 4 --plain > gpipe.txt\n"
      "  foretoken schedule check gpipe.txt\n");
  command->add_option("FILE", *file, "The program; - reads standard input")->required();
  command
      ->add_option("--placement", *placement,
                   "Place virtual stages: looped, v (the second chunk runs backwards over the stages), two-way")
      ->check(CLI::IsMember({"looped", "v", "two-way"}))
      ->type_name("looped|v|two-way");
  command->callback([&chosen, file, placement] { chosen = [file, placement] { return check(*file, *placement); }; });
}

}  // namespace foretoken::tools
