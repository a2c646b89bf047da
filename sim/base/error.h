// The user's mistakes: all complaints about an input are collected and thrown together.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace foretoken {

/// One thing wrong with the input. Printed as one line: "file: /json/pointer: what; what to try", or
/// "--set gpus=7: what; what to try".
struct Complaint {
  std::string file;         ///< path as the user gave it; "-" for standard input
  std::string pointer;      ///< RFC 6901 JSON pointer, empty for the whole document
  std::string message;      ///< for example "expected a number, found a list; write 8"
  std::string option = {};  ///< the option that stated the value, "--set gpus=7": the file does not hold it

  [[nodiscard]] std::string line() const;
};

/// Complaints in the order of finding. The first hundred stay, further ones are counted: a file of a million mistakes
/// costs neither their memory nor their lines.
class Complaints {
 public:
  static constexpr std::size_t kMost = 100;

  void push_back(Complaint complaint);
  void append(const std::vector<Complaint>& more);
  [[nodiscard]] std::size_t size() const { return count_; }  ///< of all, also of those that did not stay
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool is_full() const { return kept_.size() == kMost; }  ///< the words of another one are not needed
  [[nodiscard]] const Complaint& front() const { return kept_.front(); }
  /// Returns the complaints that were stored, then "and 12345 more" if there were more.
  [[nodiscard]] std::vector<Complaint> listed() const;

 private:
  std::vector<Complaint> kept_;
  std::size_t count_ = 0;
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
