// A table of results that are computed once and shared between threads.
#pragma once

#include <map>
#include <mutex>
#include <optional>

namespace foretoken {

/// Value by key. The first thread to ask computes it, and the others wait. References stay valid until clear().
template <class Key, class Value>
class Memo {
 public:
  template <class Make>
  const Value& get(const Key& key, Make make) {
    Slot* slot = nullptr;
    {
      const std::lock_guard lock(mutex_);
      slot = &slots_[key];
    }
    std::call_once(slot->once, [&] { slot->value.emplace(make()); });
    return *slot->value;
  }
  /// Drops all values. Precondition: no thread holds a reference or asks for one.
  void clear() { slots_.clear(); }

 private:
  struct Slot {
    std::once_flag once;
    std::optional<Value> value;
  };
  std::mutex mutex_;
  std::map<Key, Slot> slots_;
};

}  // namespace foretoken
