// The result file of a search: the request, then one line a candidate, appended so that a kill loses nothing.
#pragma once

#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sim/study/search/request.h"
#include "sim/study/search/searcher.h"

namespace foretoken::tools {

/// Writes one outcome as a line of JSON, with its newline. Its last member checks the rest, in the file of `header`.
[[nodiscard]] std::string outcome_line(const search::Space& space, const search::Outcome& outcome,
                                       std::string_view header);

/// The content of a result file.
struct SearchFile {
  std::map<std::size_t, search::Outcome> outcomes;  ///< by candidate
  std::size_t whole_bytes = 0;                      ///< up to the last complete line
};

/// Reads the result file of the search with `header`, its first line. Leaves out a last line without a newline. Throws
/// ConfigError for a file of something else or of another search, program or data, and for an edited one.
[[nodiscard]] SearchFile read_search_file(const std::string& path, const std::string& header);

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
  void take_up(bool resume);
  void write(const std::string& text);
  [[noreturn]] void fail(const std::string& message);

  std::string path_, header_;
  int descriptor_ = -1;
  bool regular_ = false;
  std::map<std::size_t, search::Outcome> known_;
};

}  // namespace foretoken::tools
