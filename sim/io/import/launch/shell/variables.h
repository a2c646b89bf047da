// The variables and arrays of a script while it is read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::shell {

using Texts = std::vector<std::string>;

/// An array whose elements have names: declare -A.
using NamedTexts = std::map<std::string, std::string, std::less<>>;
using NamedTables = std::map<std::string, NamedTexts, std::less<>>;

/// The machine of a run, as far as its job or the user states it. 0 where nobody does.
struct Machine {
  std::int64_t devices = 0;     ///< GPUs of a node
  std::int64_t host_lines = 0;  ///< of the file that lists the hosts of a job: $PBS_NODEFILE
  std::int64_t hosts = 0;       ///< in that file
};

struct Variables {
  std::map<std::string, Texts, std::less<>> values{};            ///< a plain variable has one text, an array any number
  NamedTables tables{};                                          ///< arrays by name
  std::map<std::string, std::string, std::less<>> references{};  ///< local -n NAME=OTHER: NAME stands for OTHER
  std::set<std::string, std::less<>> fixed{};  ///< what the user states; assignments leave it unchanged
  std::map<std::string, std::string, std::less<>> scheduler{};  ///< what Slurm sets: SLURM_NNODES
  std::set<std::string, std::less<>> emptied{};                 ///< D after D=${DATA:-}, where nothing sets DATA
  std::map<std::string, std::string, std::less<>> copies{};     ///< N and NHOSTS after N=$NHOSTS, where nothing sets it
  std::map<std::string, std::set<std::string>, std::less<>> readers{};  ///< TP and those whose values hold $TP
  bool lacks_options = false;  ///< getopts or getopt had no arguments, which nobody stated
  bool under_slurm = false;    ///< then any other SLURM_ variable is set, but unknown
  bool under_pbs = false;      ///< then the job starts in the folder of its script
  Machine machine{};
  Texts arguments{};              ///< $1, $2, ...
  bool arguments_stated = false;  ///< else $1 is unknown, not empty
  std::string script = "";        ///< $0
  std::string folder = ".";       ///< of the script: the current folder

  /// Returns the variable that a name stands for: itself, unless it refers to another one.
  [[nodiscard]] std::string_view meant_by(std::string_view name) const {
    constexpr int kLongestChain = 8;
    for (int i = 0; i < kLongestChain; ++i) {
      const auto found = references.find(name);
      if (found == references.end()) break;
      name = found->second;
    }
    return name;
  }

  /// Returns the variable that the environment must set for one without a value: NHOSTS for N after N=$NHOSTS.
  [[nodiscard]] std::string_view source_of(std::string_view name) const {
    constexpr int kLongestChain = 8;
    for (int i = 0; i < kLongestChain; ++i) {
      const auto found = copies.find(meant_by(name));
      if (found == copies.end()) break;
      name = found->second;
    }
    return name;
  }

  [[nodiscard]] const Texts* find(std::string_view name) const {
    const auto found = values.find(meant_by(name));
    return found == values.end() ? nullptr : &found->second;
  }

  [[nodiscard]] const NamedTexts* table(std::string_view name) const {
    const auto found = tables.find(meant_by(name));
    return found == tables.end() ? nullptr : &found->second;
  }

  void set(std::string_view name, Texts value) {
    const std::string meant(meant_by(name));
    if (fixed.contains(meant)) return;
    emptied.erase(meant);
    values.insert_or_assign(meant, std::move(value));
  }

  /// Nothing is known of the variable any more, but for the reason.
  void forget(std::string_view name, std::string reason) {
    tables.erase(std::string(meant_by(name)));
    set(name, {std::move(reason)});
  }
};

}  // namespace foretoken::io::shell
