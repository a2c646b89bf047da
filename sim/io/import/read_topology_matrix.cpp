// Reads `nvidia-smi topo -m`: a matrix of the distance between every two GPUs and NICs of a node.
//
// Joining near devices gives the tree of switches behind the distances. Devices within one switch of each other form a
// switch, and so on up to the socket. Between two GPUs with NVLink the matrix hides PCIe.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>

#include "sim/base/text.h"
#include "sim/io/import/machine.h"

namespace foretoken::io {
namespace {

constexpr std::size_t kMostColumns = 512, kLongestLine = 1 << 16;

enum class Distance { kOneSwitch, kSwitches, kSocket, kSystem, kHidden };

struct Cell {
  std::string text;
  Distance pcie = Distance::kHidden;
  int nvlinks = 0;
  bool self = false;
};

struct Row {
  std::string name, numa;
  std::vector<Cell> cells;
};

struct Line {
  std::size_t number = 0;
  std::string text;
  std::vector<std::string> words;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// Removes escape sequences: on a terminal the header is underlined, ESC [ 4 m ... ESC [ 0 m.
std::string without_escapes(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && !std::isalpha(static_cast<unsigned char>(line[i]))) ++i;
    } else if (line[i] != '\r') {
      text += line[i];
    }
  }
  return text;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0, number = 1; at <= text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    Line line{number, without_escapes(text.substr(at, std::min(end - at, kLongestLine))), {}};
    line.words = words_of(line.text);
    if (!line.words.empty()) lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

bool is_gpu(std::string_view name) {
  return name.size() > 3 && name.starts_with("GPU") &&
         std::all_of(name.begin() + 3, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::optional<Cell> cell_of(const std::string& word) {
  static constexpr std::pair<std::string_view, Distance> kPcie[] = {
      {"PIX", Distance::kOneSwitch}, {"PXB", Distance::kSwitches}, {"PHB", Distance::kSocket},
      {"NODE", Distance::kSocket},   {"SYS", Distance::kSystem},   {"SOC", Distance::kSystem}};  // SOC: before 2018
  if (word == "X") return Cell{word, Distance::kOneSwitch, 0, true};
  for (const auto& [name, distance] : kPcie)
    if (word == name) return Cell{word, distance};
  if (word.size() < 3 || word.size() > 5 || !word.starts_with("NV")) return std::nullopt;
  int links = 0;
  for (const char c : word.substr(2)) {
    if (c < '0' || c > '9') return std::nullopt;
    links = 10 * links + (c - '0');
  }
  if (links == 0) return std::nullopt;
  return Cell{word, Distance::kHidden, links};
}

/// Returns the fields between tabs, without blanks around them. Empty fields stay.
std::vector<std::string> fields_of(const std::string& text) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\t', at), text.size());
    const std::vector<std::string> words = words_of(text.substr(at, end - at));
    fields.push_back(fmt::format("{}", fmt::join(words, " ")));
    at = end + 1;
  }
  return fields;
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& file, Findings& findings)
      : lines_(lines_of(text)), file_(file), findings_(findings) {}

  /// Returns the rows in the order of the columns. Returns nothing, and complains, when the matrix is incomplete.
  std::optional<std::vector<Row>> rows() {
    if (!find_header()) return std::nullopt;
    std::vector<std::optional<Row>> found(columns_.size());
    for (auto line = header_ + 1; line != lines_.cend(); ++line) {
      const auto column = std::find(columns_.begin(), columns_.end(), line->words.front());
      if (column == columns_.end()) continue;  // a legend, or the shell's prompt
      auto& place = found[static_cast<std::size_t>(column - columns_.begin())];
      if (place) return wrong(*line, fmt::format("a second row of {}", line->words.front()));
      place = row_of(*line);
      if (!place) return std::nullopt;
    }
    std::vector<Row> rows;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) return wrong(*header_, fmt::format("no row of {}; is the text cut off?", in_quotes(columns_[i])));
      rows.push_back(std::move(*found[i]));
    }
    return is_symmetric(rows) ? std::optional(rows) : std::nullopt;
  }

  /// Returns the name that the legend gives: mlx5_0 for "NIC0: mlx5_0".
  [[nodiscard]] std::string legend_of(const std::string& name) const {
    for (const Line& line : lines_)
      if (line.words.size() == 2 && line.words[0] == name + ":") return printable(line.words[1], 64);
    return name;
  }

 private:
  std::nullopt_t wrong(const Line& line, const std::string& message) {
    findings_.complaints.push_back({fmt::format("{}:{}", file_, line.number), "", message});
    return std::nullopt;
  }

  bool find_header() {
    header_ = std::find_if(lines_.cbegin(), lines_.cend(), [](const Line& line) {
      return is_gpu(line.words[0]) && (line.words.size() == 1 || !cell_of(line.words[1]));
    });
    if (header_ == lines_.cend()) {
      findings_.complaints.push_back({file_, "", "no line \"GPU0 GPU1 ...\": expected what nvidia-smi topo -m prints"});
      return false;
    }
    for (const std::string& word : header_->words) {
      if (word == "CPU" || word == "NUMA" || word == "GPU") break;  // "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"
      if (std::find(columns_.begin(), columns_.end(), word) != columns_.end()) {
        wrong(*header_, fmt::format("two columns of {}", in_quotes(word)));
        return false;
      }
      columns_.push_back(word);
    }
    if (columns_.size() <= kMostColumns) return true;
    wrong(*header_, fmt::format("expected at most {} GPUs and NICs, found {}", kMostColumns, columns_.size()));
    return false;
  }

  std::optional<Row> row_of(const Line& line) {
    Row row{line.words.front(), numa_of(line), {}};
    if (line.words.size() <= columns_.size())
      return wrong(line, fmt::format("the row of {} has {} of {} cells; is the text cut off?", row.name,
                                     line.words.size() - 1, columns_.size()));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& word = line.words[i + 1];
      std::optional<Cell> cell = cell_of(word);
      if (word == "N/A" && columns_[i] != row.name)
        return wrong(line, fmt::format("{} cannot reach {}: N/A stands between them; expected a matrix of devices that "
                                       "all work, run it again when they do",
                                       row.name, columns_[i]));
      if (!cell)
        return wrong(line, fmt::format("{} to {}: expected X, NV#, PIX, PXB, PHB, NODE or SYS, found {}", row.name,
                                       columns_[i], in_quotes(word)));
      if (cell->self != (columns_[i] == row.name))
        return wrong(line,
                     fmt::format("{} to {}: X stands for the device itself, and only there", row.name, columns_[i]));
      row.cells.push_back(std::move(*cell));
    }
    return row;
  }

  /// Returns the row's entry below "NUMA Affinity", found by its tab or by its place on the line.
  [[nodiscard]] std::string numa_of(const Line& line) const {
    if (line.text.find('\t') != std::string::npos) {
      const std::vector<std::string> heads = fields_of(header_->text), fields = fields_of(line.text);
      const auto head = std::find(heads.begin(), heads.end(), "NUMA Affinity");
      // A header without its leading tab is one field short.
      const auto at = static_cast<std::size_t>(head - heads.begin()) + (heads.front().empty() ? 0 : 1);
      return head != heads.end() && at < fields.size() ? fields[at] : "";
    }
    const std::size_t at = header_->text.find("NUMA Affinity");
    if (at == std::string::npos || at >= line.text.size()) return "";
    return line.text.substr(at, std::min(line.text.find_first_of(" \t", at), line.text.size()) - at);
  }

  bool is_symmetric(const std::vector<Row>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const std::string &there = rows[i].cells[j].text, &back = rows[j].cells[i].text;
        if (there == back) continue;
        wrong(*header_, fmt::format("{} to {} is {}, but back it is {}", rows[i].name, rows[j].name, there, back));
        return false;
      }
    return true;
  }

  std::vector<Line> lines_;
  std::vector<Line>::const_iterator header_;
  std::vector<std::string> columns_;
  const std::string& file_;
  Findings& findings_;
};

/// Groups devices that a chain of pairs within `reach` joins. Returns the first device of each device's group.
std::vector<std::size_t> groups_within(const std::vector<Row>& rows, Distance reach) {
  std::vector<std::size_t> first(rows.size());
  std::iota(first.begin(), first.end(), 0);
  const auto same_numa = [&](std::size_t i, std::size_t j) {
    const std::string& numa = rows[i].numa;
    return reach >= Distance::kSocket && rows[i].cells[j].pcie == Distance::kHidden && numa == rows[j].numa &&
           !numa.empty() && numa != "N/A";
  };
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (first[i] != first[j] && (rows[i].cells[j].pcie <= reach || same_numa(i, j)))
        std::replace(first.begin(), first.end(), std::max(first[i], first[j]), std::min(first[i], first[j]));
  return first;
}

/// Makes a tree of the rows. `levels[k]` groups the devices of level k; the socket is the last level.
class TreeOfMatrix {
 public:
  explicit TreeOfMatrix(const std::vector<Row>& rows) : rows_(rows) {
    for (const Distance reach : {Distance::kOneSwitch, Distance::kSwitches, Distance::kSocket})
      levels_.push_back(groups_within(rows, reach));
    int gpus = 0, nics = 0;
    for (const Row& row : rows) number_.push_back(is_gpu(row.name) ? gpus++ : nics++);
  }
  [[nodiscard]] std::vector<net::PcieTree> sockets() const {
    std::vector<std::size_t> all(rows_.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<net::PcieTree> sockets;
    for (const auto& members : split(all, levels_.size() - 1)) sockets.push_back(tree(members, levels_.size() - 1));
    return sockets;
  }

 private:
  using Members = std::vector<std::size_t>;
  [[nodiscard]] std::vector<Members> split(const Members& members, std::size_t level) const {
    std::map<std::size_t, Members> groups;
    for (const std::size_t device : members) groups[levels_[level][device]].push_back(device);
    std::vector<Members> all;
    for (auto& [first, group] : groups) all.push_back(std::move(group));
    return all;
  }
  [[nodiscard]] net::PcieTree tree(const Members& members, std::size_t level) const {
    net::PcieTree here;
    const auto plug = [&](std::size_t device) {
      (is_gpu(rows_[device].name) ? here.gpus : here.nics).push_back(number_[device]);
    };
    if (level == 0) {
      for (const std::size_t device : members) plug(device);
      return here;
    }
    const std::vector<Members> below = split(members, level - 1);
    if (below.size() == 1 && level + 1 < levels_.size()) return tree(members, level - 1);  // no switch of its own
    for (const Members& group : below) {
      if (group.size() == 1)
        plug(group.front());
      else
        here.switches.push_back(tree(group, level - 1));
    }
    return here;
  }

  const std::vector<Row>& rows_;
  std::vector<std::vector<std::size_t>> levels_;
  std::vector<int> number_;
};

/// Reads the NVLinks of the matrix. A switch shows all links of a GPU at each peer, so the sum is more than it has.
bool read_nvlink(const std::vector<Row>& gpus, std::optional<int> links_of_gpu, Machine& machine,
                 const std::function<void(const std::string&)>& complain) {
  int most_in_a_row = 0, most_to_a_peer = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    int in_row = 0;
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      const int links = gpus[i].cells[j].nvlinks;
      in_row += links;
      most_to_a_peer = std::max(most_to_a_peer, links);
      if (links > 0 && j < i) machine.cables.push_back({static_cast<int>(j), static_cast<int>(i), links});
    }
    most_in_a_row = std::max(most_in_a_row, in_row);
  }
  if (machine.cables.empty()) return true;
  if (!links_of_gpu) {
    complain("shows NVLink, but the GPU's file states none (\"nvlink\": {\"links\", \"gb_per_s_per_link\"})");
    return false;
  }
  if (most_in_a_row <= *links_of_gpu) return true;
  const bool complete = machine.cables.size() == gpus.size() * (gpus.size() - 1) / 2 &&
                        std::all_of(machine.cables.begin(), machine.cables.end(),
                                    [&](const net::NvlinkCables& c) { return c.count == most_to_a_peer; });
  if (!complete || most_to_a_peer > *links_of_gpu) {
    complain(fmt::format("a GPU shows {} NVLinks, {} to one other, but has {}; is it another GPU?", most_in_a_row,
                         most_to_a_peer, *links_of_gpu));
    return false;
  }
  machine.cables.clear();
  machine.links_to_switch = most_to_a_peer;
  return true;
}

}  // namespace

std::optional<Machine> read_topology_matrix(std::string_view text, const std::string& file,
                                            std::optional<int> links_of_gpu, Findings& findings) {
  MatrixReader reader(text, file, findings);
  const std::optional<std::vector<Row>> rows = reader.rows();
  if (!rows) return std::nullopt;
  Machine machine;
  machine.source = "nvidia-smi topo -m";
  std::vector<Row> gpus;
  for (const Row& row : *rows) {
    if (is_gpu(row.name))
      gpus.push_back(row);
    else
      machine.nics.push_back({reader.legend_of(row.name), std::nullopt});
  }
  machine.gpus = static_cast<int>(gpus.size());
  for (Row& gpu : gpus) {  // drops the cells of NICs
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < rows->size(); ++i)
      if (is_gpu((*rows)[i].name)) cells.push_back(gpu.cells[i]);
    gpu.cells = std::move(cells);
  }
  machine.sockets = TreeOfMatrix(*rows).sockets();
  const auto complain = [&](const std::string& message) { findings.complaints.push_back({file, "", message}); };
  if (!read_nvlink(gpus, links_of_gpu, machine, complain)) return std::nullopt;
  return machine;
}

}  // namespace foretoken::io
