// Finds the GPU and describes it.
#include "calibration/measure/gpu/device.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <memory>

#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/provenance.h"

namespace foretoken::gpu {
namespace {

/// Returns the output of a command, or an empty text when it cannot be run.
std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  if (!pipe) return text;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe.get())) text.append(part.data(), count);
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace

int usable_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    const bool known = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    throw GpuError(fmt::format("no usable GPU: {}; this program was built for CUDA {}",
                               known
                                   ? "the driver is too old (it serves CUDA " + measure::cuda_version_text(driver) + ")"
                                   : "no NVIDIA driver is loaded, or it is too old",
                               measure::cuda_version_text(CUDART_VERSION)));
  }
  if (status != cudaSuccess) throw GpuError(fmt::format("no usable GPU: {}", cudaGetErrorString(status)));
  if (count == 0) throw GpuError("no usable GPU: the driver reports none");
  return count;
}

Device open_device(int index) {
  check(cudaSetDevice(index), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), index), "cudaDeviceGetPCIBusId");
  Device device;
  device.index = index;
  device.name = properties.name;
  device.bus_id = bus.data();
  device.memory_bytes = properties.totalGlobalMem;
  device.cache_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  device.multiprocessors = properties.multiProcessorCount;
  device.capability = 10 * properties.major + properties.minor;
  return device;
}

measured::Provenance provenance_of(const Device& device) {
  measured::Provenance origin{.source = "foretoken-calibrate", .gpu = device.name, .facts = {}};
  int driver = 0, nccl = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(ncclGetVersion(&nccl), "ncclGetVersion");
  origin.facts = {{"date", today()},
                  {"cuda_runtime", measure::cuda_version_text(CUDART_VERSION)},
                  {"cuda_driver", measure::cuda_version_text(driver)},
                  {"cublaslt", fmt::format("{}", cublasLtGetVersion())},
                  {"nccl", measure::nccl_version_text(nccl)},
                  {"multiprocessors", fmt::format("{}", device.multiprocessors)},
                  {"l2_bytes", fmt::format("{}", device.cache_bytes)},
                  {"operands", "random normal; fp8 e4m3 in layout TN, written as bf16, fast accumulation forward only"},
                  {"cold", "buffers rotated over more than twice the L2 cache; back-to-back in a CUDA graph"}};
  const measure::Facts smi = measure::smi_facts(output_of(measure::smi_command(device.bus_id)));
  if (smi.empty()) origin.facts.emplace_back("nvidia_smi", "not available: clocks, power limit and ECC unknown");
  origin.facts.insert(origin.facts.end(), smi.begin(), smi.end());
  const std::string topology = measure::topology_text(output_of("nvidia-smi topo -m 2>/dev/null"));
  if (!topology.empty()) origin.facts.emplace_back("topology", topology);
  return origin;
}

}  // namespace foretoken::gpu
