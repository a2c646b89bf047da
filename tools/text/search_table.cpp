// Lays out the ranked list of a search: its columns, their legend, and those that a narrow page leaves out.
#include "tools/text/search_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "sim/report/text/number.h"
#include "sim/report/text/range.h"
#include "sim/report/text/text.h"

namespace foretoken::tools {
namespace {

using report::Paint;
using report::Table;
using search::Candidate;

constexpr std::string_view kOverlapLetters = "GPMT";

bool any(const study::SearchAnswer& answer, bool (*test)(const study::FoundConfiguration&)) {
  return std::any_of(answer.ranked.begin(), answer.ranked.end(), test);
}

bool has_experts(const study::SearchAnswer& answer) { return answer.ranked.front().candidate.dispatcher.has_value(); }

// A column of the ranked list. `spare` 0 is always there. On a page that is too narrow, the largest `spare` goes first.
struct RankedColumn {
  std::string head;
  std::function<std::string(const study::FoundConfiguration&)> cell;
  int spare = 0;
  Table::Align align = Table::Align::kRight;
};

std::string or_dash(bool stated, std::string text) { return stated ? std::move(text) : "-"; }

// The degrees of all axes; an axis that only some models need has a column where a row uses it.
void add_degree_columns(const study::SearchAnswer& answer, std::vector<RankedColumn>& columns) {
  constexpr AxisSet kAlways = {Axis::kTensor, Axis::kPipeline, Axis::kData};
  for (const auto& [each, member] : job::kDegrees) {
    const Axis axis = each;
    const auto cuts = [axis](const study::FoundConfiguration& f) { return f.candidate.degrees[axis] > 1; };
    if (kAlways.contains(axis) || std::any_of(answer.ranked.begin(), answer.ranked.end(), cuts))
      columns.push_back({std::string(short_name_of(axis)),
                         [axis](const auto& f) { return fmt::format("{}", f.candidate.degrees[axis]); }});
    if (axis == Axis::kPipeline)
      columns.push_back({"VPP",
                         [](const auto& f) {
                           return or_dash(f.candidate.virtual_pipeline > 1,
                                          fmt::format("{}", f.candidate.virtual_pipeline));
                         },
                         any(answer, [](const auto& f) { return f.candidate.virtual_pipeline > 1; }) ? 0 : 9});
  }
  if (!has_experts(answer)) return;
  for (const auto& [each, member] : job::kExpertDegrees) {
    const Axis axis = each;
    const auto cuts = [axis](const study::FoundConfiguration& f) { return f.candidate.degrees[axis] > 1; };
    columns.push_back(
        {std::string(short_name_of(axis)),
         [axis](const auto& f) { return fmt::format("{}", f.candidate.degrees[axis]); },
         std::any_of(answer.ranked.begin(), answer.ranked.end(), cuts) ? (axis == Axis::kExpertTensor ? 2 : 0) : 9});
  }
}

// Returns the overlaps as letters: "GP-T", and "GP-TE" with experts.
std::string overlap_letters(const study::FoundConfiguration& found) {
  const job::Overlap& overlap = found.scenario.overlap;
  std::string letters;
  for (std::size_t at = 0; at < job::kOverlaps.size(); ++at)
    letters += overlap.*job::kOverlaps[at].second ? kOverlapLetters[at] : '-';
  if (found.candidate.dispatcher) letters += overlap.exchanges ? 'E' : '-';
  return letters;
}

bool overlaps(const study::FoundConfiguration& found) {
  return overlap_letters(found).find_first_not_of('-') != std::string::npos;
}

// Returns the parts that stand outside the GPU: "optimizer+parameters".
std::string offloaded_parts(const study::FoundConfiguration& found) {
  std::vector<std::string_view> parts;
  for (const auto& [name, member] : job::kOffloadedParts)
    if ((found.scenario.offload.*member).any()) parts.push_back(name);
  return or_dash(!parts.empty(), fmt::format("{}", fmt::join(parts, "+")));
}

bool differ_in_offload(const study::SearchAnswer& answer) {
  const std::string first = offloaded_parts(answer.ranked.front());
  return std::ranges::any_of(answer.ranked, [&](const auto& found) { return offloaded_parts(found) != first; });
}

// Adds the columns of keys that only some answers have.
void add_columns_of_some(const study::SearchAnswer& answer, std::vector<RankedColumn>& columns) {
  if (any(answer, [](const auto& f) { return f.candidate.microbatch_group > 0; }))
    columns.push_back({"group", [](const auto& f) {
                         return or_dash(f.candidate.microbatch_group > 0,
                                        fmt::format("{}", f.candidate.microbatch_group));
                       }});
  if (any(answer, [](const auto& f) { return f.candidate.encoder_pipeline > 0; }))
    columns.push_back({"encoder", [](const auto& f) {
                         return or_dash(f.candidate.encoder_pipeline > 0,
                                        fmt::format("{}", f.candidate.encoder_pipeline));
                       }});
  if (any(answer, [](const auto& f) { return !f.candidate.layers_per_stage.empty(); }))
    columns.push_back({"layers",
                       [](const auto& f) {
                         const std::vector<int>& layers = f.candidate.layers_per_stage;
                         return layers.empty() ? "even" : study::layers_words(layers);
                       },
                       1, Table::Align::kLeft});
  if (any(answer, [](const auto& f) { return f.candidate.precision.has_value(); }))
    columns.push_back({"precision", [](const auto& f) { return std::string(name_of(*f.candidate.precision)); }, 0,
                       Table::Align::kLeft});
  if (any(answer, [](const auto& f) { return f.candidate.short_gradients; }))
    columns.push_back({"gradients", [](const auto& f) { return or_dash(f.candidate.short_gradients, "16-bit"); }, 0,
                       Table::Align::kLeft});
  if (differ_in_offload(answer)) columns.push_back({"offload", offloaded_parts, 0, Table::Align::kLeft});
  if (has_experts(answer))
    columns.push_back({"dispatch", [](const auto& f) { return std::string(model::name_of(*f.candidate.dispatcher)); },
                       1, Table::Align::kLeft});
  if (any(answer, overlaps))
    columns.push_back({"overlap", overlap_letters, has_experts(answer) ? 2 : 0, Table::Align::kLeft});
}

// Returns the columns of a configuration's keys, without keys that no row uses.
std::vector<RankedColumn> key_columns(const study::SearchAnswer& answer) {
  const auto number = [](auto Candidate::*key) {
    return [key](const study::FoundConfiguration& f) { return fmt::format("{}", f.candidate.*key); };
  };
  std::vector<RankedColumn> columns;
  if (answer.several_sizes) columns.push_back({"GPUs", number(&Candidate::gpus)});
  add_degree_columns(answer, columns);
  columns.push_back({"SP", [](const auto& f) { return or_dash(f.candidate.sequence_parallel, "yes"); }, 5});
  columns.push_back({"MBS", number(&Candidate::micro)});
  columns.push_back({"recompute", [](const auto& f) { return std::string(model::name_of(f.candidate.recompute)); }, 0,
                     Table::Align::kLeft});
  columns.push_back({"ZeRO", [](const auto& f) {
                       return or_dash(f.candidate.zero_stage > 0, fmt::format("{}", f.candidate.zero_stage));
                     }});
  add_columns_of_some(answer, columns);
  if (any(answer, [](const auto& f) {
        return f.scenario.schedule.name != "1f1b" && f.scenario.schedule.name != "interleaved-1f1b";
      }))
    columns.push_back({"schedule",
                       [](const auto& f) {
                         return f.scenario.schedule.name == "interleaved-1f1b" ? "interleaved"
                                                                               : f.scenario.schedule.name;
                       },
                       0, Table::Align::kLeft});
  return columns;
}

// Returns the columns of the predicted results.
std::vector<RankedColumn> result_columns(const study::SearchAnswer& answer) {
  const study::FoundConfiguration& best = answer.ranked.front();
  const bool run = answer.several_sizes && best.metrics->run;
  std::vector<RankedColumn> columns;
  columns.push_back({"step", [](const auto& f) { return report::time_text(f.metrics->step_time); }});
  if (!answer.several_sizes) {
    columns.push_back({fmt::format("{:.0f} % range", 100 * best.metrics->interval->level),
                       [](const auto& f) {
                         const auto& interval = *f.metrics->interval;
                         return report::time_range({interval.low.value(), interval.high.value()});
                       },
                       3});
    columns.push_back({"behind",
                       [&best](const auto& f) {
                         const double behind = f.metrics->step_time / best.metrics->step_time - 1;
                         return &f == &best ? "best" : fmt::format("{:+.1f} %", 100 * behind);
                       },
                       4});
  }
  columns.push_back({"MFU", [](const auto& f) { return report::percent(f.metrics->mfu); }, 7});
  if (!run) columns.push_back({"bubble", [](const auto& f) { return report::percent(f.metrics->bubble_fraction); }, 8});
  columns.push_back({"GiB", [](const auto& f) { return report::gib(f.metrics->memory.needed()); }});
  if (any(answer, [](const auto& f) { return !f.outcome.fits; }))
    columns.push_back({"fits", [](const auto& f) { return f.outcome.fits ? "yes" : "NO"; }, 0, Table::Align::kLeft});
  if (run) columns.push_back({"days", [](const auto& f) { return report::significant(f.metrics->run->days, 3); }, 5});
  if (run && best.metrics->run->cost)
    columns.push_back({"cost", [](const auto& f) { return report::letters(*f.metrics->run->cost); }, 6});
  return columns;
}

std::string table_of(const study::SearchAnswer& answer, const std::vector<RankedColumn>& columns, const Paint& paint) {
  std::vector<Table::Column> heads{{"#"}};
  for (const RankedColumn& column : columns) heads.push_back({column.head, column.align});
  Table table(std::move(heads));
  for (std::size_t rank = 0; rank < answer.ranked.size(); ++rank) {
    std::vector<std::string> cells{fmt::format("{}", rank + 1)};
    for (const RankedColumn& column : columns) cells.push_back(column.cell(answer.ranked[rank]));
    table.add(std::move(cells));
  }
  for (const study::SizeWithout& size : answer.without) table.add_note({"-", fmt::format("{}", size.gpus)}, size.why);
  return table.text(paint);
}

// Explains the short heads.
std::string legend_of(const std::vector<RankedColumn>& columns, const Paint& paint) {
  const auto shown = [&](std::string_view head) {
    return std::any_of(columns.begin(), columns.end(), [&](const RankedColumn& column) { return column.head == head; });
  };
  std::vector<std::string_view> heads, words;
  for (const auto& [axis, member] : job::kDegrees) {
    if (!shown(short_name_of(axis))) continue;
    heads.push_back(short_name_of(axis));
    words.push_back(name_of(axis));
    if (axis != Axis::kPipeline || !shown("VPP")) continue;
    heads.emplace_back("VPP");
    words.emplace_back("virtual pipeline");
  }
  for (const auto& [axis, member] : job::kExpertDegrees) {
    if (!shown(short_name_of(axis))) continue;
    heads.push_back(short_name_of(axis));
    words.push_back(axis == Axis::kExpert ? "expert" : "expert-tensor");
  }
  std::string text = fmt::format("{}: {} degree; SP: sequence parallel; MBS: micro-batch size", fmt::join(heads, ", "),
                                 fmt::join(words, ", "));
  if (shown("encoder")) text += "; encoder: stages of the encoder";
  if (shown("group")) text += "; group: micro-batches a group of interleaving";
  if (shown("overlap"))
    text +=
        "; overlap: beside the passes, G gradient reduction, P parameter gathers, M pipeline messages, T "
        "tensor-parallel collectives";
  if (shown("overlap") && shown("dispatch")) text += ", E exchanges of experts";
  if (shown("bubble")) text += "; bubble: idle time of the pipeline over the work of its busiest stage";
  return paint.paragraph("  ", text + "; GiB: memory that the fullest GPU needs");
}

// Writes the ranked list with as many columns as the page holds.
}  // namespace

std::string ranked_table(const study::SearchAnswer& answer, const Paint& paint) {
  std::vector<RankedColumn> columns = key_columns(answer);
  for (RankedColumn& column : result_columns(answer)) columns.push_back(std::move(column));
  std::vector<std::string> dropped;
  std::string text = table_of(answer, columns, paint);
  while (report::columns_of(text.substr(0, text.find('\n'))) > paint.columns()) {
    const auto last = std::max_element(columns.begin(), columns.end(),
                                       [](const auto& a, const auto& b) { return a.spare < b.spare; });
    if (last->spare == 0) break;
    dropped.push_back(last->head);
    columns.erase(last);
    text = table_of(answer, columns, paint);
  }
  if (!dropped.empty())
    text += paint.paragraph("  ", fmt::format("too wide for the page, in --json: {}", fmt::join(dropped, ", ")));
  return text + legend_of(columns, paint);
}

}  // namespace foretoken::tools
