// Lists the ways to lay a service out over GPUs: degrees of an instance, and how many instances there are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/serve/service.h"

namespace foretoken::study {

/// Degrees that every layout must have. None: free.
struct FixedDegrees {
  std::optional<int> tensor{}, pipeline{}, expert{}, attention_data{};
  [[nodiscard]] bool allow(const serve::Degrees& degrees) const;
};

/// The part of a service that times of passes depend on.
struct ServiceLayout {
  serve::WeightPrecision precision = serve::WeightPrecision::kBf16;
  serve::Pool pool{};  ///< unless disaggregated
  std::optional<serve::Disaggregated> disaggregated{};

  [[nodiscard]] int gpus() const;
  /// Writes itself into a service.
  void apply_to(serve::Service& service) const;
  friend bool operator==(const ServiceLayout&, const ServiceLayout&) = default;
};

/// Returns every valid pool of `gpus` GPUs; memory is not looked at. Experts are dealt out over all ranks of a stage or
/// over none, as engines do. Attention data is tried for models with experts. Of a dense model it would be instances.
/// A static batch runs on one instance.
[[nodiscard]] std::vector<serve::Pool> pools_on(const serve::Service& service, int gpus, const FixedDegrees& fixed);

/// Returns the ways to split `gpus` GPUs between prompts and decoding. Instances of either pool are cut as some of
/// `cuts`. The pool of prompts has whole instances, in steps of an eighth of the GPUs or more.
[[nodiscard]] std::vector<serve::Disaggregated> splits_of(int gpus, const std::vector<serve::Degrees>& cuts);

}  // namespace foretoken::study
