// Describes profiles (hardware) and runtimes (software) in words.
#include <fmt/format.h>

#include "sim/cost/parts.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/scenario/read_runtime.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "tools/text/describe.h"
#include "tools/text/profile_page.h"

namespace foretoken::tools {
namespace {

using report::percent;
using report::Table;

std::string page_of_profile(const io::Document& document, io::Findings& findings, const report::Paint& paint) {
  return profile_page(io::read_profile(document.root(findings)), paint);
}

std::vector<std::string> profile_row(const io::Document& document, io::Findings& findings) {
  const cost::Profile profile = io::read_profile(document.root(findings));
  int samples = 0;
  for (const cost::Part& part : cost::parts_of(profile))
    for (const cost::Evidence& evidence : part.evidence) samples += evidence.samples;
  const auto gemm = profile.gemm.find(Precision::kBf16);
  const bool measured = gemm != profile.gemm.end() && gemm->second.evidence.held_out > 0;
  return {document.name, profile.gpu, report::whole(samples),
          measured ? percent(gemm->second.evidence.median_error) : "-"};
}

std::string runtime_page(const io::Document& document, io::Findings& findings, const report::Paint& paint) {
  const job::Runtime r = io::read_runtime(document.root(findings));
  std::string text = paint(report::Ink::kBold, r.name) + '\n';
  text += entry(paint, "what", r.description);
  text += entry(paint, "attention", std::string(model::name_of(r.default_attention.kind, r.default_attention.kernel)));
  text += entry(paint, "overlap",
                fmt::format("backward collectives {}, gradient reduction {}, parameter gathering {}, "
                            "interleaved messages {}",
                            yes_no(r.overlap_backward_collectives), yes_no(r.overlap_grad_reduce),
                            yes_no(r.overlap_param_gather), yes_no(r.overlap_p2p)));
  text +=
      entry(paint, "messages", r.scatter_gather ? "cut over tensor ranks, gathered in the receiving node" : "whole");
  text +=
      entry(paint, "gradients",
            fmt::format("reduced in {} bytes (fp16), {} bytes (bf16)", r.fp16_gradient_bytes, r.bf16_gradient_bytes));
  text += entry(paint, "source", r.source);
  text += "\n  Numbers\n";
  text += entry(paint, "  traffic",
                r.fused_accumulation ? "none to add a micro-batch's gradient: the weight-gradient GEMM does"
                                     : fmt::format("{} bytes per weight to add a micro-batch's gradient",
                                                   r.gradient_accumulation_bytes));
  text += entry(paint, "  factors",
                fmt::format("tensor-parallel collectives x {}, GEMMs x {}, memory-bound kernels x {}",
                            r.tensor_comm_factor, r.gemm_factor, r.memory_bound_factor));
  text += entry(paint, "  host",
                fmt::format("{} a layer forward, {} backward, {:+.0f} % per further tensor rank",
                            report::time_text(r.host_per_layer_forward), report::time_text(r.host_per_layer_backward),
                            100 * r.host_growth_per_tensor_rank));
  text += entry(
      paint, "  overheads",
      fmt::format("{} a tensor-parallel collective, {} a blocking message, {} between passes of a pipeline, {} a step",
                  report::time_text(r.tensor_comm_overhead), report::time_text(r.p2p_overhead),
                  report::time_text(r.pass_overhead), report::time_text(r.step_overhead)));
  if (!r.notes.empty()) text += '\n';
  for (const std::string& note : r.notes) text += paint.paragraph("  - ", note);
  return text;
}

std::vector<std::string> runtime_row(const io::Document& document, io::Findings& findings) {
  const job::Runtime runtime = io::read_runtime(document.root(findings));
  return {document.name, runtime.description};
}

}  // namespace

Described described_profiles() {
  return {
      .command = "profiles",
      .about = "List and show fitted hardware costs (calibration/profiles/NAME.json)",
      .kind = io::kProfiles,
      .columns = {{"name", Table::Align::kLeft}, {"GPU", Table::Align::kLeft}, {"measurements"}, {"GEMM bf16 error"}},
      .row = profile_row,
      .page = page_of_profile};
}

Described described_runtimes() {
  return {.command = "runtimes",
          .about = "List and show software stacks (calibration/runtimes/NAME.json)",
          .kind = io::kRuntimes,
          .columns = {{"name", Table::Align::kLeft}, {"what", Table::Align::kLeft}},
          .row = runtime_row,
          .page = runtime_page};
}

}  // namespace foretoken::tools
