// Decompresses with zlib.
#include "sim/io/json/gunzip.h"

#include <zlib.h>

#include <vector>

namespace foretoken::io {
namespace {

class Inflater {
 public:
  explicit Inflater(std::string_view bytes) {
    // zlib reads through a pointer that is not const, and does not write to it.
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT(*-const-cast)
    z_.avail_in = static_cast<uInt>(bytes.size());
    constexpr int kGzip = 16;  // inflateInit2: gzip alone is asked for by 16 more window bits
    works_ = ::inflateInit2(&z_, MAX_WBITS + kGzip) == Z_OK;
  }
  ~Inflater() {
    if (works_) ::inflateEnd(&z_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends the next bytes to `text`. Returns false where the input is broken.
  bool add_to(std::string& text) {
    z_.next_out = block_.data();
    z_.avail_out = static_cast<uInt>(block_.size());
    const int state = works_ ? ::inflate(&z_, Z_NO_FLUSH) : Z_MEM_ERROR;
    text.append(reinterpret_cast<const char*>(block_.data()), block_.size() - z_.avail_out);
    ended_ = state == Z_STREAM_END;
    if (ended_ && z_.avail_in > 0) return ::inflateReset(&z_) == Z_OK;  // a further member follows
    return ended_ || state == Z_OK;
  }
  [[nodiscard]] bool done() const { return ended_ && z_.avail_in == 0; }

 private:
  z_stream z_{};
  bool works_ = false, ended_ = false;
  std::vector<Bytef> block_ = std::vector<Bytef>(std::size_t{1} << 16);
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::optional<std::string> gunzip(std::string_view bytes, std::size_t most) {
  Inflater inflater(bytes);
  std::string text;
  while (!inflater.done() && text.size() <= most)
    if (!inflater.add_to(text)) return std::nullopt;
  return text;
}

}  // namespace foretoken::io
