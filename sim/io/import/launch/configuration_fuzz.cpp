// Fuzz target: reads any bytes as a configuration file of every framework, by the ending that the first byte chooses.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/read_launch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  if (size == 0) return 0;
  constexpr const char* kNames[] = {"a.yaml", "a.json", "a.csv", "a.toml"};
  return must_read_or_refuse([&] {
    io::Findings findings;
    io::launch::Launch launch;
    launch.row = "2";
    launch.sets = {"gpus=64"};
    const io::launch::Report report =
        io::launch::read_launch_text(std::string(fuzz_text(data + 1, size - 1)), kNames[data[0] % 4], launch, findings);
    findings.throw_if_wrong();
    (void)report.json().dump(-1, ' ', false, io::launch::Json::error_handler_t::replace);
  });
}
