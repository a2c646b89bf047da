// Checks the heads of encoders.
#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {

void check_heads(Draft& draft) {
  const model::Transformer& model = draft.job.model;
  if (draft.job.batch.masked_fraction && !(model.encoder && model.encoder->masked_head))
    draft.complain("/batch/masked_fraction",
                   fmt::format("expected only for a model that predicts masked tokens, found it for {}; remove it",
                               in_quotes(model.name)));
  if (model.encoder && !model.encoder->trains())
    draft.complain("/model", fmt::format("model {} has no head to train; try a class with a head, such as "
                                         "\"architectures\": [\"BertForMaskedLM\"]",
                                         in_quotes(model.name)));
}

}  // namespace foretoken::job
