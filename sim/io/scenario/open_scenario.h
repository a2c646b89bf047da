// A scenario with keys left open: what it states is kept, the rest is for a search to choose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/io/json/document.h"
#include "sim/job/job.h"

namespace foretoken::io {

/// Which keys a search may choose: those that the scenario does not state.
struct OpenKeys {
  bool tensor = false, pipeline = false, virtual_pipeline = false, context = false, sequence_parallel = false;
  bool schedule = false, micro_batch = false, recompute = false, zero_stage = false;
};

class OpenScenario {
 public:
  OpenScenario(job::Job base, Document document);

  /// What is stated; open keys have harmless values, parallelism.data is 0 unless it is stated.
  [[nodiscard]] const job::Job& base() const { return base_; }
  [[nodiscard]] const OpenKeys& open() const { return open_; }
  /// The stated schedule; meaningless when it is open.
  [[nodiscard]] const std::string& stated_schedule() const { return base_.schedule.name; }

  /// Completes `scenario`, a copy of base() with open keys chosen, as reading its file would: the data-parallel degree
  /// and the overlaps that follow from other keys. Returns the rules of scenarios that do not hold; none: it is valid.
  [[nodiscard]] std::vector<Complaint> complete(job::Job& scenario) const;

  /// The scenario's JSON with the chosen keys of `scenario` written in; reading it gives `scenario`.
  [[nodiscard]] std::string text_of(const job::Job& scenario, int indent = -1) const;

  /// The JSON as it was asked: bases merged in, overrides applied, references absolute.
  [[nodiscard]] std::string question() const;

 private:
  void drop_idle_overlap(const job::Job& scenario, nlohmann::json& value) const;

  job::Job base_;
  Document document_;
  OpenKeys open_;
};

}  // namespace foretoken::io
