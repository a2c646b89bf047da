// Reads the host of a node: memory, links to the GPUs, disks.
#include "sim/io/hardware/read_host.h"

#include <fmt/format.h>

namespace foretoken::io {
namespace {

constexpr Range kHostRate{.low = 1e-3, .high = 1e6};   // GB/s
constexpr Range kHostBytes{.low = 1e9, .high = 1e16};  // a gigabyte to ten petabytes

std::optional<net::Disks> read_disks(const Node& host) {
  const std::optional<Node> nvme = host.find_object("nvme");
  if (!nvme) return std::nullopt;
  nvme->allow_only({"bytes", "read_gb_per_s", "write_gb_per_s"});
  return net::Disks{.capacity = Bytes(nvme->number("bytes", kHostBytes)),
                    .read = gigabytes_per_second(nvme->number("read_gb_per_s", kHostRate)),
                    .write = gigabytes_per_second(nvme->number("write_gb_per_s", kHostRate))};
}

}  // namespace

std::optional<net::Host> read_host(const Node& node, int gpus) {
  const std::optional<Node> host = node.find_object("host");
  if (!host) return std::nullopt;
  host->allow_only({"memory_bytes", "memory_gb_per_s", "gpus_per_link", "nvme", "source"});
  const auto shared = static_cast<int>(host->find_whole("gpus_per_link", {.low = 1, .high = 1024}).value_or(1));
  if (shared > gpus)
    host->complain("gpus_per_link", fmt::format("expected at most the node's {} GPUs, found {}", gpus, shared));
  return net::Host{.memory = Bytes(host->number("memory_bytes", kHostBytes)),
                   .memory_bandwidth = gigabytes_per_second(host->number("memory_gb_per_s", kHostRate)),
                   .gpus_per_link = shared,
                   .disks = read_disks(*host)};
}

}  // namespace foretoken::io
