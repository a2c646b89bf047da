// Fuzz target: reads any bytes as a schedule file. A file that is read must come back from its own text.
#include "sim/base/fuzz.h"
#include "sim/schedule/csv/read_csv.h"
#include "sim/schedule/csv/write_csv.h"

namespace foretoken {
namespace {

const FuzzTarget kScheduleCsv("schedule_csv", [](std::string_view text) {
  const auto read = schedule::read_csv(text);
  if (const auto* const fault = std::get_if<schedule::CsvFault>(&read)) {
    if (fault->row < 1 || fault->column < 1 || fault->message.find('\n') != std::string::npos) std::abort();
    return;
  }
  const schedule::Program& program = std::get_if<schedule::ImportedSchedule>(&read)->program;
  const auto again = schedule::read_csv(schedule::to_csv(program));
  const auto* const imported = std::get_if<schedule::ImportedSchedule>(&again);
  if (!imported || !(imported->program == program)) std::abort();
});

}  // namespace
}  // namespace foretoken
