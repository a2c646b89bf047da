// libFuzzer calls these functions. They run the target that the program's own name chooses (sim/base/fuzz.h).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/fuzz.h"

namespace foretoken {
namespace {

struct NamedTarget {
  std::string_view name;
  void (*read)(std::string_view text);
};

// A function, since targets are named before main, file by file.
std::vector<NamedTarget>& targets() {
  static std::vector<NamedTarget> all;
  return all;
}

void (*chosen)(std::string_view text) = nullptr;

}  // namespace

FuzzTarget::FuzzTarget(std::string_view name, void (*read)(std::string_view text)) {
  targets().push_back({name, read});
}

}  // namespace foretoken

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  const std::string_view path = (*argv)[0];
  const std::string_view program = path.substr(path.rfind('/') + 1);
  for (const auto& target : foretoken::targets())
    if (program == std::string(target.name) + "_fuzz") foretoken::chosen = target.read;
  if (foretoken::chosen) return 0;
  std::fputs("run one of the links beside this program, each named after a target:", stderr);
  for (const auto& target : foretoken::targets()) std::fprintf(stderr, " %s_fuzz", std::string(target.name).c_str());
  std::fputs("\n", stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    foretoken::chosen({reinterpret_cast<const char*>(data), size});
  } catch (const foretoken::ConfigError& error) {
    for (const foretoken::Complaint& complaint : error.complaints())
      if (complaint.line().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
