// Keeps all words of the process in one set.
#include "sim/base/word.h"

#include <functional>
#include <mutex>
#include <set>

namespace foretoken {
namespace {

const std::string& kept(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> words;
  const std::lock_guard lock(mutex);
  const auto found = words.find(text);
  return found != words.end() ? *found : *words.emplace(text).first;
}

}  // namespace

Word::Word(std::string_view text) : text_(text.empty() ? &empty() : &kept(text)) {}

const std::string& Word::empty() {
  static const std::string kEmpty;
  return kEmpty;
}

}  // namespace foretoken
