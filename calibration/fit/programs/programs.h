// The kinds of fits that foretoken-fit makes. Each has a namespace of its own, since a build may compile them as one
// file.
#pragma once

namespace foretoken::fit {

// Each runs `foretoken-fit KIND` on its own arguments, with the kind's name in argv[0]. Returns the exit status. Throws
// ConfigError and std::exception on bad input.
namespace collectives_program {
int run(int argc, char** argv);
}
namespace experts_program {
int run(int argc, char** argv);
}
namespace products_program {
int run(int argc, char** argv);
}
namespace profiles_program {
int run(int argc, char** argv);
}
namespace serving_program {
int run(int argc, char** argv);
}

}  // namespace foretoken::fit
