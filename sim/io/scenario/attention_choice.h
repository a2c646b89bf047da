// The kinds of attention that scenarios and runtimes may name.
#pragma once

#include "sim/io/json/node.h"
#include "sim/model/layer_ops.h"

namespace foretoken::io {

struct AttentionChoice {
  model::AttentionKind kind = model::AttentionKind::kFlash;
  FlashKernel kernel = FlashKernel::kFastest;
};

inline AttentionChoice attention_or(const Node& node, std::string_view key, AttentionChoice fallback) {
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
