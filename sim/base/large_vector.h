// A vector for tables of many megabytes.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace foretoken {

/// Allocates as std::allocator does. Memory of 4 MiB and more stands in pages of 2 MiB, where Linux grants them: the
/// first touch of each page costs microseconds on virtual machines, and random access misses fewer translations.
template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}  // NOLINT(google-explicit-constructor): containers convert their allocators

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count < kLarge / sizeof(T)) return std::allocator<T>().allocate(count);
    const std::size_t bytes = count * sizeof(T);
    void* memory = ::operator new (bytes, std::align_val_t{kPage});
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without it the pages are small
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (count < kLarge / sizeof(T)) return std::allocator<T>().deallocate(memory, count);
    ::operator delete (memory, std::align_val_t{kPage});
  }

  friend bool operator==(LargePages, LargePages) { return true; }

 private:
  static constexpr std::size_t kPage = std::size_t{1} << 21, kLarge = 2 * kPage;
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace foretoken
