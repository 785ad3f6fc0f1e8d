#include "text/text.h"

#include <algorithm>

#include "text/nfc.h"

namespace nmt {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::u32string_view kBreaks = U"\t\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029";
constexpr std::u32string_view kSpaces =
    U"\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    U"\u2028\u2029\u202f\u205f\u3000";  // stripped by Python's str.strip()

// Length of a character with this first byte, and the range of its second byte (the Unicode Standard, table 3-7).
struct Form {
  int bytes;
  unsigned char least, most;
};

Form form(unsigned char first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xC2 || first > 0xF4) return {0, 0, 0};
  if (first < 0xE0) return {2, 0x80, 0xBF};
  if (first < 0xF0)
    return {3, (unsigned char)(first == 0xE0 ? 0xA0 : 0x80), (unsigned char)(first == 0xED ? 0x9F : 0xBF)};
  return {4, (unsigned char)(first == 0xF0 ? 0x90 : 0x80), (unsigned char)(first == 0xF4 ? 0x8F : 0xBF)};
}

}  // namespace

std::u32string decoded(std::string_view bytes, size_t& replaced) {
  static const unsigned char kFirstBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::u32string text;
  text.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const unsigned char first = (unsigned char)bytes[at++];
    const Form whole = form(first);
    char32_t code = first & kFirstBits[whole.bytes];
    int read = whole.bytes ? 1 : 0;
    for (; read && read < whole.bytes && at < bytes.size(); ++read, ++at) {
      const unsigned char next = (unsigned char)bytes[at];
      if (read == 1 ? next < whole.least || next > whole.most : (next & 0xC0) != 0x80) break;
      code = code << 6 | (next & 0x3F);
    }
    const bool good = read && read == whole.bytes;
    replaced += !good;
    text += good ? code : kReplacement;
  }
  return text;
}

std::string encoded(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (char32_t code : text) {
    if (code < 0x80) {
      bytes += (char)code;
      continue;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char kMarks[] = {0, 0xC0, 0xE0, 0xF0};
    bytes += (char)(kMarks[more] | code >> 6 * more);
    for (int place = more - 1; place >= 0; --place) bytes += (char)(0x80 | (code >> 6 * place & 0x3F));
  }
  return bytes;
}

std::u32string sentence(const std::u32string& text) {
  std::u32string line = text, before;
  do {
    before = line;
    line = nfc(visible(before));
  } while (line != before);
  for (char32_t& code : line)
    if (kBreaks.find(code) != kBreaks.npos) code = U' ';
  const size_t start = line.find_first_not_of(kSpaces);
  if (start == line.npos) return {};
  return line.substr(start, line.find_last_not_of(kSpaces) + 1 - start);
}

}  // namespace nmt
