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
  const Size sizes[] = {{"num_layers", named.layers},
                        {"hidden_size", named.hidden},
                        {"num_attention_heads", named.heads},
                        {"num_query_groups", named.kv_heads},
                        {"num_experts", named.experts ? named.experts->count : 0}};
  for (const Size& size : sizes) {
    const auto own = stated.find(size.key);
    if (own == stated.end() || !own->is_number_integer() || *own == size.named) continue;
    report.refuse(
        flag_of(report, std::string("model.") + size.key),
        fmt::format("the file states {}, and the model of --model has {}; state --model with a config.json of "
                    "the file's sizes",
                    own->get<std::int64_t>(), size.named));
  }
  std::erase_if(report.mapped, [](const Mapped& one) { return is_of_file(one.key, one.from); });
  std::erase_if(report.assumed, [](const Assumed& one) { return is_of_file(one.key, ""); });
  report.approximate("model", "the sizes that the file states are those of --model");
}

}  // namespace foretoken::io::launch
