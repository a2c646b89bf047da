// Lays out text on a terminal. Columns count characters of UTF-8: every glyph used here is one column wide.
#include "sim/report/text/layout.h"

#include <algorithm>
#include <cmath>

namespace foretoken::report {
namespace {

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::kBold:
      return "1";
    case Ink::kDim:
      return "2";
    case Ink::kBlue:
      return "34";
    case Ink::kOrange:
      return "33";
    case Ink::kGreen:
      return "32";
    case Ink::kRed:
      return "31";
    case Ink::kCyan:
      return "36";
    case Ink::kMagenta:
      return "35";
  }
  return "0";
}

}  // namespace

std::string Paint::operator()(Ink ink, std::string_view text) const {
  if (!colour_ || text.empty()) return std::string(text);
  return std::string("\x1b[") + code_of(ink) + "m" + std::string(text) + "\x1b[0m";
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      while (at < text.size() && text[at] != 'm') ++at;
    } else if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

std::string pad_right(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(text) + std::string(columns > used ? columns - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(columns > used ? columns - used : 0, ' ') + std::string(text);
}

std::string repeat(std::string_view glyph, std::size_t count) {
  std::string text;
  text.reserve(glyph.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += glyph;
  return text;
}

std::string bar(double fraction, std::size_t columns) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  const auto eighths = static_cast<std::size_t>(std::llround(clamped * static_cast<double>(columns) * 8));
  return repeat("█", eighths / 8) + kEighths[eighths % 8];
}

std::vector<std::size_t> stacked_columns(const std::vector<double>& parts, double whole, std::size_t columns) {
  std::vector<std::size_t> cells;
  double sum = 0;
  std::size_t used = 0;
  for (const double part : parts) {
    sum += part;
    const double share = whole > 0 ? std::clamp(sum / whole, 0.0, 1.0) : 0;
    const auto end = static_cast<std::size_t>(std::llround(share * static_cast<double>(columns)));
    cells.push_back(end - used);
    used = end;
  }
  return cells;
}

namespace {

// Returns true for a number and its unit, between which a line may not break.
bool belong_together(std::string_view number, std::string_view unit) {
  static constexpr std::string_view kUnits[] = {"%",    "s",    "ms",    "us",      "ns",      "bytes",   "kB",
                                                "MB",   "GB",   "TB",    "KiB",     "MiB",     "GiB",     "TiB",
                                                "GB/s", "days", "hours", "million", "billion", "trillion"};
  if (number.empty() || number.back() < '0' || number.back() > '9') return false;
  const std::string_view word = unit.substr(0, unit.find_last_not_of("),.;:") + 1);
  return std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits);
}

}  // namespace

std::string paragraph(std::string_view first, std::string_view text, std::size_t columns) {
  const std::size_t indent = columns_of(first);
  std::string out(first);
  std::size_t used = indent;
  bool fresh = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = text.find_first_not_of(" \n", at);
    if (start == text.npos) break;
    const auto word_at = [&](std::size_t from) {
      return text.substr(from, std::min(text.find_first_of(" \n", from), text.size()) - from);
    };
    std::string_view word = word_at(start);
    at = start + word.size();
    if (at + 1 < text.size() && text[at] == ' ' && belong_together(word, word_at(at + 1))) {
      at += 1 + word_at(at + 1).size();
      word = text.substr(start, at - start);
    }
    if (!fresh && used + 1 + columns_of(word) > columns) {
      out += '\n' + std::string(indent, ' ');
      used = indent;
      fresh = true;
    }
    if (!fresh) out += ' ', ++used;
    out += word;
    used += columns_of(word);
    fresh = false;
  }
  return out + '\n';
}

std::string one_line(std::string_view text, std::size_t columns) {
  constexpr std::size_t kDots = 4;  // " ..."
  if (columns_of(text) <= columns) return std::string(text);
  std::size_t word = 0, clause = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != ' ' || columns_of(text.substr(0, at)) + kDots > columns) continue;
    word = at;
    if (at > 0 && (text[at - 1] == ':' || text[at - 1] == ';')) clause = at - 1;
  }
  const std::size_t end = 2 * clause > columns ? clause : word;
  return std::string(text.substr(0, end)) + " ...";
}

void Table::add_note(std::vector<std::string> cells, std::string note) {
  cells.push_back(std::move(note));
  rows_.push_back(std::move(cells));
}

std::string Table::text(const Paint& paint, std::size_t indent) const {
  std::vector<std::size_t> width;
  for (const Column& column : columns_) width.push_back(columns_of(column.head));
  for (const auto& row : rows_) {
    const std::size_t cells = row.size() < columns_.size() ? row.size() - 1 : row.size();  // a note takes no column
    for (std::size_t c = 0; c < cells; ++c) width[c] = std::max(width[c], columns_of(row[c]));
  }
  const auto cell = [&](std::size_t c, std::string_view text) {
    return columns_[c].align == Align::kRight ? pad_left(text, width[c]) : pad_right(text, width[c]);
  };
  const auto line = [&](const std::vector<std::string>& row) {
    std::string out(indent, ' ');
    const bool note = row.size() < columns_.size();
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out += "  ";
      const bool last = c + 1 == row.size();
      if (last && (note || columns_[c].align == Align::kLeft)) {  // a long last cell is wrapped, not padded
        out = columns_of(out) + columns_of(row[c]) > kPageColumns ? paragraph(out, row[c]) : out + row[c];
      } else {
        out += cell(c, row[c]);
      }
    }
    out.erase(out.find_last_not_of(" \n") + 1);
    return out;
  };
  std::vector<std::string> heads;
  for (const Column& column : columns_) heads.push_back(column.head);
  std::string out = paint(Ink::kDim, line(heads)) + '\n';
  for (const auto& row : rows_) out += line(row) + '\n';
  return out;
}

}  // namespace foretoken::report
