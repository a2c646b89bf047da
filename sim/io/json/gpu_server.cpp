#include "sim/io/json/gpu_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "sim/base/text.h"

namespace foretoken::io {
namespace {

constexpr int kCards = 8;  // as servers of PCIe cards have (ASUS ESC8000, Supermicro SYS-4029GP-TRT)

std::optional<Document> gpu_of(std::string_view name, Findings& findings) {
  const auto path = find_data_file(kGpus, name);
  return path ? document_from_file(*path, findings) : std::nullopt;
}

bool has_text(const nlohmann::json& object, const char* key, std::string_view text) {
  if (!object.is_object()) return false;
  const auto member = object.find(key);
  return member != object.end() && member->is_string() && member->get_ref<const std::string&>() == text;
}

/// Returns the shipped clusters whose nodes have the GPU.
std::vector<std::string> clusters_with(std::string_view gpu) {
  std::vector<std::string> names;
  for (const std::string& name : list_names(kClusters)) {
    Findings ignored;  // a file that cannot be read has no such GPU
    const auto path = find_data_file(kClusters, name);
    const auto document = path ? document_from_file(*path, ignored) : std::nullopt;
    if (document && has_text(document->value, "gpu", gpu)) names.push_back(printable(name, 60));
  }
  return names;
}

/// Words the complaint about a name that is neither a cluster nor a GPU. The first parts of a GPU's name ("h100",
/// "h100-sxm") find the clusters with it, and the beginning of a card's name the card.
std::string unknown_machine(std::string_view name) {
  std::string small(name);
  for (char& letter : small)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  const std::vector<std::string> cards = list_cards();
  std::vector<std::string> clusters, starting;
  for (const std::string& gpu : list_names(kGpus))
    if (gpu.starts_with(small + "-") || (small.find('-') != small.npos && gpu.starts_with(small)))
      for (std::string& cluster : clusters_with(gpu)) clusters.push_back(std::move(cluster));
  for (const std::string& card : cards)
    if (!small.empty() && card.starts_with(small)) starting.push_back(card);
  if (!clusters.empty()) {
    clusters.insert(clusters.end(), starting.begin(), starting.end());
    return fmt::format("unknown cluster {}; with that GPU there are {}", in_quotes(name),
                       first_names(clusters, where_listed(kClusters)));
  }
  if (!starting.empty())
    return fmt::format("unknown cluster {}; did you mean \"{}\"?", in_quotes(name), starting.front());
  const std::string meant = did_you_mean(name, list_names(kClusters));
  const std::string card = meant.empty() ? did_you_mean(small, cards) : "";
  return card.empty() ? unknown_name(kClusters, name) : fmt::format("unknown cluster {}{}", in_quotes(name), card);
}

}  // namespace

std::optional<Document> gpu_server(std::string_view name, Findings& findings) {
  std::optional<Document> gpu = gpu_of(name, findings);
  if (!gpu || !has_text(gpu->value, "form_factor", "card") || !gpu->value.contains("pcie_gb_per_s"))
    return std::nullopt;
  nlohmann::json cluster = {
      {"name", gpu->name},
      {"gpu", gpu->name},
      {"node", {{"gpus", kCards}, {"pcie_gb_per_s", gpu->value["pcie_gb_per_s"]}}},
      {"price_per_gpu_hour", nullptr},
      {"source", fmt::format("a server with {} cards behind PCIe, made from the file of the GPU", kCards)},
      {"notes", "One node without a network, NVLink bridges or NICs."}};
  gpu->value = std::move(cluster);
  return gpu;
}

std::vector<std::string> list_cards() {
  std::vector<std::string> cards;
  for (const std::string& gpu : list_names(kGpus)) {
    Findings ignored;  // a file that cannot be read is no card
    if (gpu_server(gpu, ignored)) cards.push_back(gpu);
  }
  return cards;
}

std::string unknown_cluster(std::string_view name) {
  Findings ignored;
  const std::optional<Document> gpu = gpu_of(name, ignored);
  if (!gpu) return unknown_machine(name);
  const std::vector<std::string> clusters = clusters_with(gpu->name);
  const std::string text = fmt::format("{} is a GPU, not a cluster", in_quotes(name));
  if (!clusters.empty()) return text + fmt::format("; clusters with it: {}", fmt::join(clusters, ", "));
  return text + fmt::format(
                    "; no shipped cluster has it: name one and replace its GPU, "
                    R"({{"base": "dgx-h100-ndr", "gpu": "{}"}})",
                    printable(gpu->name, 60));
}

}  // namespace foretoken::io
