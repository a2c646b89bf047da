// The place of a run among all runs: the properties that change its step time, and the distance between two places.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "sim/base/word.h"

namespace foretoken::trust {

/// The properties of a run. Every key of a scenario that changes the step time changes one of them, or a rate that one
/// of them names.
struct Place {
  // Properties that a question states. They are equal for all configurations that a search compares.
  Word gpu;               ///< kind: "a100"; "a100+h100" of several
  Word architecture;      ///< "ampere"
  Word runtime;           ///< "megatron-2022"
  double year = 0;        ///< of the runtime's software; 0: not stated
  Word layers = "dense";  ///< kinds of layers: "dense", "dense+moe"
  Word heads;             ///< "all" or "grouped" key and value heads
  Word mlp;               ///< "plain" or "gated"
  double parameters = 1;
  // Properties of one configuration.
  double bits = 16;  ///< of an element in matrix products
  Word board;        ///< "sxm", "pcie"
  Word fabric;       ///< kind of network between nodes
  Word recipe;       ///< bytes of weight, gradient, master copy and moments of a parameter; recipe of fp8
  Word attention, exchange, recompute, schedule, zero, sequence_parallel;
  Word grad_reduce, param_gather, p2p;  ///< overlap: "on" or "off"
  Word tensor_overlap;                  ///< "off", "userbuffers" or "micro-pipeline"
  Word graphs, compile;                 ///< CUDA graphs: "none", "layer", "full"; PyTorch's compiler: "on" or "off"
  Word routing;                         ///< of tokens to experts: dispatcher, capacity, imbalance; "none" without
  Word dropout, hardware;               ///< hardware: "even" or "uneven"
  double gpus = 1, domain = 1, network = 1;  ///< domain: GPUs that NVLink joins; network: GB/s of a GPU
  double sequence = 1, micro = 1, microbatches = 1;
  double tensor = 1, context = 1, pipeline = 1, chunks = 1, expert = 1, expert_tensor = 1;
};

/// The way in which the values of a key differ.
enum class Scale : std::uint8_t {
  kKind,      ///< another value is a step of full weight: another GPU, runtime or precision
  kSwitch,    ///< another value is a step of less weight: recomputation on or off
  kYear,      ///< a switch for each year
  kDoubling,  ///< each doubling counts
};

struct PlaceKey {
  std::string_view name;   ///< in validate/residuals.json: "sequence"
  std::string_view words;  ///< "sequence length"
  Scale scale;
  bool is_of_question;  ///< one value for every configuration that a search compares
  std::variant<Word Place::*, double Place::*> member;
};

/// Every member of Place.
[[nodiscard]] std::span<const PlaceKey> place_keys();

/// Returns the value of a key as text: "8192".
[[nodiscard]] std::string value_of(const PlaceKey& key, const Place& place);

/// The differences between two places, counted by their scale.
struct Steps {
  double kinds = 0, switches = 0, doublings = 0;  ///< a year is a switch
};

/// Returns how far two values of one key stand apart: 0 when they are equal.
[[nodiscard]] double steps_of(const PlaceKey& key, const Place& a, const Place& b);

/// Returns the steps of all keys, or only of the keys that a question states.
[[nodiscard]] Steps steps_between(const Place& a, const Place& b, bool of_question_alone = false);

/// The weights of switches and doublings. A step to another kind weighs 1.
struct Weights {
  double one_switch = 0.5, doubling = 0.25;

  [[nodiscard]] double distance(const Steps& steps) const {
    return steps.kinds + one_switch * steps.switches + doubling * steps.doublings;
  }
};

/// Returns the weighted distance between two places, or nothing where it is above `most`. It compares kinds first, and
/// takes logarithms only where these are near enough.
[[nodiscard]] std::optional<double> distance_within(double most, const Weights& weights, const Place& a,
                                                    const Place& b);

/// Returns true for places of one kind of GPU, runtime and width of elements.
[[nodiscard]] bool same_kind(const Place& a, const Place& b);

/// Returns the kind of its GPUs as text shows it: "A100".
[[nodiscard]] std::string shown_kind(const Place& place);

/// Returns " in 8 bits" for places whose elements do not have 16 bits, otherwise nothing.
[[nodiscard]] std::string shown_bits(const Place& place);

}  // namespace foretoken::trust
