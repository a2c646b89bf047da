// The commands `foretoken models|clusters|profiles|runtimes|scenarios list|show`: print the shipped data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/draw/fabric_svg.h"
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/gpu_server.h"
#include "sim/report/text/number.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/describe.h"
#include "tools/text/json_csv.h"

namespace foretoken::tools {
namespace {

// Names the clusters that no file states.
std::string cards_text(const report::Paint& paint) {
  return "\n" + paint.paragraph("", fmt::format("Servers with eight cards behind PCIe, by the card's name: {}.",
                                                fmt::join(io::list_cards(), ", ")));
}

// Complains about a file that cannot be read, and lists the others.
int list(const Described& described, bool names_only, Form form) {
  const std::vector<std::string> names = io::list_names(described.kind);
  report::Table table(described.columns);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string plain;
  int status = 0;
  for (const std::string& name : names) {
    plain += name + '\n';
    if (names_only) continue;
    try {
      const io::Document document =
          open_data_file(described.kind, name, fmt::format("foretoken {} show", described.command));
      io::Findings findings;
      std::vector<std::string> row = described.row(document, findings);
      findings.throw_if_wrong();
      nlohmann::ordered_json& entry_of_row = rows.emplace_back(nlohmann::ordered_json::object());
      for (std::size_t c = 0; c < row.size(); ++c) entry_of_row[described.columns[c].head] = row[c];
      table.add(std::move(row));
    } catch (const ConfigError& error) {
      print_complaints(error);
      status = 2;
    }
  }
  if (names.empty()) throw ConfigError({{"foretoken", "", io::unknown_name(described.kind, "")}});
  const report::Paint paint = page_paint("auto");
  print(names_only            ? plain
        : form == Form::kJson ? rows.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'
        : form == Form::kCsv  ? csv_of(rows)
                              : table.text(paint, 0, "--csv and --json"));
  if (described.command == "clusters" && !names_only && form == Form::kText) print(cards_text(paint));
  return status;
}

// The table of links stands among the clusters.
bool is_links(const Described& described, const std::string& name) {
  return described.command == "clusters" && name == "links";
}

int show(const Described& described, const std::string& name, bool json, const std::string& colour) {
  if (is_links(described, name)) {
    print(json ? links_document().value.dump(2) + '\n' : links_page(page_paint(colour)));
    return 0;
  }
  const io::Document document =
      open_data_file(described.kind, name, fmt::format("foretoken {} show", described.command));
  io::Findings findings;
  const report::Paint paint = page_paint(json ? "never" : colour);
  const std::string page = described.page(document, findings, paint);
  findings.throw_if_wrong();
  if (json) {
    print(document.value.dump(2) + '\n');
  } else {
    print(page + entry(paint, "file", document.source.file));
  }
  return 0;
}

// The file that `show` prints or draws, and its options.
struct Shown {
  std::string name, colour, svg, dot;
  bool json = false;
  int nodes = 2;
};

// Writes the drawings of a cluster that were asked for.
void draw(const Described& described, const Shown& shown) {
  if (shown.svg.empty() && shown.dot.empty()) return;
  if (is_links(described, shown.name))
    throw ConfigError({{shown.svg.empty() ? "--dot" : "--svg", "",
                        "links are a table and have no drawing; expected the name of a cluster"}});
  const io::Document document =
      open_data_file(described.kind, shown.name, fmt::format("foretoken {} show", described.command));
  io::Findings findings;
  const net::Cluster cluster = io::read_cluster(document.root(findings));
  findings.throw_if_wrong();
  const net::Fabric fabric(cluster, shown.nodes);
  refuse_same_files(std::array{NamedFile{"--svg", shown.svg}, NamedFile{"--dot", shown.dot}},
                    std::array{std::filesystem::path(shown.name)});
  const std::string title = fmt::format("{}, {}", cluster.name, report::counted(shown.nodes, "node"));
  if (!shown.svg.empty()) write_file(shown.svg, draw::fabric_svg(fabric, title));
  if (!shown.dot.empty()) write_file(shown.dot, draw::fabric_dot(fabric, title));
}

void add_drawing_options(CLI::App& command, Shown& shown) {
  constexpr int kMostNodes = 64;  // more is no drawing
  command.add_option("--svg", shown.svg, "Draw nodes and network")->type_name("FILE");
  command.add_option("--dot", shown.dot, "Draw the same as a GraphViz graph")->type_name("FILE");
  command.add_option("--nodes", shown.nodes, "Number of nodes to draw (2)")
      ->check(whole_number(1, kMostNodes))
      ->type_name("N");
}

void add_kind(CLI::App& program, Action& chosen, const Described& kind) {
  const auto described = std::make_shared<Described>(kind);
  CLI::App* command = program.add_subcommand(std::string(kind.command), std::string(kind.about));
  CLI::App* listing = command->add_subcommand("list", "List all");
  const auto names_only = std::make_shared<bool>(false);
  listing->add_flag("--names", *names_only, "Print only the names, one a line");
  const auto form = std::make_shared<Form>(Form::kText);
  add_form_options(*listing, *form);
  listing->callback([&chosen, described, names_only, form] {
    chosen = [described, names_only, form] { return list(*described, *names_only, *form); };
  });
  CLI::App* showing = command->add_subcommand("show", "Show one with all its values and their source");
  const auto shown = std::make_shared<Shown>();
  showing->add_option("NAME", shown->name, "A name of the list, or a file")->required();
  showing->add_flag("--json", shown->json, "Print the file's JSON, with its bases merged in");
  add_colour_option(*showing, shown->colour);
  if (kind.command == "clusters") {
    add_drawing_options(*showing, *shown);
    add_cluster_import(*command, chosen);
  }
  showing->callback([&chosen, described, shown] {
    chosen = [described, shown] {
      draw(*described, *shown);
      return show(*described, shown->name, shown->json, shown->colour);
    };
  });
  command->footer(fmt::format("Examples:\n  foretoken {0} list\n  foretoken {0} show NAME\n", kind.command));
}

}  // namespace

io::Document open_data_file(const io::DataKind& kind, const std::string& name, const std::string& asker) {
  io::Findings findings;
  auto document =
      io::is_path(name) ? io::document_from_file(name, findings) : io::document_of_name(kind, name, asker, findings);
  if (document) document = io::with_bases(std::move(*document), kind, findings);
  findings.throw_if_wrong();
  return std::move(*document);
}

std::string entry(const report::Paint& paint, std::string_view label, std::string_view text) {
  constexpr std::size_t kLabel = 16;
  return text.empty() ? "" : paint.paragraph("  " + report::pad_right(label, kLabel), text);
}

std::string_view yes_no(bool value) { return value ? "yes" : "no"; }

void add_lists(CLI::App& program, Action& chosen) {
  for (const Described& kind :
       {described_scenarios(), described_models(), described_clusters(), described_profiles(), described_runtimes()})
    add_kind(program, chosen, kind);
}

}  // namespace foretoken::tools
