// Parts of the engine that Python cannot reach, one per call, for tests: what is printed is what the part did.
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <new>

#include "runtime/buffer.h"
#include "runtime/json.h"
#include "runtime/pages.h"
#include "runtime/team.h"

static size_t allocations = 0;
void* operator new(size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

void json() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  nmt::Json json(text, "the text");
  json.skip();
  std::cout << (json.finished() ? "read" : "read the start");
}

void growth() {
  nmt::Buffer<float> buffer;
  buffer.get(10);
  {
    const nmt::Buffer<float>::Hold hold(buffer);
    buffer.get(10);
    std::cout << "kept " << std::flush;
  }
  buffer.get(20);
  std::cout << "grown " << std::flush;
  const nmt::Buffer<float>::Hold hold(buffer);
  buffer.get(30);
  std::cout << "grown while held";
}

void pages() {
  nmt::Pages pages(64);
  nmt::PageTable one, other;
  *one.writable(pages, 0) = 'a';
  *one.writable(pages, 16) = 'b';
  other.copy(pages, one);
  std::cout << (one.data()[0] == other.data()[0]) << (one.data()[1] == other.data()[1]) << " ";
  *other.writable(pages, 17) = 'c';  // copies the last page only
  std::cout << (one.data()[0] == other.data()[0]) << *one.data()[1] << *other.data()[1] << " ";
  const char* const last = other.data()[1];
  other.clear(pages);
  std::cout << (pages.allocate() == last) << !pages.shared(one.data()[0]);
}

void shared_work() {
  nmt::Team team(3);
  int done[3] = {}, a = 1, b = 1, c = 1;
  const auto work = [&](int part) { done[part] += a + b + c; };
  team.run(3, work);  // allocates what it needs once
  const size_t before = allocations;
  for (int i = 0; i < 100; ++i) team.run(3, work);
  std::cout << done[0] << " " << done[1] << " " << done[2] << " " << allocations - before << " ";
  team.run(3, [](int part) {
    if (part) throw nmt::Error("part " + std::to_string(part));
  });
}

}  // namespace

int main(int, char** arguments) {
  try {
    const std::string part = arguments[1];
    part == "json" ? json() : part == "growth" ? growth() : part == "pages" ? pages() : shared_work();
  } catch (const nmt::Error& error) {
    std::cout << error.what();
  }
}
