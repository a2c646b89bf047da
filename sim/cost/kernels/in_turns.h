// The time of products on two streams, each of which takes turns between a product and a copy.
#pragma once

#include <algorithm>

#include "sim/base/units.h"

namespace foretoken::cost {

/// Times of equal products on one GPU.
struct ProductTimes {
  Seconds one;   ///< alone
  Seconds both;  ///< two at once, which share the last wave of tiles
};

/// Time of each of many equal products beside its copy, which takes `copying`.
///
///   t = max(T2 / 2, min(T1, (T1 + c) / 2))
///
/// Two products run at once, so two take T2 at least. Each stream has a product and then a copy, so two of them take
/// T1 + c. Copies run one at a time: a copy longer than a product sets the pace itself, and the last product then takes
/// T1.
///
/// Source: the two streams of pytorch/pytorch 006b161f, torch/distributed/_symmetric_memory/__init__.py. Holds for:
/// products that fill the GPU (T2 = 2 T1), or leave room for a second one (T2 = T1). Error: not measured between the
/// two.
[[nodiscard]] constexpr Seconds product_time_in_turns(ProductTimes products, Seconds copying) {
  const Seconds both = std::min(products.both, 2 * products.one);
  return std::max(0.5 * both, std::min(products.one, 0.5 * (products.one + copying)));
}

}  // namespace foretoken::cost
