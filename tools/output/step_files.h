// The files that `simulate` writes about one step: a timeline, a chart, a log.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/predict/predict.h"
#include "tools/output/output.h"

namespace CLI {
class App;
}

namespace foretoken::tools {

/// Paths; an empty one is not asked for.
struct StepFiles {
  std::string trace, svg, log;
  std::string kineto, chakra;  ///< folders
  std::uint64_t log_seed = 1;

  [[nodiscard]] bool any() const {
    return !(trace.empty() && svg.empty() && log.empty() && kineto.empty() && chakra.empty());
  }
};

/// Adds --trace, --svg, --log, --log-seed, --kineto and --chakra.
void add_step_file_options(CLI::App& command, StepFiles& files);

/// Returns every file with its option.
[[nodiscard]] std::vector<NamedFile> named_files(const StepFiles& files);

/// Opens the files before the work, but those of folders when they are written. A file appears only when it is whole.
class StepFileWriter {
 public:
  StepFileWriter(const StepFiles& files, std::string fidelity);
  void write(const study::Prediction& prediction);

 private:
  struct Opened {
    std::unique_ptr<OutputFile> file;
    bool gzip = false;
    /// Writes the content piece by piece.
    std::function<void(const study::Prediction&, const std::function<void(std::string_view)>&)> content;
  };
  void write_kineto_folder(const study::Prediction& prediction) const;
  void write_chakra_folder(const study::Prediction& prediction) const;

  std::vector<Opened> opened_;
  std::string kineto_, chakra_, fidelity_;
};

}  // namespace foretoken::tools
