// Runs the built program for the end-to-end tests and returns its output.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace foretoken::tools {

/// A scenario that takes milliseconds.
constexpr const char* kSmallScenario =
    R"({"name": "small", "model": {"base": "llama-3-8b", "num_hidden_layers": 8},
    "cluster": "dgx-h100-ndr", "gpus": 8, "batch": {"micro": 1, "global": 16, "sequence_length": 4096},
    "parallelism": {"tensor": 8}})";

struct Ran {
  int status = -1;  ///< exit status; 128 + signal when killed
  std::string out, err;
};

/// Wrong arguments, and a part of the complaint about them.
struct Wrong {
  const char* what;
  std::vector<std::string> arguments;
  const char* complaint;
};

/// An empty folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "foretoken-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::string path_;
};

inline std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Runs `foretoken arguments...` in the source folder. Standard output goes to the file `out` when that is given.
inline Ran run_foretoken(const std::vector<std::string>& arguments, const std::string& input = "",
                         const std::string& out = "") {
  const TemporaryFolder folder;
  const std::string in = folder.put("in", input), err = folder.file("err");
  const std::string sink = out.empty() ? folder.file("out") : out;
  std::vector<std::string> words = {FORETOKEN_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(in.c_str(), O_RDONLY), STDIN_FILENO);
    ::dup2(::open(sink.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    if (::chdir(FORETOKEN_SOURCE_DIR) != 0) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = out.empty() ? contents(sink) : "",
          .err = contents(err)};
}

/// Runs the arguments: they are refused with one line, and nothing is printed.
inline void expect_refused(const Wrong& wrong) {
  SCOPED_TRACE(wrong.what);
  const Ran ran = run_foretoken(wrong.arguments);
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, testing::HasSubstr(wrong.complaint));
  EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
}

/// Returns the words with `--set` before each of `sets`.
inline std::vector<std::string> with_sets(std::vector<std::string> words, const std::vector<std::string>& sets) {
  for (const std::string& assignment : sets) {
    words.emplace_back("--set");
    words.push_back(assignment);
  }
  return words;
}

}  // namespace foretoken::tools
