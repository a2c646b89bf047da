// Cluster and profile of a scenario: one kind of node, or groups of several (docs/decisions/0007).
#pragma once

#include <optional>

#include "sim/io/json/document.h"
#include "sim/job/question.h"

namespace foretoken::io {

/// Reads the cluster, or its groups. Returns the cluster's document.
std::optional<Document> read_cluster_part(const Node& root, job::Question& question);

/// The profile stated, or that of the cluster's GPU (of every group's GPU), with what was measured on the cluster's own
/// system; never silently another GPU's. `cluster`: its document, nothing when it was not sound.
void read_profile_part(const Node& root, const std::optional<Document>& cluster, job::Question& question);

}  // namespace foretoken::io
