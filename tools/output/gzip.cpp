// Compresses with zlib.
#include "tools/output/gzip.h"

#include <zlib.h>

#include <array>
#include <new>

#include "sim/base/check.h"

namespace foretoken::tools {

struct Gzip::Stream {
  z_stream z{};

  // Gives `text` to zlib and returns what it gives back.
  std::string deflated(std::string_view text, int flush) {
    std::string out;
    std::array<char, 1 << 16> piece{};
    // zlib reads through a pointer that is not const, and does not write to it.
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT(cppcoreguidelines-pro-type-*)
    z.avail_in = static_cast<uInt>(text.size());
    do {
      z.next_out = reinterpret_cast<Bytef*>(piece.data());  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
      z.avail_out = static_cast<uInt>(piece.size());
      expects(::deflate(&z, flush) != Z_STREAM_ERROR, "a stream is compressed from its beginning to its end");
      out.append(piece.data(), piece.size() - z.avail_out);
    } while (z.avail_out == 0);
    return out;
  }
};

bool is_gzip_name(std::string_view path) { return path.ends_with(".gz"); }

Gzip::Gzip() : stream_(std::make_unique<Stream>()) {
  constexpr int kGzip = 16, kMemoryLevel = 8;  // deflateInit2: a gzip header is asked for by 16 more window bits
  if (::deflateInit2(&stream_->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

Gzip::~Gzip() { ::deflateEnd(&stream_->z); }

std::string Gzip::add(std::string_view text) {
  constexpr std::size_t kMost = 1 << 30;  // zlib counts in 32 bits
  std::string out;
  for (; text.size() > kMost; text.remove_prefix(kMost)) out += stream_->deflated(text.substr(0, kMost), Z_NO_FLUSH);
  return out + stream_->deflated(text, Z_NO_FLUSH);
}

std::string Gzip::finish() { return stream_->deflated({}, Z_FINISH); }

}  // namespace foretoken::tools
