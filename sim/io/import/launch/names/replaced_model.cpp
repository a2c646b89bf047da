// Compares the sizes of a file with those of the model that the user names.
#include "sim/io/import/launch/names/replaced_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace foretoken::io::launch {
namespace {

struct Size {
  const char* key;
  std::int64_t named;
};

bool is_of_file(std::string_view key, std::string_view from) {
  return key.starts_with("model.") && from != kFromCommandLine;
}

// Returns the flag of a line: "--num-layers" of "--num-layers (train.sh:110)".
std::string flag_of(const Report& report, const std::string& key) {
  const auto line = std::ranges::find(report.mapped, key, &Mapped::key);
  return line == report.mapped.end() ? key : line->from.substr(0, line->from.find(" ("));
}

}  // namespace

void settle_replaced_model(const Json& stated, const model::Transformer& named, Report& report) {
  const auto* const experts = named.experts ? &*named.experts : nullptr;
  const Size sizes[] = {{"num_layers", named.layers},
                        {"hidden_size", named.hidden},
                        {"ffn_hidden_size", experts != nullptr ? 0 : named.ffn_hidden},
                        {"num_attention_heads", named.heads},
                        {"num_query_groups", named.kv_heads},
                        {"kv_channels", named.latent ? 0 : named.head_dim},
                        {"vocab_size", named.vocabulary},
                        {"moe_router_topk", experts != nullptr ? experts->per_token : 0},
                        {"moe_ffn_hidden_size", experts != nullptr ? experts->width : 0}};
  const auto differ = [&](const std::string& key, std::int64_t own, std::int64_t other) {
    report.refuse(
        flag_of(report, "model." + key),
        fmt::format("the file states {}, and the model of --model has {}; state --model with a config.json of "
                    "the file's sizes",
                    own, other));
  };
  for (const Size& size : sizes) {
    const auto own = stated.find(size.key);
    const bool by_flag = std::ranges::find(report.mapped, std::string("model.") + size.key, &Mapped::key) !=
                         report.mapped.end();  // an assumed size is a default
    if (size.named == 0 || !by_flag || own == stated.end() || !own->is_number_integer() || *own == size.named) continue;
    differ(size.key, own->get<std::int64_t>(), size.named);
  }
  const std::int64_t own_experts = stated.value("num_experts", std::int64_t{0});
  const std::int64_t named_experts = experts != nullptr ? experts->count : 0;
  if (own_experts != named_experts && stated.contains("num_layers")) differ("num_experts", own_experts, named_experts);
  std::erase_if(report.mapped, [](const Mapped& one) { return is_of_file(one.key, one.from); });
  std::erase_if(report.assumed, [](const Assumed& one) { return is_of_file(one.key, ""); });
  report.approximate("model", "the model of --model stands in the place of the file's");
}

}  // namespace foretoken::io::launch
