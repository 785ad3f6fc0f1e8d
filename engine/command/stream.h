// Standard input and output for several workers: windows of lines are handed out in order and may return in any order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace nmt {

class Stream {
 public:
  // window: bytes of lines that are translated together. ahead: windows that may be read before the first of them is
  // written, which bounds memory.
  Stream(int in, int out, size_t window, size_t ahead) : in_(in), out_(out), window_(window), ahead_(ahead) {}

  // Gets the next window and its number; false at the end of the input. Waits while too many windows are unwritten.
  bool take(std::vector<std::string>& lines, size_t& number);
  // Writes the text of a window once all earlier windows are written.
  void put(size_t number, std::string text);

 private:
  bool next_line(std::string& line);
  bool fill();
  void write_all(const std::string& text);

  const int in_, out_;
  const size_t window_, ahead_;
  std::mutex reading_, writing_;
  std::condition_variable written_more_;
  // Guarded by reading_
  std::string buffer_;
  size_t at_ = 0;  // position in the buffer
  size_t taken_ = 0;
  // Guarded by writing_
  std::map<size_t, std::string> waiting_;
  size_t written_ = 0;
};

}  // namespace nmt
