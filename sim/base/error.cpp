// Words complaints.
#include "sim/base/error.h"

#include <utility>

#include "sim/base/text.h"

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

// The name of a file or a place in it, short enough to leave room for what is wrong there.
std::string shortened(const std::string& place) {
  constexpr std::size_t kEnds = 150;
  if (place.size() <= 2 * kEnds) return place;
  const std::string text = place.substr(0, kEnds) + "..." + place.substr(place.size() - kEnds);
  return printable(text);  // the cut may stand inside a character
}

}  // namespace

std::string Complaint::line() const {
  if (!option.empty()) return option + ": " + message;
  std::string text = shortened(file);
  if (!text.empty()) text += ": ";
  if (!pointer.empty()) text += shortened(pointer) + ": ";
  return text + message;
}

void Complaints::push_back(Complaint complaint) {
  if (!is_full()) kept_.push_back(std::move(complaint));
  ++count_;
}

void Complaints::append(const std::vector<Complaint>& more) {
  for (const Complaint& each : more) push_back(each);
}

std::vector<Complaint> Complaints::listed() const {
  std::vector<Complaint> all = kept_;
  if (count_ > kept_.size())
    all.push_back({kept_.back().file, "", "and " + std::to_string(count_ - kept_.size()) + " more complaints"});
  return all;
}

ConfigError::ConfigError(std::vector<Complaint> complaints)
    : std::runtime_error(joined(complaints)), complaints_(std::move(complaints)) {}

}  // namespace foretoken
