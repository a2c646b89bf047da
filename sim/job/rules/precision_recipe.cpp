// Chooses a mixed-precision recipe.
#include "sim/job/rules/precision_recipe.h"

namespace foretoken::job {

PrecisionRecipe default_recipe(Precision precision, const Runtime& runtime) {
  const bool fp16 = precision == Precision::kFp16;
  const double reduced = fp16 ? runtime.fp16_gradient_bytes : runtime.bf16_gradient_bytes;
  PrecisionRecipe recipe;
  if (is_wide(precision)) {  // the weights are their own masters
    recipe.weight_bytes = 4;
    recipe.master_bytes = 0;
    return recipe;
  }
  const bool both = runtime.keeps_16bit_gradients || (fp16 && reduced == 2);
  recipe.gradient_bytes = both ? 4 : reduced;
  recipe.extra_gradient_bytes = both ? 2 : 0;
  recipe.reduce_bytes = runtime.fully_sharded ? recipe.gradient_bytes : reduced;
  return recipe;
}

double bytes_per_parameter(const PrecisionRecipe& recipe) {
  return recipe.weight_bytes + recipe.gradient_bytes + recipe.extra_gradient_bytes + recipe.master_bytes +
         recipe.moment_bytes;
}

}  // namespace foretoken::job
