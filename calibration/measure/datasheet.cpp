// Finds datasheets and models among the data files.
#include "calibration/measure/datasheet.h"

#include <cctype>
#include <cmath>
#include <string>

#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"
#include "sim/io/model/read_model.h"

namespace foretoken::measure {
namespace {

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Returns true when `word` stands in `text` with no letter or digit beside it: "b200" is not in "gb200".
bool holds_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0;
    const bool ends = end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0;
    if (begins && ends) return true;
  }
  return false;
}

template <class T, class Read>
std::vector<T> read_all(const io::DataKind& kind, const Read& read) {
  io::Findings findings;
  std::vector<T> all;
  for (const std::string& name : io::list_names(kind)) {
    const auto path = io::find_data_file(kind, name);
    if (!path) continue;
    const auto document = io::document_from_file(*path, findings);
    if (!document) continue;
    all.push_back(read(document->root(findings), name));
  }
  findings.throw_if_wrong();
  return all;
}

}  // namespace

std::optional<net::Gpu> datasheet_of(std::string_view driver_name, Bytes memory, const std::vector<net::Gpu>& known) {
  constexpr double kMemoryTolerance = 0.03;  // drivers reserve a little, and not always the same
  const std::string name = lower(driver_name);
  std::optional<net::Gpu> found;
  for (const net::Gpu& gpu : known) {
    const std::string file = lower(gpu.name);
    const bool fits = holds_word(name, file.substr(0, file.find('-'))) &&
                      holds_word(name, "pcie") == holds_word(file, "pcie") &&
                      std::abs(gpu.memory / memory - 1) <= kMemoryTolerance;
    if (!fits) continue;
    // Sockets of one family (SXM2, SXM3) differ in power only. A name that states its socket decides.
    const std::string socket = file.substr(file.find('-') + 1, file.rfind('-') - file.find('-') - 1);
    if (found && !holds_word(name, socket)) continue;
    found = gpu;
  }
  return found;
}

std::vector<net::Gpu> known_gpus() {
  return read_all<net::Gpu>(io::kGpus, [](const io::Node& node, const std::string&) { return io::read_gpu(node); });
}

std::vector<model::Transformer> known_models() {
  return read_all<model::Transformer>(
      io::kModels, [](const io::Node& node, const std::string& name) { return io::read_model(node, name); });
}

}  // namespace foretoken::measure
