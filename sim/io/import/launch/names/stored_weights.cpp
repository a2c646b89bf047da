// Libraries: huggingface/transformers, docs/source/en/quantization. nf4 is a type of bitsandbytes alone.
#include "sim/io/import/launch/names/stored_weights.h"

#include <algorithm>
#include <iterator>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

enum class StoredBy { kTorch, kBitsandbytes, kFp8, kOwnKernels, kUnsaid };

struct StoredFormat {
  std::string_view word;
  int bits;  ///< 0: another word says them
  StoredBy by;
  const char* shown = "";
};

// "dynamic" stands behind fp8.
constexpr StoredFormat kStoredFormats[] = {{"bnb", 0, StoredBy::kBitsandbytes},
                                           {"bitsandbytes", 0, StoredBy::kBitsandbytes},
                                           {"bnb4bit", 4, StoredBy::kBitsandbytes},
                                           {"bnb8bit", 8, StoredBy::kBitsandbytes},
                                           {"nf4", 4, StoredBy::kBitsandbytes},
                                           {"fp8", 8, StoredBy::kFp8},
                                           {"dynamic", 0, StoredBy::kTorch},
                                           {"bf16", 16, StoredBy::kTorch},
                                           {"fp16", 16, StoredBy::kTorch},
                                           {"awq", 0, StoredBy::kOwnKernels, "AWQ"},
                                           {"gptq", 0, StoredBy::kOwnKernels, "GPTQ"},
                                           {"aqlm", 0, StoredBy::kOwnKernels, "AQLM"},
                                           {"hqq", 0, StoredBy::kOwnKernels, "HQQ"},
                                           {"eetq", 0, StoredBy::kOwnKernels, "EETQ"},
                                           {"int4", 4, StoredBy::kOwnKernels, "Int4"},
                                           {"int8", 8, StoredBy::kOwnKernels, "Int8"},
                                           {"4bit", 4, StoredBy::kUnsaid, "4bit"},
                                           {"8bit", 8, StoredBy::kUnsaid, "8bit"}};

const StoredFormat* format_of(std::string_view word) {
  const auto* const found = std::ranges::find(kStoredFormats, word, &StoredFormat::word);
  return found == std::end(kStoredFormats) ? nullptr : found;
}

// The formats in a name: "autogptq" holds that of a library.
std::vector<StoredFormat> formats_in(std::string_view name) {
  std::vector<StoredFormat> formats;
  for (const std::string& word : words_of_name(model_in_path(name)))
    for (const StoredFormat& format : kStoredFormats) {
      const bool library = format.by == StoredBy::kOwnKernels && format.bits == 0;
      if (word == format.word || (library && word.find(format.word) != word.npos)) formats.push_back(format);
    }
  return formats;
}

bool holds_bits(std::string_view name, int bits) {
  const auto formats = formats_in(name);
  const auto is_by = [&](StoredBy by) { return std::ranges::find(formats, by, &StoredFormat::by) != formats.end(); };
  return !is_by(StoredBy::kOwnKernels) && std::ranges::any_of(formats, [&](const StoredFormat& format) {
    return format.bits == bits && format.by != StoredBy::kFp8;
  });
}

}  // namespace

std::string_view model_in_path(std::string_view name) {
  constexpr std::string_view kCache = "models--";
  if (const std::size_t cache = name.find(kCache); cache != name.npos) {
    name = name.substr(cache, name.find('/', cache) - cache);
    return name.substr(name.rfind("--") + 2);
  }
  while (name.ends_with('/')) name.remove_suffix(1);
  name = name.substr(name.rfind('/') == name.npos ? 0 : name.rfind('/') + 1);
  const std::size_t dashes = name.find("--");
  const bool organisation = dashes != name.npos && name.find_first_of("0123456789") > dashes;
  return organisation ? name.substr(dashes + 2) : name;
}

std::vector<std::string> without_formats(std::vector<std::string> words) {
  while (words.size() > 1 && format_of(words.back()) != nullptr) words.pop_back();
  return words;
}

bool holds_four_bits(std::string_view name) { return holds_bits(name, 4); }

bool holds_eight_bits(std::string_view name) { return holds_bits(name, 8); }

bool holds_fp8(std::string_view name) {
  const auto formats = formats_in(name);
  return std::ranges::find(formats, StoredBy::kFp8, &StoredFormat::by) != formats.end();
}

std::string other_library_in(std::string_view name) {
  const auto formats = formats_in(name);
  const auto by = [&](StoredBy library) { return std::ranges::find(formats, library, &StoredFormat::by); };
  if (by(StoredBy::kOwnKernels) != formats.end()) return by(StoredBy::kOwnKernels)->shown;
  const auto unsaid = by(StoredBy::kUnsaid);
  return unsaid != formats.end() && by(StoredBy::kBitsandbytes) == formats.end() ? unsaid->shown : "";
}

}  // namespace foretoken::io::launch
