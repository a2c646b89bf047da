// Helps tests of launch files: reads a text as one, and writes what is refused.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {

/// Reads `text` as the file `name`, on a cluster of H100. Expects no complaint.
inline Report read_test_launch(const std::string& text, const std::string& name) {
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr"};
  Report report = read_launch_text(text + "\n", name, launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

/// Returns a line for each refused setting that is not allowed.
inline std::string refused_lines(const Report& report) {
  std::string text;
  for (const Refused& one : report.refused)
    if (!one.allowed) text += one.setting + ": " + one.because + "\n";
  return text;
}

/// Returns the reason for an approximate line, or for an assumed key; empty without one.
inline std::string why_assumed(const Report& report, const std::string& key) {
  for (const Assumed& one : report.assumed)
    if (one.key == key) return one.because;
  return "";
}

}  // namespace foretoken::io::launch
