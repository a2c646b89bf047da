// Datasheet rates of the GPUs that have a profile.
#pragma once

namespace foretoken::fit {

/// Datasheet rates, dense.
struct Datasheet {
  const char* name;
  double tflops_16bit;
  int multiprocessors;
  double memory_gb_per_s, nvlink_gb_per_s;
};

inline constexpr Datasheet kA100_80{"a100-sxm4-80gb", 312, 108, 2039, 300},
    kA100_40{"a100-sxm4-40gb", 312, 108, 1555, 300}, kA100Pcie{"a100-pcie-80gb", 312, 108, 1935, 300},
    kH100{"h100-sxm5-80gb", 989, 132, 3350, 450}, kH200{"h200-sxm5-141gb", 989, 132, 4800, 450},
    kB200{"b200-sxm-180gb", 2250, 148, 8000, 900}, kGb200{"gb200-186gb", 2500, 148, 8000, 900},
    kV100Sxm2{"v100-sxm2-32gb", 125, 80, 900, 150}, kV100Sxm3{"v100-sxm3-32gb", 130, 80, 900, 150};

}  // namespace foretoken::fit
