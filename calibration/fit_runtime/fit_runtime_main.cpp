// foretoken-fit-runtime: fits the numbers of a runtime as a request file says, and prints their errors.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "calibration/fit_runtime/runtime_fit.h"
#include "validate/statistics.h"

namespace foretoken::fit {
namespace {

void print_errors(const char* what, const std::vector<double>& errors) {
  const validate::Spread spread = validate::spread_of(errors);
  fmt::print("{:<10} {} steps: mean {:.1f} %, median {:.1f} %, p90 {:.1f} %, worst {:.1f} %, bias {:+.1f} %\n", what,
             spread.count, 100 * spread.mean, 100 * spread.median, 100 * spread.p90, 100 * spread.worst,
             100 * spread.bias);
}

int run(const char* path) {
  const RuntimeFitRequest request = read_runtime_fit(path);
  const RuntimeFit fit = fit_runtime(request);
  fmt::print("{}, {} folds\n", request.runtime, request.folds);
  for (std::size_t i = 0; i < request.numbers.size(); ++i) {
    fmt::print("  {:<28} {:<10.4g} without a fold:", request.numbers[i].name, fit.values[i]);
    for (const auto& values : fit.fold_values) fmt::print(" {:.4g}", values[i]);
    fmt::print("\n");
  }
  print_errors("in sample", fit.in_sample);
  print_errors("held out", fit.held_out);
  return 0;
}

}  // namespace
}  // namespace foretoken::fit

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: foretoken-fit-runtime REQUEST.json (calibration/runtime_fits)\n");
    return 2;
  }
  try {
    return foretoken::fit::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
