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

std::string unknown_cluster(std::string_view name) {
  Findings ignored;
  const std::optional<Document> gpu = gpu_of(name, ignored);
  if (!gpu) return unknown_name(kClusters, name);
  const std::vector<std::string> clusters = clusters_with(gpu->name);
  const std::string text = fmt::format("{} is a GPU, not a cluster", in_quotes(name));
  if (!clusters.empty()) return text + fmt::format("; clusters with it: {}", fmt::join(clusters, ", "));
  return text + fmt::format(
                    "; no shipped cluster has it: name one and replace its GPU, "
                    R"({{"base": "dgx-h100-ndr", "gpu": "{}"}})",
                    printable(gpu->name, 60));
}

}  // namespace foretoken::io
