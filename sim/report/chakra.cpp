// Writes protocol buffers by hand: a handful of fields needs no library.
#include "sim/report/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/base/check.h"

namespace foretoken::report {
namespace {

using step::Communication;
using step::Meaning;
using step::TaskMeaning;

// Values of NodeType and CollectiveCommType.
enum NodeType : std::uint64_t { kComp = 4, kSend = 5, kRecv = 6, kCollective = 7 };
constexpr std::uint64_t comm_type(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 0;
    case CollectiveKind::kReduce:
      return 1;
    case CollectiveKind::kAllGather:
      return 2;
    case CollectiveKind::kBroadcast:
      return 5;
    case CollectiveKind::kAllToAll:
      return 6;
    case CollectiveKind::kReduceScatter:
      return 7;
  }
  return 0;
}

// Appends fields of one message. A field is a tag, its number and its wire type, and a value.
class Message {
 public:
  void whole(std::uint64_t field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
  }
  void text(std::uint64_t field, std::string_view value) {
    varint(field << 3U | 2U);
    varint(value.size());
    bytes_ += value;
  }
  // An AttributeProto as field 10 of a node: its name, and a value in the field of its type.
  void attribute(std::string_view name, std::uint64_t type_field, std::uint64_t value) {
    Message attribute;
    attribute.text(1, name);
    attribute.whole(type_field, value);
    text(10, attribute.bytes());
  }
  void attribute(std::string_view name, std::string_view value) {
    constexpr std::uint64_t kString = 29;
    Message attribute;
    attribute.text(1, name);
    attribute.text(kString, value);
    text(10, attribute.bytes());
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // Returns the message after its length.
  [[nodiscard]] std::string delimited() const {
    Message length;
    length.varint(bytes_.size());
    return length.bytes_ + bytes_;
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

constexpr std::uint64_t kInt32 = 7, kInt64 = 9, kBool = 27;

bool is_message_row(const Communication* row) { return row != nullptr && !row->collective && is_message(row->purpose); }

std::uint64_t whole_bytes(Bytes bytes) { return static_cast<std::uint64_t>(std::llround(bytes.value())); }

std::string_view node_name(const Meaning& meaning, const step::Workload& workload) {
  return meaning.op != nullptr ? meaning.op->name : step::name_of(meaning, workload);
}

}  // namespace

ChakraTraces::ChakraTraces(const job::Job& job, const step::LoweredStep& step, std::string version)
    : job_(job), step_(step), version_(std::move(version)), grid_(job.grid()) {
  const des::TaskGraph& graph = step.workload.graph;
  before_.resize(graph.tasks());
  for (std::uint32_t task = 0; task < graph.tasks(); ++task)
    graph.for_each_successor({task}, [&](des::TaskId after) { before_[after.value].push_back(task); });
}

double ChakraTraces::nodes() const {
  return static_cast<double>(before_.size()) / job_.parallelism.pipeline * job_.gpus;
}

// A message belongs to its sender here; receives() gives its other end.
bool ChakraTraces::has(std::uint32_t task, Stage stage) const {
  const Meaning& meaning = step_.workload.meaning[task];
  const Communication* row = step_.workload.communication_of(meaning);
  if (meaning.kind != TaskMeaning::kCommunication || row == nullptr || is_message_row(row))
    return meaning.stage == stage;
  return row->involves(stage);
}

bool ChakraTraces::receives(std::uint32_t task, Stage stage) const {
  const Meaning& meaning = step_.workload.meaning[task];
  const Communication* row = step_.workload.communication_of(meaning);
  return is_message_row(row) && row->to == stage && row->from != stage;
}

std::string ChakraTraces::pg_name(const Communication& row, bool in_pass, Rank rank) {
  std::vector<Rank> members;
  if (!in_pass && row.all_stages) {
    for (const Rank each : ids<Rank>(job_.gpus)) members.push_back(each);
  } else if (!in_pass && row.from != row.to) {
    const StageRank at = grid_.stage_rank_of(rank);
    members = {grid_.rank_of(row.from, at), grid_.rank_of(row.to, at)};
    std::sort(members.begin(), members.end());
  } else {
    const net::RankGroups groups = grid_.groups(row.axes);
    members = groups.members(groups.first_of(rank));
  }
  auto found = std::find(groups_.begin(), groups_.end(), members);
  if (found == groups_.end()) found = groups_.insert(groups_.end(), std::move(members));
  return std::to_string(found - groups_.begin() + 1);
}

std::string ChakraTraces::node_of(std::uint32_t task, Rank rank, double& rounding) {
  const step::Workload& workload = step_.workload;
  const Stage stage = grid_.stage_of(rank);
  const Meaning& meaning = workload.meaning[task];
  const Communication* row = workload.communication_of(meaning);
  const bool message = is_message_row(row), receiver = message && receives(task, stage);
  const bool collective = row != nullptr && row->collective.has_value();
  Message node;
  node.whole(1, task + 1ULL);  // ids start at 1: an id of 0 is the default, which readers may drop
  node.text(2, node_name(meaning, workload));
  node.whole(3, receiver ? kRecv : message ? kSend : collective ? kCollective : kComp);
  for (const std::uint32_t before : before_[task]) {
    if (receiver ? receives(before, stage) : has(before, stage) || receives(before, stage))
      node.whole(5, before + 1ULL);
  }
  if (!message && !collective) {
    const double exact = static_cast<double>(workload.graph.duration({task}).ps) * 1e-6 + rounding;
    const double rounded = std::max(0.0, std::round(exact));
    rounding = exact - rounded;
    node.whole(7, static_cast<std::uint64_t>(rounded));
  }
  node.attribute("is_cpu_op", kBool, 0);
  if (collective) {
    node.attribute("comm_type", kInt64, comm_type(*row->collective));
    node.attribute("pg_name", pg_name(*row, meaning.kind == TaskMeaning::kPass, rank));
  }
  if (message) {
    const StageRank at = grid_.stage_rank_of(rank);
    node.attribute("comm_src", kInt32, grid_.rank_of(row->from, at).value);
    node.attribute("comm_dst", kInt32, grid_.rank_of(row->to, at).value);
    node.attribute("comm_tag", kInt32, task + 1ULL);
  }
  if (message || collective) node.attribute("comm_size", kInt64, whole_bytes(row->payload));
  return node.delimited();
}

std::string ChakraTraces::trace_of(Rank rank) {
  const Stage stage = grid_.stage_of(rank);
  Message metadata;
  metadata.text(1, "0.0.4");
  Message program;
  program.text(1, "foretoken");
  program.text(29, version_);
  metadata.text(2, program.bytes());
  std::string trace = metadata.delimited();
  double rounding = 0;
  for (std::uint32_t task = 0; task < before_.size(); ++task)
    if (has(task, stage) || receives(task, stage)) trace += node_of(task, rank, rounding);
  return trace;
}

std::string ChakraTraces::groups_json() const {
  std::string text = "{";
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    text += fmt::format("{}\n  \"{}\": [", group == 0 ? "" : ",", group + 1);
    for (std::size_t at = 0; at < groups_[group].size(); ++at)
      text += fmt::format("{}{}", at == 0 ? "" : ", ", groups_[group][at].number());
    text += "]";
  }
  return text + "\n}\n";
}

}  // namespace foretoken::report
