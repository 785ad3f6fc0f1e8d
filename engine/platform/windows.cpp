#include <windows.h>

#include "platform/platform.h"
#include "runtime/error.h"

namespace nmt {
namespace {

Error failure(const char* what) { return Error(what + std::to_string(GetLastError())); }

std::wstring wide(const std::string& path) {
  std::wstring text(path.size(), L'\0');  // never longer than in UTF-8
  text.resize((size_t)MultiByteToWideChar(CP_UTF8, 0, path.data(), (int)path.size(), text.data(), (int)text.size()));
  return text;
}

}  // namespace

FileBytes::FileBytes(const std::string& path) {
  // Others may rename and delete the file meanwhile, as on other systems.
  const HANDLE file = CreateFileW(wide(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) throw failure("cannot be opened: error ");
  LARGE_INTEGER size;
  HANDLE mapping = nullptr;
  if (GetFileSizeEx(file, &size)) {
    size_ = (size_t)size.QuadPart;
    if (size_) mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  }
  CloseHandle(file);
  if (!size_) return;
  if (mapping) {
    data_ = static_cast<const char*>(MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0));
    CloseHandle(mapping);  // the view keeps it
  }
  if (!data_) throw failure("cannot be mapped: error ");
}

FileBytes::~FileBytes() {
  if (data_) UnmapViewOfFile(data_);
}

bool permits_tiles() { return false; }  // nobody has tried AMX there
bool has_dot_products() { return false; }
bool has_mixed_products() { return false; }

}  // namespace nmt
