// Reads the precision of a ConfigContainer.
#pragma once

#include <vector>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::bridge {

/// Keys of gradients: of the section of precision, and of ddp, which the section overwrites.
inline constexpr const char *kSectionReduces = "mixed_precision.grad_reduce_in_fp32",
                            *kDdpReduces = "ddp.grad_reduce_in_fp32",
                            *kOverwritten =
                                "mixed_precision.grad_reduce_in_fp32 overwrites it (mixed_precision.py, "
                                "setup)";

/// Adds the flags of the precision: those of the name or section `mixed_precision`. Where it is null or not there, the
/// switches of the model and of the optimizer state the type, and ddp states that of the gradients.
void add_precision(const Settings& settings, std::vector<Argument>& arguments);

/// Asks for the type of gradients that an override states in ddp alone.
void ask_for_gradients_of_recipe(const Settings& settings);

/// Assumes the default of ddp for gradients that nothing states, where `mixed_precision` is null.
void assume_gradients_of_ddp(const Settings& settings);

}  // namespace foretoken::io::launch::bridge
