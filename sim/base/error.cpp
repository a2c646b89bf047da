// The wording of complaints.
#include "sim/base/error.h"

#include <utility>

namespace foretoken {
namespace {

std::string joined(const std::vector<Complaint>& complaints) {
  std::string text;
  for (const Complaint& complaint : complaints) {
    if (!text.empty()) text += '\n';
    text += complaint.line();
  }
  return text;
}

}  // namespace

std::string Complaint::line() const {
  if (!option.empty()) return option + ": " + message;
  std::string text = file;
  if (!text.empty()) text += ": ";
  if (!pointer.empty()) text += pointer + ": ";
  return text + message;
}

ConfigError::ConfigError(std::vector<Complaint> complaints)
    : std::runtime_error(joined(complaints)), complaints_(std::move(complaints)) {}

}  // namespace foretoken
