// foretoken-fit KIND: makes the fits of shipped profiles, curves and laws again (docs/modeller/calibration.md).
#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "calibration/fit/programs/programs.h"

namespace foretoken::fit {
namespace {

struct Kind {
  std::string_view name;
  int (*run)(int, char**);
};

constexpr std::array kKinds{Kind{"profiles", profiles_program::run}, Kind{"collectives", collectives_program::run},
                            Kind{"serving", serving_program::run}, Kind{"experts", experts_program::run},
                            Kind{"products", products_program::run}};

int run_kind(int argc, char** argv) {
  for (const Kind& kind : kKinds)
    if (argc > 1 && kind.name == argv[1]) return kind.run(argc - 1, argv + 1);
  std::fputs("usage: foretoken-fit KIND [OPTIONS]; --help of each kind tells its options\nkinds:", stderr);
  for (const Kind& kind : kKinds) std::fprintf(stderr, " %s", kind.name.data());
  std::fputs("\n", stderr);
  return 2;
}

}  // namespace
}  // namespace foretoken::fit

int main(int argc, char** argv) {
  try {
    return foretoken::fit::run_kind(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
