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

std::string Paint::paragraph(std::string_view first, std::string_view text) const {
  return report::paragraph(first, text, columns_);
}

std::string Paint::name(std::string_view name) const {
  const std::string lines = paragraph("", name);
  return (*this)(Ink::kBold, std::string_view(lines).substr(0, lines.size() - 1)) + '\n';
}

std::string Paint::items(const std::vector<std::string>& items) const {
  std::string text;
  std::size_t used = 0;
  for (const std::string& item : items) {
    if (used > 0 && used + 2 + columns_of(item) > columns_) {
      text += '\n';
      used = 0;
    }
    text += "  " + item;
    used += 2 + columns_of(item);
  }
  return text + '\n';
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

// Returns true for words between which a line may not break: a number, its magnitude and its unit.
bool belong_together(std::string_view first, std::string_view second) {
  static constexpr std::string_view kMagnitudes[] = {"thousand", "million", "billion", "trillion"};
  static constexpr std::string_view kUnits[] = {
      "%",     "s",       "ms",       "us",        "ns",       "bytes", "kB",     "MB",      "GB",
      "TB",    "KiB",     "MiB",      "GiB",       "TiB",      "GB/s",  "years",  "days",    "hours",
      "hour",  "minutes", "GPU",      "GPUs",      "W",        "MWh",   "USD",    "TFLOP/s", "nodes",
      "token", "tokens",  "tokens/s", "sequences", "sequence", "GPU-s", "columns"};
  const auto is_in = [](std::string_view word, const auto& words) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  };
  if (first.empty()) return false;
  const std::string_view unit = second.substr(0, second.find_last_not_of("),.;:") + 1);
  const bool number = (first.back() >= '0' && first.back() <= '9') || first.back() == '*';
  if (first == "+/-") return true;
  return (number && (is_in(unit, kMagnitudes) || is_in(unit, kUnits))) ||
         (is_in(first, kMagnitudes) && is_in(unit, kUnits));
}

// Returns the part of a list without spaces that fits into a line, up to a comma: "nodes,gpus," of "nodes,gpus,hidden".
std::string_view list_that_fits(std::string_view word, std::size_t columns) {
  if (columns_of(word) <= columns) return word;
  const std::size_t comma = word.substr(0, columns).rfind(',');
  return comma == word.npos ? word : word.substr(0, comma + 1);
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
    std::string_view word = list_that_fits(word_at(start), columns - std::min(columns, indent));
    at = start + word.size();
    for (std::string_view last = word; at + 1 < text.size() && text[at] == ' ';) {
      const std::string_view next = word_at(at + 1);
      if (!belong_together(last, next)) break;
      last = next;
      at += 1 + next.size();
      word = text.substr(start, at - start);
    }
    const std::size_t width = columns_of(word);
    const std::size_t start_of_line =
        std::min(indent, columns - std::min(columns, width));  // a long word starts earlier
    if ((!fresh && used + 1 + width > columns) || (fresh && used > start_of_line)) {
      out += '\n' + std::string(start_of_line, ' ');
      used = start_of_line;
      fresh = true;
    }
    if (!fresh) out += ' ', ++used;
    out += word;
    used += width;
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

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> width;
  for (const Column& column : columns_) width.push_back(columns_of(column.head));
  for (const auto& row : rows_) {
    const std::size_t cells = row.size() < columns_.size() ? row.size() - 1 : row.size();  // a note takes no column
    for (std::size_t c = 0; c < cells; ++c) width[c] = std::max(width[c], columns_of(row[c]));
  }
  return width;
}

std::string Table::text_of(const std::vector<std::size_t>& shown, const Paint& paint, std::size_t indent) const {
  const std::vector<std::size_t> width = widths();
  const auto cell = [&](std::size_t c, std::string_view text) {
    return columns_[c].align == Align::kRight ? pad_left(text, width[c]) : pad_right(text, width[c]);
  };
  const auto add_last = [&](std::string& out, const std::string& text) {  // it is wrapped, not padded
    out = columns_of(out) + columns_of(text) > paint.columns() ? paint.paragraph(out, text) : out + text;
  };
  const auto line = [&](const std::vector<std::string>& row) {
    std::string out(indent, ' ');
    const bool note = row.size() < columns_.size();
    for (const std::size_t c : shown) {
      if (note && c + 1 >= row.size()) break;
      if (c != shown.front()) out += "  ";
      if (!note && c == shown.back() && columns_[c].align == Align::kLeft)
        add_last(out, row[c]);
      else
        out += cell(c, row[c]);
    }
    if (note) add_last(row.size() > 1 ? out += "  " : out, row.back());
    out.erase(out.find_last_not_of(" \n") + 1);
    return out;
  };
  std::vector<std::string> heads;
  for (const Column& column : columns_) heads.push_back(column.head);
  std::string out = paint(Ink::kDim, line(heads)) + '\n';
  for (const auto& row : rows_) out += line(row) + '\n';
  return out;
}

std::string Table::text(const Paint& paint, std::size_t indent, std::string_view elsewhere) const {
  const std::vector<std::size_t> width = widths();
  std::vector<std::size_t> shown;
  std::size_t used = indent;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    shown.push_back(c);
    used += width[c] + 2;
  }
  std::vector<std::string> left_out;
  while (used > paint.columns() + 2) {  // the first column has no gap
    const auto spare = [&](std::size_t a, std::size_t b) { return columns_[a].spare < columns_[b].spare; };
    const auto most = std::max_element(shown.begin(), shown.end(), spare);
    if (columns_[*most].spare == 0) break;
    left_out.push_back(columns_[*most].head);
    used -= width[*most] + 2;
    shown.erase(most);
  }
  const std::string table = text_of(shown, paint, indent);
  if (left_out.empty()) return table;
  std::string names;
  for (const std::string& name : left_out) names += (names.empty() ? "" : ", ") + name;
  return table + paint.paragraph(std::string(indent, ' '),
                                 "too wide for the page, in " + std::string(elsewhere) + ": " + names);
}

}  // namespace foretoken::report
