// A vector that is indexed by one kind of id and by nothing else.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/base/ids.h"

namespace foretoken {

/// One T for every id below size(). Precondition of operator[]: the id is below size().
template <class Id, class T>
class Table {
 public:
  using value_type = T;

  Table() = default;
  template <class Count>
  explicit Table(Count size, const T& value = T()) : values_(static_cast<std::size_t>(size), value) {}
  explicit Table(std::vector<T> values) : values_(std::move(values)) {}

  [[nodiscard]] decltype(auto) operator[](Id id) { return values_[id.index()]; }
  [[nodiscard]] decltype(auto) operator[](Id id) const { return values_[id.index()]; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] IdRange<Id> ids() const { return IdRange<Id>(static_cast<std::uint32_t>(values_.size())); }
  /// The id that the next push_back will have.
  [[nodiscard]] Id end_id() const { return Id{static_cast<std::uint32_t>(values_.size())}; }

  void push_back(T value) { values_.push_back(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    return values_.emplace_back(std::forward<Args>(args)...);
  }
  void reserve(std::size_t count) { values_.reserve(count); }
  void resize(std::size_t count) { values_.resize(count); }

  [[nodiscard]] T& front() { return values_.front(); }
  [[nodiscard]] T& back() { return values_.back(); }
  [[nodiscard]] const T& front() const { return values_.front(); }
  [[nodiscard]] const T& back() const { return values_.back(); }
  [[nodiscard]] auto begin() { return values_.begin(); }
  [[nodiscard]] auto end() { return values_.end(); }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.end(); }
  [[nodiscard]] const std::vector<T>& values() const { return values_; }

  friend auto operator<=>(const Table&, const Table&) = default;
  friend bool operator==(const Table&, const Table&) = default;

 private:
  std::vector<T> values_;
};

/// One T for every pipeline stage.
template <class T>
using PerStage = Table<Stage, T>;

/// The numbers of some ids, for texts and files.
template <class Ids>
[[nodiscard]] std::vector<int> numbers_of(const Ids& ids) {
  std::vector<int> numbers;
  numbers.reserve(ids.size());
  for (const auto id : ids) numbers.push_back(id.number());
  return numbers;
}

}  // namespace foretoken
