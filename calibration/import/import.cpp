// Reads measurement files, and writes samples.
#include "calibration/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "calibration/import/exchange_csv.h"
#include "calibration/import/experts_csv.h"
#include "calibration/import/inference/decode_csv.h"
#include "calibration/import/kernel_csv.h"
#include "calibration/import/nccl/nccl_tests_json.h"
#include "calibration/import/sample_lines.h"
#include "sim/base/error.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::measured {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& message) {
  throw ConfigError({{path.string(), "", message}});
}

std::vector<fs::path> sample_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".jsonl") files.push_back(entry->path());
  if (error) refuse(folder, fmt::format("cannot be read: {}", error.message()));
  std::sort(files.begin(), files.end());
  if (files.empty()) refuse(folder, "no *.jsonl file: expected a folder that foretoken-calibrate wrote");
  return files;
}

}  // namespace

std::string text_of(const fs::path& path) {
  std::error_code unreadable;
  if (fs::is_directory(path, unreadable)) refuse(path, "expected a file, found a folder");
  io::Findings findings;
  const auto text = io::read_text_file(path, path.string(), findings);
  findings.throw_if_wrong();
  return *text;
}

Samples import_nccl_tests(const std::vector<fs::path>& files, const NcclTestsHints& hints) {
  Samples all;
  Complaints complaints;
  for (const fs::path& path : files) {
    try {
      const std::string text = text_of(path);
      const std::size_t first = text.find_first_not_of(" \t\r\n");
      const bool json = first != std::string::npos && text[first] == '{';
      all.append(json ? parse_nccl_tests_json(text, path.string(), hints)
                      : parse_nccl_tests_text(text, path.string(), hints));
    } catch (const ConfigError& error) {
      complaints.append(error.complaints());
    }
  }
  if (!complaints.empty()) throw ConfigError(complaints.listed());
  return all;
}

Samples import_gemm_csv(const fs::path& file, const GemmCsvHints& hints) {
  return parse_gemm_csv(text_of(file), file.string(), hints);
}

Samples import_samples(const fs::path& folder_or_file) {
  std::error_code missing;
  if (!fs::is_directory(folder_or_file, missing)) return read_lines(text_of(folder_or_file), folder_or_file.string());
  Samples all;
  Complaints complaints;
  for (const fs::path& path : sample_files(folder_or_file)) {
    try {
      all.append(read_lines(text_of(path), path.string()));
    } catch (const ConfigError& error) {
      complaints.append(error.complaints());
    }
  }
  if (!complaints.empty()) throw ConfigError(complaints.listed());
  return all;
}

Samples import_csv(const std::string& text, const std::string& file, const RowChoice& choice) {
  const std::string_view header = std::string_view(text).substr(0, text.find_first_of("\r\n"));
  if (is_exchange_csv(header)) return parse_exchange_csv(text, file, choice);
  if (is_experts_csv(header)) {
    Samples layers;
    layers.experts = parse_experts_csv(text, file, choice, ExpertRanks::kAny);
    return layers;
  }
  if (is_decode_csv(header)) return parse_decode_csv(text, file, choice);
  return is_kernel_csv(header) ? parse_kernel_csv(text, file, choice) : parse_gemm_csv(text, file, {.choice = choice});
}

Samples import_any(const fs::path& folder_or_file) {
  std::error_code missing;
  if (fs::is_directory(folder_or_file, missing)) return import_samples(folder_or_file);
  const std::string text = text_of(folder_or_file);
  const fs::path unpacked = folder_or_file.extension() == ".gz" ? folder_or_file.stem() : folder_or_file;
  if (unpacked.extension() == ".csv") return import_csv(text, folder_or_file.string());
  const std::string first = text.substr(0, text.find('\n'));
  const bool samples = unpacked.extension() == ".jsonl" || first.starts_with("{\"header\"");
  return samples ? read_lines(text, folder_or_file.string()) : import_nccl_tests({folder_or_file});
}

void write_samples(const Samples& samples, const fs::path& file) {
  const fs::path partial = file.string() + ".partial";
  {
    std::ofstream out(partial, std::ios::binary | std::ios::trunc);
    out << write_lines(samples);
    out.flush();
    if (!out) refuse(file, fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  std::error_code error;
  fs::rename(partial, file, error);
  if (error) refuse(file, fmt::format("cannot be written: {}", error.message()));
}

}  // namespace foretoken::measured
