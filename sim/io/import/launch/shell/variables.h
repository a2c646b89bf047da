// The variables and arrays of a script while it is read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::shell {

using Texts = std::vector<std::string>;

struct Variables {
  std::map<std::string, Texts, std::less<>> values{};  ///< a plain variable has one text, an array any number
  std::set<std::string, std::less<>> fixed{};          ///< what the user states; assignments leave it unchanged
  std::map<std::string, std::string, std::less<>> scheduler{};  ///< what Slurm sets: SLURM_NNODES
  bool under_slurm = false;                                     ///< then any other SLURM_ variable is set, but unknown
  Texts arguments{};                                            ///< $1, $2, ...
  bool arguments_stated = false;                                ///< else $1 is unknown, not empty
  std::string script = "";                                      ///< $0
  std::string folder = ".";                                     ///< of the script: the current folder

  [[nodiscard]] const Texts* find(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  }

  void set(const std::string& name, Texts value) {
    if (!fixed.contains(name)) values.insert_or_assign(name, std::move(value));
  }
};

}  // namespace foretoken::io::shell
