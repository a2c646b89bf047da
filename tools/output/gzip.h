// Compresses output as gzip, piece by piece.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace foretoken::tools {

/// True for a file that is written as gzip: its name ends with .gz.
[[nodiscard]] bool is_gzip_name(std::string_view path);

/// Turns text into one gzip stream (RFC 1952) without a name and a time, so that equal texts give equal files.
class Gzip {
 public:
  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  /// Returns the bytes that `text` completes; they may be none.
  [[nodiscard]] std::string add(std::string_view text);
  /// Returns the last bytes. Nothing may be added after them.
  [[nodiscard]] std::string finish();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace foretoken::tools
