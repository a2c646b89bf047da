// Writes a step as Chakra execution traces, one for each rank, as ASTRA-sim and other simulators read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/des/engine.h"
#include "sim/step/lower.h"

namespace foretoken::report {

/// Makes the traces of one step.
///
/// Format: mlcommons/chakra, schema/protobuf/et_def.proto: a GlobalMetadata, then Nodes, each after its length.
///   COMP_NODE       a pass, or at kernel fidelity a kernel; duration_micros is its time
///   COMM_COLL_NODE  comm_type, comm_size (bytes as nccl-tests counts sizes), pg_name (a key of groups_json)
///   COMM_SEND_NODE, COMM_RECV_NODE  comm_src, comm_dst, comm_tag, comm_size
/// Dependencies are those of the task graph, with the order of each stream. Durations are whole microseconds, and what
/// rounding takes from a node the next one gets. At stage fidelity collectives inside passes are part of them.
class ChakraTraces {
 public:
  /// The arguments must outlive the traces. Precondition: a folded step.
  ChakraTraces(const job::Job& job, const step::LoweredStep& step, std::string version);

  /// Returns the bytes of the trace of `rank`. Groups are numbered in the order in which ranks first name them.
  [[nodiscard]] std::string trace_of(Rank rank);
  /// Returns the groups that the traces so far name, as ASTRA-sim reads them: {"1": [0, 1, 2, 3]}.
  [[nodiscard]] std::string groups_json() const;
  /// Returns the number of nodes of all ranks, roughly: tasks of a stage times ranks.
  [[nodiscard]] double nodes() const;

 private:
  [[nodiscard]] std::string node_of(std::uint32_t task, Rank rank, double& rounding);
  [[nodiscard]] std::string pg_name(const step::Communication& row, bool in_pass, Rank rank);
  [[nodiscard]] bool has(std::uint32_t task, Stage stage) const;
  [[nodiscard]] bool receives(std::uint32_t task, Stage stage) const;

  const job::Job& job_;
  const step::LoweredStep& step_;
  std::string version_;
  net::RankGrid grid_;
  std::vector<std::vector<std::uint32_t>> before_;  // by task: the tasks that it waits for
  std::vector<std::vector<Rank>> groups_;
};

}  // namespace foretoken::report
