// Cluster and profile of a scenario: one kind of node, or groups of several (docs/decisions/0007).
#pragma once

#include <optional>

#include "sim/io/json/document.h"
#include "sim/job/job.h"

namespace foretoken::io {

/// The cluster, or its groups: their `stages` are GPUs until the pipeline degree is known (deal_stages). Returns the
/// cluster's document.
std::optional<Document> read_cluster_part(const Node& root, job::Job& scenario);

/// The profile stated, or that of the cluster's GPU (of every group's GPU), with what was measured on the cluster's own
/// system; never silently another GPU's. `cluster`: its document, nothing when it was not sound.
void read_profile_part(const Node& root, const std::optional<Document>& cluster, job::Job& scenario);

}  // namespace foretoken::io
