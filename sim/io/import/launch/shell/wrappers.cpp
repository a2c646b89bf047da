// Takes programs off a command that start the rest of it in an environment of packages, or beside the terminal.
//
// Options with values: astral-sh/uv, docs/reference/cli.md; conda/conda, conda/cli/main_run.py; prefix-dev/pixi,
// docs/reference/cli/pixi/run.md; python-poetry/poetry, src/poetry/console/application.py.
#include "sim/io/import/launch/shell/wrappers.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "sim/io/import/launch/shell/inner_shell.h"

namespace foretoken::io::shell {
namespace {

constexpr std::string_view kAlone[] = {"nohup", "setsid", "time", "unbuffer"};
constexpr std::string_view kRunners[] = {"uv",  "poetry", "pipenv",     "pdm",   "hatch",
                                         "rye", "conda",  "micromamba", "mamba", "pixi"};
constexpr std::string_view kValued[] = {"-n",
                                        "--name",
                                        "-p",
                                        "--prefix",
                                        "--cwd",
                                        "-e",
                                        "--env",
                                        "--with",
                                        "--extra",
                                        "--group",
                                        "--python",
                                        "--project",
                                        "--directory",
                                        "-C",
                                        "--env-file",
                                        "--package",
                                        "--index",
                                        "--default-index",
                                        "--index-url",
                                        "-f",
                                        "--find-links",
                                        "--with-editable",
                                        "--with-requirements",
                                        "--no-extra",
                                        "--no-group",
                                        "--only-group",
                                        "--cache-dir",
                                        "--config-file",
                                        "--manifest-path",
                                        "-P"};

template <std::size_t N>
bool is_among(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

// Returns the place behind the options that begin at words[at].
std::size_t behind_options(const Texts& words, std::size_t at) {
  while (at < words.size() && words[at].starts_with('-') && words[at] != "-m" && words[at] != "--module") {
    if (words[at] == "--") return at + 1;
    at += is_among(kValued, words[at]) ? 2 : 1;
  }
  return at;
}

// Returns the place of the word behind the wrapper at the beginning; 0 for other words.
std::size_t behind_wrapper(const Texts& words) {
  const std::string program = std::filesystem::path(words[0]).filename().string();
  if (is_among(kAlone, program)) return words[1].starts_with('-') ? 0 : 1;  // its own options
  if (!is_among(kRunners, program)) return 0;
  const std::size_t verb = behind_options(words, 1);
  return verb < words.size() && words[verb] == "run" ? behind_options(words, verb + 1) : 0;
}

}  // namespace

Texts without_wrappers(Texts words) {
  while (words.size() > 1) {
    const std::size_t begin = behind_wrapper(words);
    if (begin == 0 || begin >= words.size()) break;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(begin));
    if (words[0] == "-m" || words[0] == "--module") {
      words[0] = "-m";
      words.insert(words.begin(), "python");
    }
  }
  return words;
}

Texts with_shell_before_script(Texts words) {
  if (const auto script = script_behind_launcher(words))
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(*script), "bash");
  return words;
}

}  // namespace foretoken::io::shell
