// Pages of 16 positions of one hypothesis or sentence in all layers, shared by reference count and copied on write.
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernels.h"
#include "runtime/buffer.h"

namespace nmt {

class Pages {
 public:
  explicit Pages(size_t page_bytes) : page_bytes_(page_bytes) {}

  char* allocate() {
    if (free_.empty()) grow();
    const int page = free_.back();
    free_.pop_back();
    owners_[page] = 1;
    return at(page);
  }
  void share(char* page) { ++owners_[number(page)]; }
  void release(char* page) {
    const int index = number(page);
    if (--owners_[index] == 0) free_.push_back(index);
  }
  bool shared(const char* page) const { return owners_[number(page)] > 1; }
  // Marks every page as free.
  void reset() {
    free_.clear();
    for (int page = (int)owners_.size() - 1; page >= 0; --page) free_.push_back(page), owners_[page] = 0;
  }
  size_t page_bytes() const { return page_bytes_; }

 private:
  static constexpr int kSlab = 32;  // pages per allocation

  // Leaves the pool unchanged if memory runs out, and nothing for `reset` to allocate.
  void grow() {
    const size_t first = owners_.size(), pages = first + kSlab;
    owners_.reserve(pages);
    free_.reserve(pages);
    Buffer<char> slab;
    slab.get(kSlab * (page_bytes_ + kHeader));
    slabs_.push_back(std::move(slab));
    owners_.resize(pages);
    for (int page = (int)pages - 1; page >= (int)first; --page) {
      free_.push_back(page);
      *reinterpret_cast<int*>(at(page) - kHeader) = page;
    }
  }
  char* at(int page) {
    return slabs_[page / kSlab].data() + (size_t)(page % kSlab) * (page_bytes_ + kHeader) + kHeader;
  }
  static int number(const char* page) { return *reinterpret_cast<const int*>(page - kHeader); }

  static constexpr size_t kHeader = 64;  // bytes before a page, which hold its number
  size_t page_bytes_;
  std::vector<Buffer<char>> slabs_;
  std::vector<int> owners_, free_;
};

// The pages of one hypothesis or sentence, in order. `writable` makes the last one writable.
class PageTable {
 public:
  void clear(Pages& pages) {
    for (char* page : table_) pages.release(page);
    table_.clear();
  }
  void copy(Pages& pages, const PageTable& other) {
    for (char* page : other.table_) pages.share(page);
    clear(pages);
    table_ = other.table_;
  }
  // Deep copies of another table's pages.
  void duplicate(Pages& pages, const PageTable& other) {
    std::vector<char*> copies;
    for (const char* page : other.table_) {
      copies.push_back(pages.allocate());
      __builtin_memcpy(copies.back(), page, pages.page_bytes());
    }
    clear(pages);
    table_ = copies;
  }
  bool empty() const { return table_.empty(); }
  // The writable page of a position, at most one past the last.
  char* writable(Pages& pages, int position) {
    const size_t index = (size_t)position / kPagePositions;
    if (index == table_.size()) {
      table_.push_back(pages.allocate());
    } else if (pages.shared(table_[index])) {
      char* const copied = pages.allocate();
      __builtin_memcpy(copied, table_[index], pages.page_bytes());
      pages.release(table_[index]);
      table_[index] = copied;
    }
    return table_[index];
  }
  const char* const* data() const { return table_.data(); }

 private:
  std::vector<char*> table_;
};

}  // namespace nmt
