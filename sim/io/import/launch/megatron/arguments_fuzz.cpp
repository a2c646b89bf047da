// Fuzz target: reads any bytes as arguments of Megatron-LM, separated by spaces.
#include <sstream>

#include "sim/base/fuzz.h"
#include "sim/io/import/launch/read_launch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::launch::Launch launch;
    std::istringstream words{std::string(fuzz_text(data, size))};
    for (std::string word; words >> word;) launch.words.push_back(word);
    io::Findings findings;
    const io::launch::Report report = io::launch::read_launch(launch, findings);
    findings.throw_if_wrong();
    (void)report.json().dump(-1, ' ', false, io::launch::Json::error_handler_t::replace);
  });
}
