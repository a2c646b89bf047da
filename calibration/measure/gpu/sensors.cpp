// Calls NVML by hand: the few functions needed, as its reference manual declares them.
#include "calibration/measure/gpu/sensors.h"

#include <dlfcn.h>

namespace foretoken::gpu {
namespace {

// From the NVML API reference: nvmlReturn_t 0 is success, nvmlClockType_t 1 the SM clock, nvmlTemperatureSensors_t 0
// the GPU.
using Plain = int (*)();
using ByBusId = int (*)(const char*, void**);
using ClockInfo = int (*)(void*, unsigned, unsigned*);
using PowerUsage = int (*)(void*, unsigned*);
using Temperature = int (*)(void*, unsigned, unsigned*);
constexpr int kSuccess = 0;
constexpr unsigned kSmClock = 1, kGpuSensor = 0;

}  // namespace

template <class Function>
Function Sensors::function(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library_, name));
}

Sensors::Sensors(const std::string& bus_id) : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
  const auto start = function<Plain>("nvmlInit_v2");
  const auto find = function<ByBusId>("nvmlDeviceGetHandleByPciBusId_v2");
  if (start == nullptr || find == nullptr || start() != kSuccess) return;
  if (find(bus_id.c_str(), &device_) != kSuccess) device_ = nullptr;
}

Sensors::~Sensors() {
  if (const auto stop = function<Plain>("nvmlShutdown"); stop != nullptr) stop();
  if (library_ != nullptr) ::dlclose(library_);
}

Reading Sensors::read() const {
  Reading reading;
  if (device_ == nullptr) return reading;
  unsigned value = 0;
  const auto clock = function<ClockInfo>("nvmlDeviceGetClockInfo");
  if (clock != nullptr && clock(device_, kSmClock, &value) == kSuccess) reading.sm_mhz = value;
  const auto power = function<PowerUsage>("nvmlDeviceGetPowerUsage");  // in milliwatts
  if (power != nullptr && power(device_, &value) == kSuccess) reading.watts = value * 1e-3;
  const auto temperature = function<Temperature>("nvmlDeviceGetTemperature");
  if (temperature != nullptr && temperature(device_, kGpuSensor, &value) == kSuccess) reading.celsius = value;
  return reading;
}

}  // namespace foretoken::gpu
