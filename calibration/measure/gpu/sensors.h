// Clock, power and temperature of a GPU, read through NVML where the driver has it.
#pragma once

#include <optional>
#include <string>

namespace foretoken::gpu {

struct Reading {
  std::optional<double> sm_mhz, watts, celsius;
};

/// Loads libnvidia-ml.so.1 at run time. It comes with the driver, but its header comes neither with the driver nor with
/// the toolkit.
class Sensors {
 public:
  explicit Sensors(const std::string& bus_id);
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;
  [[nodiscard]] bool available() const { return device_ != nullptr; }
  [[nodiscard]] Reading read() const;

 private:
  template <class Function>
  [[nodiscard]] Function function(const char* name) const;

  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace foretoken::gpu
