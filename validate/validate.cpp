// Reads, evaluates and checks the sets, one after the other.
#include "validate/validate.h"

#include <filesystem>

#include "sim/base/error.h"

namespace foretoken::validate {
namespace {

std::filesystem::path bounds_file() {
  constexpr io::DataKind kBounds{"bounds", "validate"};
  const auto file = io::find_data_file(kBounds, "bounds");
  if (!file) throw ConfigError({{"bounds", "", io::unknown_name(kBounds, "bounds")}});
  return *file;
}

}  // namespace

Validation run_validation(const std::vector<std::string>& sets, std::size_t stride) {
  const Bounds bounds = read_bounds(bounds_file());
  Validation validation;
  for (const std::string& name : sets.empty() ? case_set_names() : sets) {
    validation.sets.push_back(evaluate(read_case_set(name), stride));
    if (stride > 1) continue;
    for (std::string& sentence : broken_bounds(validation.sets.back(), bounds))
      validation.broken.push_back(std::move(sentence));
  }
  if (sets.empty() && stride == 1) validation.intervals = check_intervals(validation.sets);
  return validation;
}

}  // namespace foretoken::validate
