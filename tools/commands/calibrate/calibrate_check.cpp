// The command `foretoken calibrate check`: prints the errors of a profile on measured tables.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/profiles/check_profile.h"
#include "calibration/import/import.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/hardware/serving_laws.h"
#include "sim/report/text/layout.h"
#include "tools/commands/calibrate/calibrate_commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/describe.h"
#include "tools/text/json_csv.h"

namespace foretoken::tools {
namespace calibrate_check_command {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string profile;
  std::vector<std::string> tables;
  Form form = Form::kText;
};

Json json_of(const fit::ErrorSummary& errors) {
  return {{"rows", errors.rows}, {"median", errors.median}, {"p90", errors.p90}, {"bias", errors.bias}};
}

Json json_of(const cost::Profile& profile, const fit::ProfileCheck& check) {
  Json json{{"profile", profile.name}, {"precisions", Json::object()}, {"classes", Json::array()}};
  for (const auto& [precision, errors] : check.precisions)
    json["precisions"][std::string(name_of(precision))] = json_of(errors);
  for (const fit::ErrorClass& one : check.classes) {
    Json entry{{"kind", one.kind}, {"size", one.size}};
    entry.update(json_of(one.errors));
    json["classes"].push_back(entry);
  }
  json["left_out"] = check.left_out;
  return json;
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string text_of(const fit::ProfileCheck& check) {
  using enum report::Table::Align;
  report::Table table(
      {{"kind", kLeft}, {"size", kLeft}, {"rows", kRight}, {"median", kRight}, {"p90", kRight}, {"bias", kRight}});
  for (const fit::ErrorClass& one : check.classes)
    table.add({one.kind, one.size, fmt::format("{}", one.errors.rows), percent(one.errors.median),
               percent(one.errors.p90), fmt::format("{:+.1f} %", 100 * one.errors.bias)});
  std::string text = table.text(page_paint("never"));
  for (const std::string& kind : check.left_out) text += fmt::format("Left out: {}; the profile has no law.\n", kind);
  return text;
}

int run(const Options& options) {
  const io::Document document = open_data_file(io::kProfiles, options.profile, "foretoken calibrate check");
  io::Findings findings;
  const cost::Profile profile = io::read_profile(document.root(findings));
  const std::optional<cost::ServingLaws> serving = io::find_serving_laws(profile.name, findings);
  findings.throw_if_wrong();
  const measured::Samples samples = samples_of(options.tables);
  const fit::ProfileCheck check = fit::check_profile(profile, samples, serving ? &*serving : nullptr);
  for (const std::string& note : samples.notes) print_error("note: " + note);
  print(options.form == Form::kText  ? text_of(check)
        : options.form == Form::kCsv ? csv_of(json_of(profile, check).at("classes"))
                                     : json_of(profile, check).dump(2) + "\n");
  return 0;
}

}  // namespace
}  // namespace calibrate_check_command

void add_calibrate_check(CLI::App& calibrate, Action& chosen) {
  using namespace calibrate_check_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = calibrate.add_subcommand("check", "Errors of a profile on measured tables");
  command->footer(
      "Predictions are of brief benchmarks: they leave out sustained factors, and include a quantisation where the "
      "time of the row includes it. Decode attention and small all-reduces are checked with the laws of serving that "
      "have the profile's name.\n\n"
      "Examples:\n"
      "  foretoken calibrate check h100-sxm5-80gb products.csv\n"
      "  foretoken calibrate check ./my-gpu.json products.csv attention.csv quantise.csv --json\n"
      "  foretoken calibrate check h100-sxm5-80gb deepep.csv.gz\n"
      "  foretoken calibrate check h100-sxm5-80gb attention_decode.csv.gz custom_allreduce.csv.gz\n");
  command->add_option("PROFILE", options->profile, "A name of `foretoken profiles list`, or a file")->required();
  command
      ->add_option("TABLES", options->tables,
                   "*.csv tables of products, attention, decode attention, small all-reduces, quantisation or "
                   "exchanges of tokens, "
                   "samples, or nccl-tests' output; "
                   "also as .gz")
      ->required();
  add_form_options(*command, options->form);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools
