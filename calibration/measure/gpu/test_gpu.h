// Tests that need a GPU, and are skipped where there is none.
#pragma once

#include <gtest/gtest.h>

#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/device.h"

namespace foretoken::gpu {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      (void)usable_devices();
    } catch (const GpuError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

}  // namespace foretoken::gpu
