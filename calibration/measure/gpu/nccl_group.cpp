// Forms communicators and issues collectives.
#include "calibration/measure/gpu/nccl_group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/kernels/kernels.h"
#include "sim/base/check.h"

namespace foretoken::gpu {
namespace {

namespace fs = std::filesystem;
using measured::Collective;
using measured::CollectiveSample;

constexpr std::size_t kMostValues = 4096;       // doubles that ranks agree on at once
constexpr std::chrono::seconds kPatience{180};  // for other processes to start

Member member_of(int device, int rank, Comm comm, std::size_t buffer_bytes) {
  check(cudaSetDevice(device), "cudaSetDevice");
  Member member{.device = device,
                .rank = rank,
                .comm = std::move(comm),
                .stream = std::make_unique<Stream>(),
                .send = Memory(buffer_bytes),
                .receive = Memory(buffer_bytes)};
  fill_normal(member.send.data(), member.send.bytes(), Precision::kBf16, member.stream->get());
  member.stream->wait();
  return member;
}

/// Issues the sends and receives of one member, inside a group.
void exchange(const Member& member, int ranks, std::size_t count) {
  cudaStream_t stream = member.stream->get();
  for (int peer = 0; peer < ranks; ++peer) {
    const std::size_t offset = static_cast<std::size_t>(peer) * count * 2;
    check(ncclSend(member.send.data() + offset, count, ncclBfloat16, peer, member.comm.get(), stream), "ncclSend");
    check(ncclRecv(member.receive.data() + offset, count, ncclBfloat16, peer, member.comm.get(), stream), "ncclRecv");
  }
}

/// Sends to the next rank and receives from the one before, as a pipeline does and as sendrecv_perf measures.
void pass_on(const Member& member, int ranks, std::size_t count) {
  cudaStream_t stream = member.stream->get();
  const int next = (member.rank + 1) % ranks, previous = (member.rank + ranks - 1) % ranks;
  check(ncclSend(member.send.data(), count, ncclBfloat16, next, member.comm.get(), stream), "ncclSend");
  check(ncclRecv(member.receive.data(), count, ncclBfloat16, previous, member.comm.get(), stream), "ncclRecv");
}

void issue_on(const Member& member, const CollectiveSample& sample, int ranks) {
  const auto elements = static_cast<std::size_t>(sample.bytes.value()) / 2;  // bf16
  const std::size_t share = elements / static_cast<std::size_t>(ranks);
  const void* send = member.send.data();
  void* receive = sample.in_place ? member.send.data() : member.receive.data();
  ncclComm_t comm = member.comm.get();
  cudaStream_t stream = member.stream->get();
  switch (sample.kind) {
    case Collective::kAllReduce:
      return check(ncclAllReduce(send, receive, elements, ncclBfloat16, ncclSum, comm, stream), "ncclAllReduce");
    case Collective::kAllGather:
      return check(ncclAllGather(send, receive, share, ncclBfloat16, comm, stream), "ncclAllGather");
    case Collective::kReduceScatter:
      return check(ncclReduceScatter(send, receive, share, ncclBfloat16, ncclSum, comm, stream), "ncclReduceScatter");
    case Collective::kBroadcast:
      return check(ncclBroadcast(send, receive, elements, ncclBfloat16, 0, comm, stream), "ncclBroadcast");
    case Collective::kAllToAll:
      return exchange(member, ranks, share);
    case Collective::kSendRecv:
      return pass_on(member, ranks, elements);
    default:
      expects(false, "the plan holds only collectives that are measured here");
  }
}

std::string host_name() {
  std::array<char, 256> name{};
  expects(::gethostname(name.data(), name.size() - 1) == 0, "a host has a name");
  return name.data();
}

void put_id(const fs::path& path, const ncclUniqueId& id) {
  const fs::path partial = path.string() + ".partial";
  std::ofstream out(partial, std::ios::binary);
  out.write(id.internal, sizeof(id.internal));
  out.close();
  if (!out)
    throw GpuError(fmt::format("{}: cannot be written: ranks need a folder that all of them see", path.string()));
  fs::rename(partial, path);
}

ncclUniqueId await_id(const fs::path& path) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < kPatience) {
    ncclUniqueId id{};
    if (std::ifstream in(path, std::ios::binary); in.read(id.internal, sizeof(id.internal))) return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw GpuError(
      fmt::format("{}: did not appear: is rank 0 running, and does every rank see this folder?", path.string()));
}

}  // namespace

void Team::issue(const CollectiveSample& sample) const {
  check(ncclGroupStart(), "ncclGroupStart");
  for (const Member& member : members) issue_on(member, sample, shape.ranks);
  check(ncclGroupEnd(), "ncclGroupEnd");
}

std::optional<Seconds> Team::estimate(const CollectiveSample& sample) const {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  check(ncclGroupStart(), "ncclGroupStart");
  for (const Member& member : members) issue_on(member, sample, shape.ranks);
  const ncclResult_t status = ncclGroupSimulateEnd(&info);
  const double microseconds_predicted = static_cast<double>(info.estimatedTime);
  if (status != ncclSuccess || !(microseconds_predicted > 0)) return std::nullopt;
  return microseconds(microseconds_predicted);
}

std::size_t affordable_buffer() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return std::min(std::size_t{4} << 30, free / 3) / 4096 * 4096;
}

Team team_of_devices(const std::vector<int>& devices, std::size_t buffer_bytes) {
  const auto count = static_cast<int>(devices.size());
  std::vector<ncclComm_t> comms(devices.size());
  check(ncclCommInitAll(comms.data(), count, devices.data()), "ncclCommInitAll");
  Team team{
      .shape = {.ranks = count, .nodes = 1, .ranks_per_node = count}, .members = {}, .buffer_bytes = buffer_bytes};
  for (int rank = 0; rank < count; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    team.members.push_back(member_of(devices[i], rank, Comm(comms[i]), buffer_bytes));
  }
  return team;
}

Job::Job(const measure::JobPlace& place, const fs::path& folder)
    : place_(place), scratch_(kMostValues * sizeof(double)) {
  const fs::path file = folder / fmt::format("nccl_id.{}", place.job);
  ncclUniqueId id{};
  if (place.rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    put_id(file, id);
  } else {
    id = await_id(file);
  }
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, place.size, id, place.rank), "ncclCommInitRank");
  comm_.reset(comm);
  if (place.rank == 0) fs::remove(file);
  find_nodes();
}

void Job::find_nodes() {
  // A hash of 53 bits, which a double holds, distinguishes host names.
  const double mine = static_cast<double>(std::hash<std::string>()(host_name()) & ((std::uint64_t{1} << 53) - 1));
  std::vector<double> hosts(static_cast<std::size_t>(place_.size), 0);
  hosts[static_cast<std::size_t>(place_.rank)] = mine;
  maximum(hosts);
  std::vector<double> distinct;
  for (const double host : hosts)
    if (std::find(distinct.begin(), distinct.end(), host) == distinct.end()) distinct.push_back(host);
  nodes_ = static_cast<int>(distinct.size());
  node_ = static_cast<int>(std::find(distinct.begin(), distinct.end(), mine) - distinct.begin());
  if (place_.size % nodes_ != 0)
    throw GpuError(fmt::format("{} ranks do not spread evenly over {} nodes", place_.size, nodes_));
}

void Job::maximum(std::vector<double>& values) const {
  expects(values.size() <= kMostValues, "ranks agree on a few values at a time");
  const std::size_t bytes = values.size() * sizeof(double);
  void* data = scratch_.data();
  check(cudaMemcpyAsync(data, values.data(), bytes, cudaMemcpyHostToDevice, stream_.get()), "cudaMemcpyAsync");
  check(ncclAllReduce(data, data, values.size(), ncclDouble, ncclMax, comm_.get(), stream_.get()), "ncclAllReduce");
  check(cudaMemcpyAsync(values.data(), data, bytes, cudaMemcpyDeviceToHost, stream_.get()), "cudaMemcpyAsync");
  stream_.wait();
}

int Job::from_first(int value) const {
  std::vector<double> values{place_.rank == 0 ? value : -1e9};
  maximum(values);
  return static_cast<int>(values[0]);
}

Team Job::team(int colour, GroupShape shape, std::size_t buffer_bytes) const {
  ncclComm_t comm = nullptr;
  check(ncclCommSplit(comm_.get(), colour, place_.rank, &comm, nullptr), "ncclCommSplit");
  Comm owned(comm);
  int rank = 0, device = 0;
  check(ncclCommUserRank(comm, &rank), "ncclCommUserRank");
  check(cudaGetDevice(&device), "cudaGetDevice");
  Team team{.shape = shape, .members = {}, .buffer_bytes = buffer_bytes};
  team.members.push_back(member_of(device, rank, std::move(owned), buffer_bytes));
  return team;
}

}  // namespace foretoken::gpu
