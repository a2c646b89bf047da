// Reading published tables.
#include "calibration/fit/recipes/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "calibration/import/csv.h"
#include "sim/base/parse_number.h"

namespace foretoken::fit {
namespace {

using Fields = std::vector<std::string>;

std::ifstream opened(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be read", path.string()));
  return in;
}

nlohmann::json parsed(const std::filesystem::path& path) {
  std::ifstream in = opened(path);
  try {
    return nlohmann::json::parse(in);
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

/// Rows of a CSV file by column name.
class Csv {
 public:
  explicit Csv(const std::filesystem::path& path) : path_(path), in_(opened(path)) {
    std::string line;
    std::getline(in_, line);
    const Fields names = measured::split_csv(line);
    for (std::size_t i = 0; i < names.size(); ++i) columns_[names[i]] = i;
  }
  bool next() {
    std::string line;
    if (!std::getline(in_, line)) return false;
    ++number_;
    fields_ = measured::split_csv(line);
    return true;
  }
  const std::string& text(const std::string& column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end() || found->second >= fields_.size())
      throw std::runtime_error(fmt::format("{}:{}: no column {}", path_.string(), number_ + 1, column));
    return fields_[found->second];
  }
  double number(const std::string& column) const {
    if (const auto value = parse_number<double>(text(column))) return *value;
    throw std::runtime_error(fmt::format("{}:{}: {} is not a number", path_.string(), number_ + 1, column));
  }
  std::int64_t integer(const std::string& column) const { return static_cast<std::int64_t>(number(column)); }

 private:
  std::filesystem::path path_;
  std::ifstream in_;
  std::map<std::string, std::size_t> columns_;
  Fields fields_;
  int number_ = 0;
};

/// The integer after "name=" in a shape text such as "batch=1, seq_len=4096".
std::int64_t named(const std::string& shape, const std::string& name) {
  const auto at = shape.find(name + "=");
  if (at != std::string::npos) {
    std::string_view rest = std::string_view(shape).substr(at + name.size() + 1);
    if (const auto value = take_number<std::int64_t>(rest)) return *value;
  }
  throw std::runtime_error(fmt::format("no {} in \"{}\"", name, shape));
}

OperatorSample gemm_operator(const Csv& csv) {
  OperatorSample sample{.system = csv.text("system")};
  const std::string& layout = csv.text("layout");
  sample.gemm = {.m = csv.integer("m"),
                 .n = csv.integer("n"),
                 .k = csv.integer("k"),
                 .batch = csv.integer("b"),
                 .pass = layout == "NT"   ? GemmPass::kWeightGradient
                         : layout == "NN" ? GemmPass::kInputGradient
                                          : GemmPass::kForward};
  sample.seconds = (sample.gemm.flop() / teraflops(csv.number("tflops"))).value();
  return sample;
}

/// The published efficiency counts the full square of a causal kernel. Values of another width than the keys are left
/// out.
std::optional<OperatorSample> attention_operator(const Csv& csv) {
  const std::string& text = csv.text("shape");
  if (named(text, "qk_head_dim") != named(text, "v_head_dim")) return std::nullopt;
  if (text.find("qkv_contiguous=False") != std::string::npos) return std::nullopt;
  OperatorSample sample{.system = csv.text("system"), .attention = true};
  sample.shape = {.batch = named(text, "batch"),
                  .heads = named(text, "head_num"),
                  .kv_heads = named(text, "kv_head_num"),
                  .q_length = named(text, "seq_len"),
                  .kv_length = named(text, "seq_len"),
                  .head_dim = named(text, "qk_head_dim"),
                  .causal = true,
                  .backward = csv.text("op") == "sdp_bwd"};
  sample.seconds = (2.0 * sample.shape.flop() / teraflops(csv.number("tflops"))).value();
  return sample;
}

AttentionHalf half_of(const std::string& series) {
  if (series.ends_with("_fwd_bwd")) return AttentionHalf::kBoth;
  return series.ends_with("_bwd") ? AttentionHalf::kBackward : AttentionHalf::kForward;
}

std::optional<CollectiveKind> kind_of(const std::string& name) {
  if (name == "all_reduce") return CollectiveKind::kAllReduce;
  if (name == "all_gather") return CollectiveKind::kAllGather;
  if (name == "reduce_scatter") return CollectiveKind::kReduceScatter;
  if (name == "alltoall") return CollectiveKind::kAllToAll;
  if (name == "broadcast") return CollectiveKind::kBroadcast;
  if (name == "reduce") return CollectiveKind::kReduce;
  return std::nullopt;
}

}  // namespace

std::string GemmSample::key() const {
  std::string key = fmt::format("{} {} {}", shape.m, shape.n, shape.k);
  if (shape.batch != 1 || shape.pass != GemmPass::kForward)
    key += fmt::format(" x {} pass {}", shape.batch, static_cast<int>(shape.pass));
  return key;
}

std::string OperatorSample::key() const {
  if (attention) return fmt::format("{} {} {} {}", system, shape.heads, shape.q_length, shape.backward);
  return fmt::format("{} {} {} {} {}", system, gemm.batch, gemm.m, gemm.n, gemm.k);
}

std::vector<GemmSample> read_gemm_table(const std::filesystem::path& path) {
  std::vector<GemmSample> samples;
  for (Csv csv(path); csv.next();)
    samples.push_back({.shape = {.m = csv.integer("m"), .n = csv.integer("n"), .k = csv.integer("k")},
                       .seconds = csv.number("time_us") * 1e-6});
  return samples;
}

std::vector<OperatorSample> read_operator_table(const std::filesystem::path& path) {
  std::vector<OperatorSample> samples;
  for (Csv csv(path); csv.next();) {
    const std::string& op = csv.text("op");
    if (op == "matmul") samples.push_back(gemm_operator(csv));
    if (op != "sdp_fwd" && op != "sdp_bwd") continue;
    if (const auto sample = attention_operator(csv)) samples.push_back(*sample);
  }
  return samples;
}

namespace {

/// 128 of "causal_d128".
int head_dim_of(std::string_view key) {
  const std::size_t at = key.find("_d");
  if (at != std::string_view::npos)
    if (const auto value = parse_number<int>(key.substr(at + 2), 1)) return *value;
  throw std::runtime_error(fmt::format("expected a key like causal_d128, found \"{}\"", key));
}

}  // namespace

std::vector<AttentionSeries> read_attention_series(const std::filesystem::path& path) {
  const nlohmann::json json = parsed(path);
  std::vector<AttentionSeries> all;
  for (const auto& [name, group] : json.items()) {
    if (!group.is_object() || name == "fits") continue;
    for (const auto& [key, values] : group.items()) {
      AttentionSeries series{
          .name = name, .half = half_of(name), .causal = key.starts_with("causal"), .head_dim = head_dim_of(key)};
      series.sequences = json.at("seq").get<std::vector<double>>();
      for (const nlohmann::json& value : values) series.tflops.push_back(value.is_null() ? 0.0 : value.get<double>());
      all.push_back(std::move(series));
    }
  }
  return all;
}

std::vector<CollectiveTable> read_collective_tables(const std::filesystem::path& path) {
  std::vector<CollectiveTable> tables;
  const nlohmann::json file = parsed(path);
  for (const nlohmann::json& json : file.at("tables")) {
    const auto collective = json.at("collective").get<std::string>();
    const auto kind = kind_of(collective);
    if (!kind && collective != "sendrecv")
      throw std::runtime_error(fmt::format("{}: unknown collective {}", path.string(), collective));
    CollectiveTable table{.id = json.at("id"),
                          .system = json.at("system"),
                          .gpu = json.at("gpu"),
                          .network = json.at("network"),
                          .source = json.at("source"),
                          .nccl_version = json.value("nccl_version", ""),
                          .environment = json.value("env", ""),
                          .kind = kind.value_or(CollectiveKind::kAllReduce),
                          .message = !kind,
                          .ranks = json.at("ranks"),
                          .nodes = json.at("nodes"),
                          .ranks_per_node = json.at("ranks_per_node"),
                          .nic_gb_per_s = json.value("nic_gb_per_s_per_node", 0.0)};
    for (const nlohmann::json& row : json.at("rows"))
      table.rows.push_back({row.at(0).get<double>(), row.at(1).get<double>() * 1e-6});
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace foretoken::fit
