// Reads the options of jobs of Grid Engine and PBS.
#include "sim/io/import/launch/shell/other_jobs.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

namespace foretoken::io::shell {
namespace {

constexpr std::int64_t kMostHosts = 1'000'000;

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<std::int64_t> count_in_text(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value > 0 && value <= kMostHosts;
  return whole ? std::optional(value) : std::nullopt;
}

// The values of -l in the lines that begin with a directive: "#$ -l rt_AF=4" and "#$-lrt_AF=4" give rt_AF=4.
std::vector<std::string_view> resources_behind(std::string_view directive, std::string_view text) {
  std::vector<std::string_view> resources;
  for (std::string_view line : parts_of(text, "\n")) {
    if (!line.starts_with(directive)) continue;
    line.remove_prefix(directive.size());
    const auto words = parts_of(line, " \t\r");
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "-l" && i + 1 < words.size()) resources.push_back(words[i + 1]);
      if (words[i].starts_with("-l") && words[i].size() > 2) resources.push_back(words[i].substr(2));
    }
  }
  return resources;
}

std::optional<std::int64_t> nodes_of_grid_engine(std::string_view text) {
  for (const std::string_view resource : resources_behind("#$", text))
    for (const std::string_view one : parts_of(resource, ","))
      for (const std::string_view type : {"rt_F=", "rt_AF="})
        if (one.starts_with(type)) return count_in_text(one.substr(type.size()));
  return std::nullopt;
}

// select=2:ngpus=8:mpiprocs=8+1:ncpus=4. A chunk has a line for each of its processes, and one process unless stated.
// Chunks may share a host, unless they are scattered.
void add_chunks(std::string_view select, bool scattered, Machine& machine) {
  std::int64_t lines = 0, chunks = 0;
  for (const std::string_view chunk : parts_of(select, "+")) {
    const auto parts = parts_of(chunk, ":");
    const auto stated = parts.empty() ? std::nullopt : count_in_text(parts.front());
    const std::int64_t number = stated.value_or(1);
    std::int64_t processes = 1;
    for (const std::string_view part : parts) {
      constexpr std::string_view kProcesses = "mpiprocs=";
      if (!part.starts_with(kProcesses)) continue;
      const auto value = count_in_text(part.substr(kProcesses.size()));
      if (!value) return;
      processes = *value;
    }
    if (number > kMostHosts / processes) return;
    chunks += number;
    lines += number * processes;
  }
  machine.host_lines = lines;
  if (scattered || chunks == 1) machine.hosts = chunks;
}

}  // namespace

std::map<std::string, std::string, std::less<>> variables_of_other_jobs(std::string_view text, Machine& machine) {
  if (const auto nodes = nodes_of_grid_engine(text)) {
    machine.host_lines = machine.hosts = *nodes;
    return {{"NHOSTS", std::to_string(*nodes)}};
  }
  constexpr std::string_view kSelect = "select=", kPlace = "place=";
  const auto resources = resources_behind("#PBS", text);
  const bool scattered = std::ranges::any_of(resources, [&](std::string_view one) {
    return one.starts_with(kPlace) && one.find("scatter") != std::string_view::npos;
  });
  for (const std::string_view one : resources)
    if (one.starts_with(kSelect)) add_chunks(one.substr(kSelect.size()), scattered, machine);
  return {};
}

}  // namespace foretoken::io::shell
