// Describes data files in words: a row for the list, a page for one file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"
#include "sim/report/text/layout.h"

namespace foretoken::tools {

/// Lists and shows files of one kind. `row` and `page` add errors of a file to the document's findings.
struct Described {
  std::string_view command;  ///< "models"
  std::string_view about;
  io::DataKind kind;
  std::vector<report::Table::Column> columns;
  std::vector<std::string> (*row)(const io::Document&, io::Findings&);
  std::string (*page)(const io::Document&, io::Findings&, const report::Paint&);
};

[[nodiscard]] Described described_models();
[[nodiscard]] Described described_clusters();
[[nodiscard]] Described described_profiles();
[[nodiscard]] Described described_runtimes();
[[nodiscard]] Described described_scenarios();

/// Opens the file of a name or a path and merges its bases in. Throws ConfigError when there is none or it cannot be
/// read. `asker` is the command that complaints name.
[[nodiscard]] io::Document open_data_file(const io::DataKind& kind, const std::string& name, const std::string& asker);

/// Describes topologies/links/links.json: the rate of each kind of link, both ways and each way.
[[nodiscard]] io::Document links_document();
[[nodiscard]] std::string links_page(const report::Paint& paint);

/// Returns "  label        text", wrapped, or nothing when the text is empty.
[[nodiscard]] std::string entry(const report::Paint& paint, std::string_view label, std::string_view text);
[[nodiscard]] std::string_view yes_no(bool value);

}  // namespace foretoken::tools
