// The user's mistakes: all complaints about an input are collected and thrown together.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace foretoken {

/// One thing wrong with the input. Printed as one line: "file: /json/pointer: what; what to try".
struct Complaint {
  std::string file;     ///< path as the user gave it; "-" for standard input
  std::string pointer;  ///< RFC 6901 JSON pointer, empty for the whole document
  std::string message;  ///< for example "expected a number, found a list; write 8"

  [[nodiscard]] std::string line() const;
};

/// The input or the environment is wrong: exit status 2.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Complaint> complaints);
  [[nodiscard]] const std::vector<Complaint>& complaints() const { return complaints_; }

 private:
  std::vector<Complaint> complaints_;
};

}  // namespace foretoken
