// Writes the report of an import.
#include "tools/text/import_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/noun.h"

namespace foretoken::tools {
namespace {

using io::launch::Report;

std::string in_brackets(const std::string& from) { return from.empty() ? "" : " (" + from + ")"; }

std::string problems(const Report& report, const report::Paint& paint) {
  std::string text;
  for (const auto& one : report.refused) {
    // The user has tried what the refusal advises.
    const std::string because =
        one.allowed ? one.because.substr(0, one.because.find(io::launch::kUnlessFree)) : one.because;
    text += paint.paragraph(one.allowed ? "allowed   " : "refused   ",
                            fmt::format("{}: {}{}", one.setting, because, in_brackets(one.from)));
  }
  for (const auto& one : report.asked)
    text += paint.paragraph("missing   ", fmt::format("{}: {}", one.key, one.because));
  return text;
}

std::string settings(const Report& report, const report::Paint& paint) {
  std::string text;
  for (const auto& one : report.mapped)
    text += paint.paragraph("mapped    ", fmt::format("{} = {}, from {}", one.key, one.value, one.from));
  for (const auto& one : report.assumed)
    text +=
        paint.paragraph("assumed   ", one.value.empty() ? fmt::format("{}: {}", one.key, one.because)
                                                        : fmt::format("{} = {}: {}", one.key, one.value, one.because));
  std::string read, ignored;
  for (const std::string& one : report.read) read += (read.empty() ? "" : " ") + one;
  if (!read.empty()) text += paint.paragraph("read      ", read);
  for (const auto& one : report.ignored) ignored += (ignored.empty() ? "" : " ") + one.setting;
  if (!ignored.empty()) text += paint.paragraph("ignored   ", ignored);
  return text;
}

}  // namespace

std::string import_text(const Report& report, const report::Paint& paint) {
  const auto refused = std::ranges::count_if(report.refused, [](const auto& one) { return !one.allowed; });
  const std::string state =
      report.complete() ? "a whole scenario" : fmt::format("{} refused, {} missing", refused, report.asked.size());
  std::string text =
      paint.paragraph("", report.framework.empty() ? state : fmt::format("{}: {}", report.framework, state));
  text += problems(report, paint);
  text += settings(report, paint);
  if (!report.complete())
    text += paint.paragraph("",
                            "State missing facts with options (--gpus, --cluster, --model, --seq, --micro-batch, "
                            "--global-batch), --set KEY=VALUE or --env NAME=VALUE. Go on without a refused setting "
                            "with --allow SETTING.");
  return text;
}

}  // namespace foretoken::tools
