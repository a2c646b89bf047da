// Maps windows of attention: the tokens before it that a query sees, and the layers that see all.
//
// Source: NVIDIA/Megatron-LM core 0.14, megatron/core/transformer/utils.py, is_layer_window_attention, and
// transformer_config.py, window_size.
#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr const char *kWindow = "window-size", *kFull = "window-attn-skip-freq";

// Returns the first number of "128,0", "(128, 0)" or "128 0".
std::optional<std::int64_t> first_number(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_of("-0123456789"), text.size());
  const std::size_t end = std::min(text.find_first_not_of("0123456789", begin + 1), text.size());
  if (text.find_first_not_of(" ()[],-0123456789") != text.npos || begin == text.size()) return std::nullopt;
  const std::string number = text.substr(begin, end - begin);
  if (number.front() == '-') return -1;  // no bound
  return whole_of(number);
}

// Returns N where every N-th layer sees all tokens: 1 where all layers do, and 0 where none does. Returns nothing for
// another pattern.
std::optional<std::int64_t> full_layers(const Argument* skips) {
  if (skips == nullptr) return 0;
  const std::string text = joined_values(*skips);
  if (const auto every = whole_of(text)) return *every > 0 ? every : std::nullopt;
  const auto windows = digits_of_layers(text);
  if (!windows || windows->empty()) return std::nullopt;
  const std::size_t first = windows->find('0');
  if (first == windows->npos) return 0;
  const std::size_t every = first + 1;
  for (std::size_t layer = 0; layer < windows->size(); ++layer)
    if (((*windows)[layer] == '0') != ((layer + 1) % every == 0)) return std::nullopt;
  return static_cast<std::int64_t>(every);
}

}  // namespace

void map_windows(const Flags& flags) {
  Report& report = flags.report();
  const Argument *const window = flags.find(kWindow), *const skips = flags.find(kFull);
  const std::string stated = window == nullptr ? "" : joined_values(*window);
  const auto before = first_number(stated);
  const auto every = full_layers(skips);
  if (stated.empty() || stated == "None" || before == -1 || every == 1) {
    for (const char* name : {kWindow, kFull})
      if (flags.find(name) != nullptr) report.ignore(std::string("--") + name, flags.from(name));
    return;
  }
  if (!before)
    return report.refuse(std::string("--") + kWindow, "expected two numbers, found " + in_quotes(printable(stated, 40)),
                         flags.from(kWindow));
  if (!every)
    return report.refuse(std::string("--") + kFull,
                         "windows are modelled in all layers, or in all but every N-th; this is another pattern",
                         flags.from(kFull));
  report.map("model.window_size", *before + 1, flags.from(kWindow) + ", and the token itself");
  if (*every > 1) report.map("model.window_attn_skip_freq", *every, flags.from(kFull));
}

}  // namespace foretoken::io::launch::megatron
