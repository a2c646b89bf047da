// The commands `foretoken calibrate show` and `diff`: print one profile, or two side by side.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/fit/profiles/diff_profiles.h"
#include "sim/io/hardware/profile.h"
#include "tools/commands/calibrate/calibrate_commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/describe.h"
#include "tools/text/json_csv.h"
#include "tools/text/profile_page.h"

namespace foretoken::tools {
namespace calibrate_show_command {
namespace {

struct Options {
  std::string first, second, svg, colour;
  Form form = Form::kText;
};

cost::Profile profile_of(const std::string& name, const std::string& asker) {
  const io::Document document = open_data_file(io::kProfiles, name, asker);
  io::Findings findings;
  cost::Profile profile = io::read_profile(document.root(findings));
  findings.throw_if_wrong();
  return profile;
}

int show(const Options& options) {
  if (options.form == Form::kJson) {
    print(open_data_file(io::kProfiles, options.first, "foretoken calibrate show").value.dump(2) + '\n');
    return 0;
  }
  print(profile_page(profile_of(options.first, "foretoken calibrate show"), page_paint(options.colour)));
  return 0;
}

std::string diff_text(const cost::Profile& a, const cost::Profile& b, Form form) {
  using Json = nlohmann::ordered_json;
  if (form == Form::kText) return fit::diff_profiles(a, b);
  const auto time = [](const std::optional<Seconds>& of) { return of ? Json(of->value()) : Json(); };
  Json rows = Json::array();
  for (const auto& [name, of_a, of_b] : fit::compare_profiles(a, b))
    rows.push_back({{"work", name},
                    {"a_s", time(of_a)},
                    {"b_s", time(of_b)},
                    {"b_over_a", of_a && of_b ? Json(*of_b / *of_a) : Json()}});
  if (form == Form::kCsv) return csv_of(rows);
  return Json{{"a", a.name}, {"b", b.name}, {"rows", rows}}.dump() + '\n';
}

int diff(const Options& options) {
  cost::Profile a = profile_of(options.first, "foretoken calibrate diff"),
                b = profile_of(options.second, "foretoken calibrate diff");
  if (a.name == b.name) {  // a fit of one's own has the name of its GPU
    a.name = std::filesystem::path(options.first).stem().string();
    b.name = std::filesystem::path(options.second).stem().string();
  }
  refuse_same_files(std::array{NamedFile{"--svg", options.svg}},
                    std::array{std::filesystem::path(options.first), std::filesystem::path(options.second)});
  if (!options.svg.empty()) write_file(options.svg, fit::plot_profiles(a, b));
  print(diff_text(a, b, options.form));
  return 0;
}

}  // namespace
}  // namespace calibrate_show_command

void add_calibrate_show(CLI::App& calibrate, Action& chosen) {
  using namespace calibrate_show_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      calibrate.add_subcommand("show", "Show a profile: source, samples and held-out errors of each part");
  command->add_option("PROFILE", options->first, "A name of `foretoken profiles list`, or a file")->required();
  command->add_flag_callback(
      "--json", [options] { options->form = Form::kJson; }, "Print the file's JSON, with its bases merged in");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return show(*options); }; });
}

void add_calibrate_diff(CLI::App& calibrate, Action& chosen) {
  using namespace calibrate_show_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = calibrate.add_subcommand("diff", "Show two profiles side by side on the same work");
  command->add_option("A", options->first, "A name of `foretoken profiles list`, or a file")->required();
  command->add_option("B", options->second, "Another name or file")->required();
  command->add_option("--svg", options->svg, "Draw both: products and all-reduces over their size")->type_name("FILE");
  add_form_options(*command, options->form);
  command->callback([&chosen, options] { chosen = [options] { return diff(*options); }; });
}

}  // namespace foretoken::tools
