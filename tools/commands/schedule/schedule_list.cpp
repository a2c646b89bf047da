// The command `foretoken schedule list`: prints the schedules of the catalogue.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/report/text/layout.h"
#include "sim/schedule/catalogue.h"
#include "tools/commands/schedule/schedule_commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/json_csv.h"

namespace foretoken::tools {

void add_schedule_list(CLI::App& schedule, Action& chosen) {
  using Json = nlohmann::ordered_json;
  const auto form = std::make_shared<Form>(Form::kText);
  CLI::App* command = schedule.add_subcommand("list", "List all schedules");
  add_form_options(*command, *form);
  command->callback([&chosen, form] {
    chosen = [form] {
      if (*form != Form::kText) {
        Json rows = Json::array();
        for (const schedule::Schedule& each : schedule::all_schedules())
          rows.push_back({{"schedule", each.name},
                          {"interleaves", each.interleaves},
                          {"splits_backward", each.splits_backward},
                          {"flushes", !each.without_flush},
                          {"description", each.description}});
        print(*form == Form::kJson ? rows.dump() + '\n' : csv_of(rows));
        return 0;
      }
      const report::Paint paint(false, page_columns());
      std::string text;
      for (const schedule::Schedule& each : schedule::all_schedules())
        text += paint.paragraph(report::pad_right(each.name, 20), each.description);
      print(text);
      return 0;
    };
  });
}

}  // namespace foretoken::tools
