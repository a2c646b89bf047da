// Checks option values with messages that name the expected and the found value, as CLI11's own checks do not.
#include "tools/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/trust/evidence.h"

namespace foretoken::tools {
void add_colour_option(CLI::App& command, std::string& choice) {
  choice = "auto";
  command
      .add_option("--color", choice, "Print colours: auto (on a terminal, when NO_COLOR is not set), always or never")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("auto|always|never");
}

void add_strict_option(CLI::App& command, bool& strict) {
  command.add_flag("--strict", strict, "Exit with 1 when the prediction uses a cost scaled from another GPU");
}

void add_form_options(CLI::App& command, Form& form) {
  CLI::Option* json = command.add_flag_callback(
      "--json", [&form] { form = Form::kJson; }, "Print JSON instead of text");
  command
      .add_flag_callback(
          "--csv", [&form] { form = Form::kCsv; }, "Print the rows of the table as CSV")
      ->excludes(json);
}

void add_interval_option(CLI::App& command, int& percent) {
  percent = static_cast<int>(100 * trust::kUsualLevel);
  std::vector<std::string> levels;
  for (const double level : trust::kLevels) levels.push_back(fmt::format("{:.0f}", 100 * level));
  command.add_option("--interval", percent, "Interval of the step time: the percentage of runs inside it (90)")
      ->check(one_of(levels))
      ->type_name(fmt::format("{}", fmt::join(levels, "|")));
}

CLI::Validator one_of(std::vector<std::string> words) {
  return {[words = std::move(words)](const std::string& text) {
            for (const std::string& word : words)
              if (word == text) return std::string();
            return fmt::format("expected {}, found {}{}", either(words), in_quotes(text), did_you_mean(text, words));
          },
          ""};
}

CLI::Validator whole_number(std::int64_t low, std::int64_t high) {
  return {[=](const std::string& text) {
            return parse_number(text, low, high)
                       ? std::string()
                       : fmt::format("expected a whole number from {} to {}, found {}", low, high, in_quotes(text));
          },
          ""};
}

CLI::Validator number_between(double low, double high) {
  return {[=](const std::string& text) {
            return parse_number(text, low, high)
                       ? std::string()
                       : fmt::format("expected a number from {:g} to {:g}, found {}", low, high, in_quotes(text));
          },
          ""};
}

}  // namespace foretoken::tools
