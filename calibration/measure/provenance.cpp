// Reads nvidia-smi's answers.
#include "calibration/measure/provenance.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace foretoken::measure {
namespace {

// Only old fields stand here: nvidia-smi refuses the whole question when it does not know one. No field changes from
// run to run (temperature, clock now), because each change would begin a new header.
struct Field {
  std::string_view query, fact;
};
constexpr std::array kFields{Field{"name", "name"},
                             Field{"driver_version", "driver"},
                             Field{"clocks.max.sm", "sm_clock_max"},
                             Field{"clocks.max.memory", "memory_clock_max"},
                             Field{"power.limit", "power_limit"},
                             Field{"ecc.mode.current", "ecc"},
                             Field{"mig.mode.current", "mig"},
                             Field{"pcie.link.gen.max", "pcie_generation"},
                             Field{"pcie.link.width.max", "pcie_width"},
                             Field{"memory.total", "memory"}};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

/// Removes terminal colours ("\x1b[4m") and makes blanks single.
std::string plain(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      const std::size_t end = line.find('m', i);
      if (end == std::string_view::npos) break;
      i = end;
    } else if (std::isspace(static_cast<unsigned char>(line[i])) == 0) {
      text += line[i];
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  return std::string(trimmed(text));
}

}  // namespace

const std::vector<std::string_view>& smi_fields() {
  static const std::vector<std::string_view> fields = [] {
    std::vector<std::string_view> all;
    for (const Field& field : kFields) all.push_back(field.query);
    return all;
  }();
  return fields;
}

std::string smi_command(std::string_view gpu) {
  std::string fields;
  for (const std::string_view field : smi_fields()) (fields += fields.empty() ? "" : ",") += field;
  return fmt::format("nvidia-smi --id={} --query-gpu={} --format=csv,noheader 2>/dev/null", gpu, fields);
}

Facts smi_facts(std::string_view line) {
  Facts facts;
  line = trimmed(line);
  for (const Field& field : kFields) {
    if (line.empty()) return {};
    const std::string_view value = trimmed(take(line, ','));
    const bool known = !value.empty() && !value.starts_with("[");
    if (known && field.fact != "name") facts.emplace_back(field.fact, value);
  }
  return trimmed(line).empty() ? facts : Facts{};
}

std::string topology_text(std::string_view answer) {
  std::string text;
  while (!answer.empty()) {
    const std::string row = plain(take(answer, '\n'));
    const bool matrix = row.starts_with("GPU") || (row.starts_with("NIC") && row.find(": ") == std::string::npos);
    if (matrix && row.find("Legend") == std::string::npos) (text += text.empty() ? "" : "; ") += row;
  }
  return text;
}

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace foretoken::measure
