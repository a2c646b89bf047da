// Finds the sizes of published names in the table that launch files use.
#include "sim/io/import/published_model.h"

#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/names/stored_weights.h"

namespace foretoken::io {

std::optional<Document> published_model(const std::string& name, Findings& findings) {
  const bool states_format = launch::holds_four_bits(name) || launch::holds_eight_bits(name) ||
                             launch::holds_fp8(name) || !launch::other_library_in(name).empty();
  const auto known = states_format ? std::nullopt : launch::model_of_name(name);
  if (!known || !known->base.empty()) return std::nullopt;  // a fine-tuned model's name is not the model's
  std::vector<std::string>& notes = findings.notes.assumptions;
  if (!known->model.is_string()) {
    notes.push_back(fmt::format("model {} has the sizes of its published config.json", in_quotes(name)));
    return Document{known->model, Source{.file = printable(name)}, "", printable(name)};
  }
  const std::string shipped = known->model.get<std::string>();
  const auto path = find_data_file(kModels, shipped);
  if (!path) return std::nullopt;
  notes.push_back(fmt::format("model {} has the sizes of {}", in_quotes(name), in_quotes(shipped)));
  return document_from_file(*path, findings);
}

}  // namespace foretoken::io
