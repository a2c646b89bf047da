// Helps tests: parameter counts of published configurations.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {

/// The fields of a published config.json, and the parameters of its model with tied embeddings counted once.
struct PublishedConfig {
  const char* name;  ///< on huggingface.co, the source of the config
  const char* config;
  std::int64_t parameters;
};

/// Expects that every config is read without a complaint and gives its count.
inline void expect_parameters(std::span<const PublishedConfig> all) {
  for (const PublishedConfig& published : all) {
    SCOPED_TRACE(published.name);
    model::Transformer model;
    EXPECT_EQ(complaints_of(published.config, [&](const Node& root) { model = read_model(root, "t"); }), "");
    EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(model)), published.parameters);
  }
}

}  // namespace foretoken::io
