// Helps tests: turns the complaints of a reading into lines of text.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/error.h"
#include "sim/io/json/document.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// Returns one line for each complaint.
inline std::string lines_of(const std::vector<Complaint>& complaints) {
  std::string lines;
  for (const Complaint& complaint : complaints) lines += complaint.line() + "\n";
  return lines;
}

inline std::string lines_of(const Complaints& complaints) { return lines_of(complaints.listed()); }

/// Parses `text` as "t.json", gives its root to `read`, and returns the complaints.
template <class Read>
std::string complaints_of(std::string_view text, Read read) {
  Findings findings;
  const auto document = document_from_text(text, "t.json", findings);
  if (document) read(document->root(findings));
  return lines_of(findings.complaints);
}

/// Returns the complaints that `act` throws as ConfigError, one a line, or nothing when it throws none.
template <class Act>
std::string thrown_by(Act act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return lines_of(error.complaints());
  }
  return {};
}

/// Sets an environment variable for the life of a test.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedEnvironment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace foretoken::io
