// Reads the cluster and the profile of a scenario: one kind of node, or groups of several (docs/decisions/0007).
#pragma once

#include <optional>

#include "sim/io/json/document.h"
#include "sim/job/question.h"

namespace foretoken::io {

/// Reads the cluster, or its groups. Returns the cluster's document.
std::optional<Document> read_cluster_part(const Node& root, job::Question& question);

/// Reads the stated profile, or else the profile of the cluster's GPU (of every group's GPU). Adds the curves measured
/// on the cluster's own system. Never takes another GPU's profile silently. `cluster` is the document of the cluster,
/// or nothing when that was wrong.
void read_profile_part(const Node& root, const std::optional<Document>& cluster, job::Question& question);

/// Gives a GPU's profile a law for products in `precision` (tf32 or fp32), where the GPU has that rate.
void lend_wide_products(const net::Gpu& gpu, Precision precision, cost::Profile& profile);

/// Gives the profiles laws for products of 32-bit elements, where the question asks for them and the GPU has their
/// rate.
void lend_wide_products(job::Question& question);

}  // namespace foretoken::io
