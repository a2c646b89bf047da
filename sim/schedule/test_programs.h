// Programs for tests: from texts, from golden files, and with a split backward pass.
#pragma once

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/schedule/op_text.h"
#include "sim/schedule/schedule.h"

namespace foretoken::schedule {

inline StageProgram ops_of(const std::string& text) {
  StageProgram ops;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    for (const StageOp& op : parse_word(word)) ops.push_back(op);
  return ops;
}

/// Builds a program from one string of ops a stage.
inline Program program_of(Placement placement, const std::vector<std::string>& stages) {
  Program program{.placement = std::move(placement), .stages = {}};
  for (const std::string& text : stages) program.stages.push_back(ops_of(text));
  return program;
}

inline nlohmann::json golden_file(const std::string& name) {
  std::ifstream file(std::string(FORETOKEN_SOURCE_DIR) + "/sim/schedule/testdata/" + name);
  return nlohmann::json::parse(file);
}

inline PipelineShape shape_of(const nlohmann::json& row) {
  const bool grouped = row.contains("group") && !row.at("group").is_null();
  return {.stages = row.at("p"),
          .microbatches = row.at("m"),
          .chunks = row.at("v"),
          .group = grouped ? row.at("group").get<int>() : 0};
}

/// Builds a golden case with a placement of its own. The micro-batches of DualPipe's second way are numbered from 0
/// there, and after those of the first way here.
inline Program golden_program(const nlohmann::json& row) {
  const PipelineShape shape = shape_of(row);
  const std::string name = row.at("schedule");
  const bool two_way = name == "chimera" || name == "dualpipe";
  Program program{.placement = two_way             ? Placement::two_way(shape.stages)
                               : shape.chunks == 2 ? Placement::v_shaped(shape.stages)
                                                   : Placement::looped(shape.stages, 1),
                  .stages = {}};
  for (const auto& order : row.at("orders")) {
    StageProgram& ops = program.stages.emplace_back();
    for (const std::string text : order)
      for (const StageOp& op : parse_word(text)) ops.push_back(op);
    if (name != "dualpipe") continue;
    for (StageOp& op : ops)
      if (op.chunk == Chunk{1}) op.microbatch = id_of<MicroBatch>(op.microbatch.number() + shape.microbatches / 2);
  }
  return program;
}

/// The order of ZB-H1 (arXiv:2401.10241): 1F1B with every backward pass split. Stage r delays its backwards for weight
/// by r micro-batches. With passes F, I, W and messages of no time the makespan is m (F + I + W) + (p - 1) (F + I - W).
inline Program split_1f1b(PipelineShape shape) {
  Program program{.placement = Placement::looped(shape.stages, 1), .stages = {}};
  for (const Stage stage : ids<Stage>(shape.stages)) {
    StageProgram& ops = program.stages.emplace_back();
    const int warm_up = std::min(shape.stages - 1 - stage.number(), shape.microbatches);
    int forwards = 0, weights = 0;
    const auto add = [&ops](OpKind kind, int microbatch) { ops.push_back({kind, id_of<MicroBatch>(microbatch)}); };
    while (forwards < warm_up) add(OpKind::kForward, forwards++);
    for (int backward = 0; backward < shape.microbatches; ++backward) {
      if (forwards < shape.microbatches) add(OpKind::kForward, forwards++);
      add(OpKind::kBackwardInput, backward);
      if (backward >= stage.number()) add(OpKind::kBackwardWeight, weights++);
    }
    while (weights < shape.microbatches) add(OpKind::kBackwardWeight, weights++);
  }
  return program;
}

/// Two chunks a stage in V placement: all forwards, then all backwards, each backward pass split.
inline Program split_v(PipelineShape shape) {
  Program program{.placement = Placement::v_shaped(shape.stages), .stages = {}};
  program.stages.resize(static_cast<std::size_t>(shape.stages));
  for (StageProgram& ops : program.stages)
    for (const auto& [kind, chunk] : {std::pair{OpKind::kForward, 0U},
                                      {OpKind::kForward, 1U},
                                      {OpKind::kBackwardInput, 1U},
                                      {OpKind::kBackwardInput, 0U},
                                      {OpKind::kBackwardWeight, 1U},
                                      {OpKind::kBackwardWeight, 0U}})
      for (const MicroBatch microbatch : ids<MicroBatch>(shape.microbatches))
        ops.push_back({kind, microbatch, Chunk{chunk}});
  return program;
}

/// Both programs as schedules that no catalogue holds.
inline Schedule split_1f1b_schedule() {
  return {.name = "split-1f1b",
          .description = "1F1B with a split backward pass",
          .splits_backward = true,
          .build = split_1f1b};
}
inline Schedule split_v_schedule() {
  return {.name = "split-v",
          .description = "forwards, then split backwards, over two chunks in V placement",
          .interleaves = true,
          .splits_backward = true,
          .build = split_v,
          .place = [](PipelineShape shape) { return Placement::v_shaped(shape.stages); }};
}

}  // namespace foretoken::schedule
