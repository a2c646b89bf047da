// The files that an experiment of Primus names, and those that they extend.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::megatron {

/// A section of LoRA keeps its own keys, because they mean something only where it is enabled.
inline constexpr const char* kAdapter = "lora";

/// Writes the keys of all sections as if they stood at the top.
void flatten(const Json& section, Json& keys);

/// Puts the keys of a file or of overrides on top of those that they extend.
void put_on_top(Json section, Json& keys);

/// The keys of the files below an experiment.
struct Basis {
  Json keys = Json::object();
  std::map<std::string, std::string> files{};  ///< the file that states a key last, by the key
};

/// Returns true for a file that lists every setting of the trainer or of any model with its default. Its keys say
/// nothing about the run.
[[nodiscard]] bool lists_defaults(const std::string& file);

/// Reads the files of Primus that an experiment names, each on top of those that it extends.
class PrimusFiles {
 public:
  PrimusFiles(const std::filesystem::path& experiment, const Environment& environment, Report& report);

  /// Puts the keys of primus/configs/KIND/megatron/NAME on top of `basis`. Refuses a file that extends itself, and
  /// chains and trees of too many files.
  void put(const std::string& kind, const std::string& name, Basis& basis);

  /// Returns the names of files that are not there; empty for none.
  [[nodiscard]] const std::string& absent() const { return absent_; }

 private:
  [[nodiscard]] bool may_read(const std::string& file);
  void note_absent(const std::string& kind, const std::string& name);

  std::filesystem::path experiment_;
  const Environment& environment_;
  Report& report_;
  std::string absent_;
  std::vector<std::string> chain_{};  ///< the files that are being read, each extended by the one before
  int asked_for_ = 0;                 ///< files, also those that are not there
};

}  // namespace foretoken::io::launch::megatron
