// A server of cards behind PCIe, for a cluster that has the name of a card.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/document.h"

namespace foretoken::io {

/// Returns the cluster of a card's name, "rtx4090-24gb": one node with eight of the cards behind PCIe. It has no
/// network, NVLink bridges, NICs or price. Returns nothing where no GPU of that name is a card
/// (`"form_factor": "card"`); adds complaints where its file cannot be read.
[[nodiscard]] std::optional<Document> gpu_server(std::string_view name, Findings& findings);

/// Returns the names of all cards: gpu_server() makes a cluster of each.
[[nodiscard]] std::vector<std::string> list_cards();

/// Words the complaint about a cluster of that name: where it is a GPU, names the clusters with it.
[[nodiscard]] std::string unknown_cluster(std::string_view name);

}  // namespace foretoken::io
