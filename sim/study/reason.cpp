// Words complaints with dotted keys instead of JSON pointers.
#include "sim/study/reason.h"

#include <algorithm>

namespace foretoken::study {

std::string reason(const Complaint& complaint) {
  if (complaint.pointer.empty()) return complaint.message;
  std::string key = complaint.pointer.substr(1);
  std::replace(key.begin(), key.end(), '/', '.');
  return key + ": " + complaint.message;
}

std::string reasons(const std::vector<Complaint>& complaints) {
  std::string text;
  for (const Complaint& complaint : complaints) {
    if (!text.empty()) text += '\n';
    text += reason(complaint);
  }
  return text;
}

}  // namespace foretoken::study
