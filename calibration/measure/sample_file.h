// A growing file of samples. Every line is complete or dropped, and a rerun continues where the last run stopped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "calibration/import/samples.h"

namespace foretoken::measure {

class SampleFile {
 public:
  /// Reads the samples that are there already, and cuts off a partial last line. Nothing is written before the first
  /// sample. Throws ConfigError when the file holds samples of another GPU, is broken, or cannot be written.
  SampleFile(std::filesystem::path path, measured::Provenance origin);

  /// Returns true when this was measured already, in this run or an earlier one.
  [[nodiscard]] bool has(const measured::Sample& sample) const;
  /// Returns true when the file has a sustained run of this work.
  [[nodiscard]] bool has_clocks_of(const std::string& work) const;
  /// Appends one line and passes it to the system.
  void write(const measured::Sample& sample);

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] std::size_t written() const { return written_; }

 private:
  void resume();
  void put(const std::string& line);

  std::filesystem::path path_;
  measured::Provenance origin_;
  std::set<std::string> keys_;
  std::ofstream out_;
  bool header_written_ = false;
  std::size_t written_ = 0;
};

}  // namespace foretoken::measure
