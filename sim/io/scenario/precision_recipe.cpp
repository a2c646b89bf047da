// The choice of a mixed-precision recipe.
#include "sim/io/scenario/precision_recipe.h"

namespace foretoken::io {

job::PrecisionRecipe default_recipe(Precision precision, const job::Runtime& runtime) {
  const bool fp16 = precision == Precision::kFp16;
  const double reduced = fp16 ? runtime.fp16_gradient_bytes : runtime.bf16_gradient_bytes;
  job::PrecisionRecipe recipe;
  const bool both = runtime.keeps_16bit_gradients || (fp16 && reduced == 2);
  recipe.gradient_bytes = both ? 4 : reduced;
  recipe.extra_gradient_bytes = both ? 2 : 0;
  return recipe;
}

double bytes_per_parameter(const job::PrecisionRecipe& recipe) {
  return recipe.weight_bytes + recipe.gradient_bytes + recipe.extra_gradient_bytes + recipe.master_bytes +
         recipe.moment_bytes;
}

}  // namespace foretoken::io
