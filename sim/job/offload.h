// Offloading: the parts of a job's memory that stand on the host or on its disks instead of the GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace foretoken::job {

/// A place for bytes outside the GPU.
enum class Tier : std::uint8_t { kHost, kDisk };

/// A part of one kind of memory that stands outside the GPU: a fraction of all of it, or the first layers of a chunk.
struct Offloaded {
  double fraction = 0;          ///< of every layer; not read where layers are stated
  std::optional<int> layers{};  ///< whole layers, counted from the first of each chunk
  Tier to = Tier::kHost;

  [[nodiscard]] bool any() const { return layers ? *layers > 0 : fraction > 0; }
  /// Returns the part of a layer, numbered in its chunk, that moves.
  [[nodiscard]] double of_layer(int layer) const { return layers ? (layer < *layers ? 1.0 : 0.0) : fraction; }
  /// Returns the part of blocks that are no layers: embedding and head.
  [[nodiscard]] double of_ends() const { return layers ? 0 : fraction; }
  friend bool operator==(const Offloaded&, const Offloaded&) = default;
};

/// The offloading of a job, and of a question.
struct Offload {
  Offloaded optimizer, parameters, activations;
  /// The update of one step runs on the host beside the passes of the next one, which use weights one update old
  /// (ZeRO-Offload's delayed parameter update, arXiv:2101.06840, section 5.2).
  bool delayed_update = false;

  [[nodiscard]] bool any() const { return optimizer.any() || parameters.any() || activations.any(); }
  [[nodiscard]] bool uses_disks() const {
    const auto on_disk = [](const Offloaded& part) { return part.any() && part.to == Tier::kDisk; };
    return on_disk(optimizer) || on_disk(parameters) || on_disk(activations);
  }
  friend bool operator==(const Offload&, const Offload&) = default;
};

/// The parts of Offload by their keys in a scenario.
inline constexpr std::array kOffloadedParts{std::pair{std::string_view("optimizer"), &Offload::optimizer},
                                            std::pair{std::string_view("parameters"), &Offload::parameters},
                                            std::pair{std::string_view("activations"), &Offload::activations}};

/// The offloading that a runtime can do, and its speed.
struct OffloadSupport {
  bool optimizer = false, parameters = false, activations = false, disks = false, delayed_update = false;
  /// Gradients leave for the host while the backward pass makes them, and do not stay on the GPU. Otherwise they leave
  /// after the last backward pass.
  bool streams_gradients = false;
  bool overlaps_update = false;  ///< copies run beside the update on the host, piece by piece
  /// Traffic of host memory that takes as long as the update of one parameter on the host, at the datasheet's rate.
  double host_update_bytes = 0;
};

}  // namespace foretoken::job
