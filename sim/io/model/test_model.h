// Reads a model from a text, for tests of its families.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/io/json/document.h"
#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"

namespace foretoken::io {

/// Returns the model of a configuration, and its complaints as lines.
inline model::Transformer read_model_text(const std::string& config, std::string& complaints) {
  Findings findings;
  const auto document = document_from_text(config, "t.json", findings);
  EXPECT_TRUE(document);
  model::Transformer model = read_model(document->root(findings), "t");
  complaints = lines_of(findings.complaints);
  return model;
}

}  // namespace foretoken::io
