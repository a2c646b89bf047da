// Reads published measurements: validate/cases/SET.json. A row has its measured values and a scenario, or a launch file
// with overrides and what the file cannot say.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/io/json/data_path.h"

namespace foretoken::validate {

inline constexpr io::DataKind kCaseSets{"set of cases", "validate/cases"};

/// The published values of one run. At least one of them is known.
struct Measured {
  std::optional<Seconds> step_time;
  std::optional<Bytes> peak_memory;      ///< torch.cuda.max_memory_allocated of the fullest GPU
  std::optional<Bytes> last_stage_peak;  ///< the same for the last rank
  std::optional<Seconds> layer_forward, layer_backward;
  bool out_of_memory = false;  ///< the run failed because it needed more memory
};

struct Case {
  std::string id;
  std::string scenario;  ///< JSON text with the set's base merged in
  Measured measured;
  std::string quality;  ///< A: value and whole configuration published; B: a field or two inferred
  bool fitted = false;  ///< was used to fit a number of its runtime
  std::string notes;
};

struct CaseSet {
  std::string name, title, source, quality, notes;
  std::string residues;  ///< known reasons of the largest errors
  std::vector<Case> cases;

  /// Returns the source up to its first comma: "arXiv:2104.04473v5". Sets that share it are not independent.
  [[nodiscard]] std::string publication() const { return source.substr(0, source.find(',')); }
};

/// Returns the names of all sets, sorted.
[[nodiscard]] std::vector<std::string> case_set_names();

/// Reads a set by name or path. Throws ConfigError with every complaint.
[[nodiscard]] CaseSet read_case_set(const std::string& name_or_path);

}  // namespace foretoken::validate
