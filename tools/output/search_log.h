// The result file of a search: the request, then one line a candidate, appended so that a kill loses nothing.
#pragma once

#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/study/search/request.h"
#include "sim/study/search/searcher.h"

namespace foretoken::tools {

/// Writes one outcome as a line of JSON, with its newline.
[[nodiscard]] std::string outcome_line(const search::Space& space, const search::Outcome& outcome);

/// The content of a result file: its request, and its outcomes in the order of the file.
struct SearchFile {
  std::string request;  ///< JSON
  std::vector<search::Outcome> outcomes;
  std::size_t whole_bytes = 0;  ///< up to the last complete line
};

/// Reads a result file. Leaves out a last line without a newline. Throws ConfigError when the file is no result file.
[[nodiscard]] SearchFile read_search_file(const std::string& path);

/// A result file that grows by whole lines. When a line cannot be written, the file is cut back to its last whole line
/// and ConfigError is thrown. Two searches cannot append to one file.
class SearchLog {
 public:
  /// Starts a file, or with `resume` continues one of the same request. Throws ConfigError for any other file that is
  /// not empty.
  SearchLog(const std::string& path, const study::SearchRequest& request, bool resume);
  ~SearchLog();
  SearchLog(const SearchLog&) = delete;
  SearchLog& operator=(const SearchLog&) = delete;

  /// Returns the outcomes that the file held when it was opened, by candidate.
  [[nodiscard]] const std::map<std::size_t, search::Outcome>& known() const { return known_; }
  /// Appends the outcomes that the file does not hold yet.
  void append(const search::Space& space, std::span<const search::Outcome> outcomes);

 private:
  void take_up(const std::string& header, bool resume);
  void write(const std::string& text);
  [[noreturn]] void fail(const std::string& message);

  std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
  std::map<std::size_t, search::Outcome> known_;
};

}  // namespace foretoken::tools
