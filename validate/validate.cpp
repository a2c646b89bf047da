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

Validation run_validation(const std::vector<std::string>& sets, std::size_t stride, const Watch& watch) {
  const Bounds bounds = read_bounds(bounds_file());
  Validation validation;
  std::vector<CaseSet> asked;
  std::size_t total = 0, done = 0;
  for (const std::string& name : sets.empty() ? case_set_names() : sets) {
    asked.push_back(read_case_set(name));
    total += (asked.back().cases.size() + stride - 1) / stride;
  }
  watch.show(0, total);
  for (CaseSet& set : asked) {
    const Watch counted{.progress = [&](std::size_t rows, std::size_t) { watch.show(done + rows, total); },
                        .stop = watch.stop};
    const std::size_t whole = (set.cases.size() + stride - 1) / stride;
    SetResult result = evaluate(std::move(set), stride, counted);
    done += result.cases.size();
    const bool complete = result.cases.size() == whole;
    if (!result.cases.empty()) validation.sets.push_back(std::move(result));
    if (!complete) return validation;
    if (stride > 1) continue;
    for (std::string& sentence : broken_bounds(validation.sets.back(), bounds))
      validation.broken.push_back(std::move(sentence));
  }
  if (sets.empty() && stride == 1) validation.intervals = check_intervals(validation.sets);
  return validation;
}

}  // namespace foretoken::validate
