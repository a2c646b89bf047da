// Everything that moves between GPUs in a step: each collective and each message, described once.
//
// The lowering writes a row for each different operation, and gives its id to the tasks that carry it out. Costs,
// flows, byte tables, time splits, names and traces read the row. Nothing rebuilds it from the job.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/axis.h"
#include "sim/base/exchange.h"
#include "sim/base/ids.h"
#include "sim/base/kernel.h"
#include "sim/base/table.h"
#include "sim/des/time.h"
#include "sim/job/job.h"

namespace foretoken::step {

/// Names a row of the table of communications.
using CommunicationId = Id<struct CommunicationTag>;

/// The reason why ranks communicate.
enum class Purpose : std::uint8_t {
  kPass,                 ///< inside a pass: activations, keys and values, and their gradients
  kActivations,          ///< a message to the stage of the next layers
  kActivationGradients,  ///< a message to the stage of the layers before
  kNormGradients,        ///< norm weights are whole on every tensor rank; each rank had a part of the tokens
  kGradients,            ///< reduced over the replicas
  kParameters,           ///< gathered from the replicas
  kTiedEmbedding,        ///< the gradient of a token table that the first and the last stage hold
  kMovedActivations,     ///< activations that a partner stage keeps for a while
  kCopyGradients,        ///< reduced between two stages that hold the same layers, in two copies of the model
  kGradientNorm,         ///< gradient norm and overflow check over all ranks
  kHostCopy,             ///< between a GPU and its host, or the host and its disks
};

/// A way between a GPU and the memory outside it.
enum class HostPath : std::uint8_t { kToHost, kFromHost, kToDisk, kFromDisk };

/// A group of ranks on the nodes of one stage.
struct Site {
  Stage stage;  ///< a stage of the job; its nodes and its profile count
  GroupShape group;
  NodeLinks links;  ///< the links that the group has in a node
};

/// One operation that several ranks carry out together.
struct Communication {
  std::string_view name{};  ///< "reduce gradients"
  Purpose purpose = Purpose::kPass;
  std::optional<CollectiveKind> collective{};  ///< absent: a message from one rank to another
  std::optional<ExchangeShape> exchange{};     ///< tokens that a library of its own moves in the place of NCCL
  AxisSet axes{};                              ///< the axes in which the ranks of a group differ
  std::optional<Axis> counts_for{};            ///< the axis whose share of the step's time it is; absent: no axis
  Bytes payload{};                             ///< for a collective as in CollectiveShape
  Stage from{}, to{};       ///< sender and receiver, two stages that exchange, or twice the only stage
  bool all_stages = false;  ///< every stage takes part, not only these two
  Site site{};
  std::vector<Site> other_sites{};      ///< where the group spans nodes of several kinds; the slowest site counts
  Seconds overhead{};                   ///< before its bytes move
  double factor = 1;                    ///< factor of the runtime on the cost of moving the bytes
  std::optional<double> nics{};         ///< most NICs of a node that all such groups fill
  bool by_copy_engine = false;          ///< a copy from the memory of another GPU, not a message
  std::optional<HostPath> host_path{};  ///< of a copy between a GPU and its host; absent: between GPUs
  BytesPerSecond host_rate{};           ///< of such a copy
  des::Duration for_tensors{};          ///< added by a runtime that moves a unit tensor by tensor

  [[nodiscard]] bool involves(Stage stage) const { return all_stages || stage == from || stage == to; }
};

using Communications = Table<CommunicationId, Communication>;

/// Returns true for messages between pipeline stages.
[[nodiscard]] constexpr bool is_message(Purpose purpose) {
  return purpose == Purpose::kActivations || purpose == Purpose::kActivationGradients;
}

/// Returns the ranks that differ in `axes` on the nodes of `stage`. `part` is the job as it is on nodes of that kind.
[[nodiscard]] Site site_of(const job::Job& part, Stage stage, AxisSet axes);

/// Returns a message with sender and receiver only.
[[nodiscard]] Communication bare_message(Stage from, Stage to, Purpose purpose);

/// Returns the time of a communication that has its links to itself, on the profiles of `job`.
[[nodiscard]] des::Duration time_of(const Communication& row, const job::Job& job);

/// Returns the same time as Seconds, without `for_tensors`.
[[nodiscard]] Seconds cost_of(const Communication& row, const job::Job& job);

/// Returns the time before its bytes move: cost_of() a row without bytes.
[[nodiscard]] Seconds latency_of(const Communication& row, const job::Job& job);

/// Returns the time in which its bytes use their links. Between nodes it is all but the latency. Inside a node it is
/// inversely proportional to the rate of the links; the filling of pipelines, and slower protocols of small payloads,
/// count as latency.
[[nodiscard]] Seconds transfer_of(const Communication& row, const job::Job& job);

}  // namespace foretoken::step
