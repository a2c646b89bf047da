// Reads the words of a command that starts a shell of its own.
#include "sim/io/import/launch/shell/inner_shell.h"

#include <filesystem>

namespace foretoken::io::shell {
namespace {

bool is_mpi(const std::string& word) {
  const std::string name = std::filesystem::path(word).filename().string();
  return name == "mpirun" || name == "mpiexec" || name == "orterun";
}

}  // namespace

std::optional<std::size_t> text_of_shell(const Texts& words, std::size_t shell) {
  for (std::size_t i = shell + 1; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with('-') && !words[i].starts_with('+')) return std::nullopt;
    if (words[i].starts_with("--")) continue;
    if (words[i].find('c') != std::string::npos) return i + 1;
    if (words[i].ends_with('o')) ++i;  // the name of an option follows
  }
  return std::nullopt;
}

std::optional<std::string> processes_of_mpi(const Texts& words, std::size_t end) {
  const bool flux = words[0] == "flux" && words.size() > 1 && words[1] == "run";  // flux-run(1)
  if (!flux && !is_mpi(words[0])) return std::nullopt;
  for (std::size_t i = 1; i + 1 < end; ++i)
    if (words[i] == "-np" || words[i] == "-n" || words[i] == "--np" || (!flux && words[i] == "-c")) return words[i + 1];
  return std::nullopt;
}

bool starts_processes(const std::string& word) {
  const std::string name = std::filesystem::path(word).filename().string();
  return is_mpi(word) || name == "srun" || name == "flux" || name == "pdsh";
}

}  // namespace foretoken::io::shell
