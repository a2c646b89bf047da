// Lists by link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace foretoken::ranks {

/// A list for each link. Most are empty.
template <class T>
class ByLink {
 public:
  void add(std::uint32_t link, T value) {
    if (link >= lists_.size()) lists_.resize(std::size_t{link} + 1);
    lists_[link].push_back(value);
  }
  /// Returns true when all lists are empty.
  [[nodiscard]] bool empty() const { return lists_.empty(); }
  [[nodiscard]] std::span<const T> of(std::uint32_t link) const {
    return link < lists_.size() ? std::span<const T>(lists_[link]) : std::span<const T>();
  }
  /// Calls f(link, list) for every list that is not empty, in the order of links.
  template <class F>
  void for_each(const F& f) const {
    for (std::uint32_t link = 0; link < lists_.size(); ++link)
      if (!lists_[link].empty()) f(link, std::span<const T>(lists_[link]));
  }

 private:
  std::vector<std::vector<T>> lists_;
};

}  // namespace foretoken::ranks
