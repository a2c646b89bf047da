// Reads the kind of attention that a scenario or a runtime names.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/runtime.h"

namespace foretoken::io {

inline job::AttentionChoice attention_or(const Node& node, std::string_view key, job::AttentionChoice fallback) {
  using job::AttentionChoice;
  using enum FlashKernel;
  using model::AttentionKind;
  return node.one_of_or<AttentionChoice>(key, fallback,
                                         {{"unfused", {AttentionKind::kUnfused, kFastest}},
                                          {"flash", {AttentionKind::kFlash, kFastest}},
                                          {"flash-2", {AttentionKind::kFlash, kFlash2}},
                                          {"flash-1", {AttentionKind::kFlash, kFlash1}},
                                          {"flash-triton", {AttentionKind::kFlash, kTriton}}});
}

}  // namespace foretoken::io
