// The command `foretoken validate`: compares predictions with published measurements.
#include "validate/validate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/report/text/number.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace validate_command {
namespace {

constexpr int kBoundBroken = 1;

struct Options {
  std::vector<std::string> sets;
  std::string docs;
  std::int64_t worst = 3;
  bool json = false, csv = false, html = false;
};

void write_pages(const validate::Validation& validation, const std::filesystem::path& folder) {
  const std::map<std::string, std::string> pages = validate::as_pages(validation);
  for (const auto& [name, text] : pages) {
    std::error_code error;  // ignored: opening the file reports a folder that could not be made
    std::filesystem::create_directories((folder / name).parent_path(), error);
    write_file((folder / name).string(), text);
  }
  print_error(fmt::format("Wrote {} below {}.", report::counted(static_cast<double>(pages.size()), "file"),
                          printable(folder.string())));
}

int run(const Options& options) {
  LongWork work("rows");
  const validate::Validation validation = validate::run_validation(options.sets, 1, work.watch());
  work.end();
  if (!options.docs.empty() && !work.interrupted()) write_pages(validation, options.docs);
  if (options.json) {
    print(work.marked(validate::as_json(validation)));
  } else if (options.html) {
    print(validate::as_html(validation));
  } else if (options.csv) {
    print(validate::as_csv(validation));
  } else {
    print(validate::as_text(validation, static_cast<std::size_t>(options.worst), page_paint("never")));
  }
  return work.status(validation.broken.empty() ? 0 : kBoundBroken);
}

}  // namespace
}  // namespace validate_command

void add_validate(CLI::App& program, Action& chosen) {
  using namespace validate_command;
  CLI::App* command = program.add_subcommand("validate", "Compare predictions with published measurements");
  const auto options = std::make_shared<Options>();
  CLI::Option* sets =
      command->add_option("--set", options->sets, "Run only this set of cases, by name or file; may be repeated");
  command->add_option("--worst", options->worst, "Show this many rows of each set, largest errors first (3)")
      ->check(whole_number(0, 1000));
  CLI::Option* json = command->add_flag("--json", options->json, "Print everything as JSON");
  CLI::Option* csv = command->add_flag("--csv", options->csv, "Print one line for each comparison")->excludes(json);
  command->add_flag("--html", options->html, "Print one page for a browser, with plots and every row")
      ->excludes(json)
      ->excludes(csv);
  command
      ->add_option("--write-docs", options->docs,
                   "Write docs/modeller/validation.md, its plots, validate/residuals.json and "
                   "validate/serving_residuals.json below "
                   "this folder")
      ->excludes(sets);
  command->footer(
      "Exit status 1: a set is worse than its bound in validate/bounds.json.\n\n"
      "Examples:\n  foretoken validate\n  foretoken validate --set bloom --worst 10\n"
      "  foretoken validate --html > validation.html\n");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools
