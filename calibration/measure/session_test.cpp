// Tests statistics, files that survive a kill, plans that stop and continue, launchers, and nvidia-smi's answers.
#include "calibration/measure/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "calibration/import/import.h"
#include "calibration/import/sample_json.h"
#include "calibration/measure/launcher.h"
#include "calibration/measure/provenance.h"
#include "calibration/measure/statistics.h"
#include "sim/base/error.h"

namespace foretoken::measure {
namespace {

namespace fs = std::filesystem;
using measured::HostSample;
using measured::Sample;
using ::testing::HasSubstr;

TEST(Series, MedianAndQuantilesAreOverTheKernels) {
  Series series({.fewest = 1});
  for (const double us : {50.0, 10.0, 40.0, 20.0, 30.0}) series.add(microseconds(us), 10);
  const measured::Timing time = series.timing();
  EXPECT_DOUBLE_EQ(time.median.value(), 3e-6);
  EXPECT_DOUBLE_EQ(time.p10.value(), 1.4e-6);
  EXPECT_DOUBLE_EQ(time.p90.value(), 4.6e-6);
  EXPECT_EQ(time.runs, 5);
}

TEST(Series, StopsAtTheNoiseTheCountOrTheTime) {
  const StoppingRule rule{.relative_noise = 0.01, .fewest = 5, .most = 20, .longest = Seconds(1)};
  Series steady(rule);
  for (int i = 0; i < 4; ++i) steady.add(microseconds(100));
  EXPECT_FALSE(steady.enough()) << "fewer than the fewest";
  steady.add(microseconds(100));
  EXPECT_TRUE(steady.enough());

  Series noisy(rule);
  for (int i = 0; i < 19; ++i) {
    noisy.add(microseconds(i % 2 == 0 ? 100 : 200));
    EXPECT_FALSE(noisy.enough()) << i;
  }
  noisy.add(microseconds(100));
  EXPECT_TRUE(noisy.enough()) << "the most";

  Series slow(rule);
  for (int i = 0; i < 5; ++i) slow.add(Seconds(i % 2 == 0 ? 0.2 : 0.4));
  EXPECT_TRUE(slow.enough()) << "a second is over";
}

TEST(Series, NoiseShrinksWithTheRootOfTheRuns) {
  const auto noise_of = [](int runs) {
    Series series({});
    for (int i = 0; i < runs; ++i) series.add(microseconds(100 + 10.0 * (i * 7919 % runs) / runs));  // uniform, mixed
    return series.relative_noise();
  };
  // The median of n uniform values over a width w has the standard error w / (2 sqrt n).
  EXPECT_NEAR(noise_of(100), 10.0 / 2 / 10 / 105, 2e-4);
  EXPECT_NEAR(noise_of(400), 10.0 / 2 / 20 / 105, 1e-4);
}

HostSample host(const std::string& what, double us) {
  HostSample sample;
  sample.what = what;
  sample.time = {microseconds(us), microseconds(us), microseconds(us), 7};
  return sample;
}

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "foretoken-measure-XXXXXX";  // tests run side by side
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] fs::path file() const { return folder_ / "host.jsonl"; }
  [[nodiscard]] static measured::Provenance origin(const std::string& date = "1", const std::string& gpu = "G") {
    return {"foretoken-calibrate", gpu, {{"driver", "1.2"}, {"date", date}}};
  }
  [[nodiscard]] static Session session(std::function<bool()> stopped = [] { return false; }) {
    return {std::move(stopped), [] { return std::chrono::seconds(0); }, std::nullopt, [](const std::string&) {}};
  }
  fs::path folder_;
};

TEST_F(Folder, NothingIsWrittenBeforeTheFirstSample) {
  { const SampleFile unused(file(), origin()); }
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(Folder, ARunKilledAtAnyByteGoesOnAndEndsTheSame) {
  const std::vector<HostSample> plan{host("a", 1), host("b", 2), host("c", 3)};
  std::string whole;
  {
    SampleFile samples(file(), origin());
    for (const HostSample& sample : plan) samples.write(Sample(sample));
    EXPECT_EQ(samples.written(), 3U);
  }
  {
    std::ifstream in(file(), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << whole.substr(0, length);
    {
      SampleFile again(file(), origin("2"));
      for (const HostSample& sample : plan)
        if (!again.has(Sample(sample))) again.write(Sample(sample));
    }
    const measured::Samples all = measured::import_samples(file());
    ASSERT_EQ(all.host.size(), 3U) << length;
    EXPECT_EQ(all.origins.size(), 1U) << "only the date changed";
    EXPECT_TRUE(all.notes.empty());
  }
}

TEST_F(Folder, AnotherDriverGetsAHeaderAndAnotherGpuIsRefused) {
  SampleFile(file(), origin()).write(Sample(host("a", 1)));
  measured::Provenance newer = origin();
  newer.facts[0].second = "9.9";
  SampleFile(file(), newer).write(Sample(host("b", 1)));
  const measured::Samples all = measured::import_samples(file());
  ASSERT_EQ(all.origins.size(), 2U);
  EXPECT_EQ(all.host[1].origin, 1U);
  try {
    const SampleFile other(file(), origin("1", "another"));
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds samples of \"G\", this GPU is \"another\": choose another folder"));
  }
}

TEST_F(Folder, AMissingFolderIsAnError) {
  SampleFile samples(folder_ / "absent" / "x.jsonl", origin());
  EXPECT_THROW(samples.write(Sample(host("a", 1))), ConfigError);
}

TEST_F(Folder, SustainedRunsAreFoundByTheirWork) {
  measured::ClockSample clock;
  clock.work = "bf16 8192";
  clock.at = Seconds(0.1);
  clock.rate = teraflops(1);
  SampleFile(file(), origin()).write(Sample(clock));
  const SampleFile samples(file(), origin());
  EXPECT_TRUE(samples.has_clocks_of("bf16 8192"));
  EXPECT_FALSE(samples.has_clocks_of("bf16 819"));
  EXPECT_FALSE(samples.has_clocks_of("fp8 8192"));
}

TEST_F(Folder, APlanStopsBetweenLinesAndGoesOn) {
  std::vector<HostSample> plan;
  for (const char* name : {"a", "b", "impossible", "c"}) plan.push_back(host(name, 0));
  std::vector<std::string> measured_names;
  const Measure<HostSample> measure = [&](const HostSample& item) -> std::optional<HostSample> {
    measured_names.push_back(item.what);
    if (item.what == "impossible") return std::nullopt;
    return host(item.what, 5);
  };
  {
    SampleFile samples(file(), origin());
    const auto stop_after_two = [&] { return measured_names.size() == 2; };
    EXPECT_EQ(run_plan<HostSample>("host", plan, measure, samples, session(stop_after_two)), Outcome::kStopped);
  }
  EXPECT_EQ(measured_names, (std::vector<std::string>{"a", "b"}));
  {
    SampleFile samples(file(), origin());
    EXPECT_EQ(run_plan<HostSample>("host", plan, measure, samples, session()), Outcome::kFinished);
    EXPECT_EQ(samples.size(), 3U);
  }
  EXPECT_EQ(measured_names, (std::vector<std::string>{"a", "b", "impossible", "c"}));
  SampleFile samples(file(), origin());
  Session late = session();
  late.longest = std::chrono::seconds(0);
  EXPECT_EQ(run_plan<HostSample>("host", plan, measure, samples, late), Outcome::kTimeUp);
}

TEST(StopSignals, AnInterruptIsReportedAndNotDeadly) {
  StopSignals signals;
  EXPECT_FALSE(signals.asked());
  std::raise(SIGINT);
  EXPECT_TRUE(signals.asked());
  EXPECT_TRUE(signals.asked()) << "and stays true";
}

TEST(Shares, AddUpToTheMinutes) {
  double sum = 0;
  for (const auto& [part, minutes] : share_minutes({"gemm", "host", "attention"}, 27)) sum += minutes;
  EXPECT_DOUBLE_EQ(sum, 27);
}

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Launcher, KnowsItsPlaceUnderEachLauncher) {
  EXPECT_EQ(job_place(environment({})), std::nullopt);
  EXPECT_EQ(job_place(environment({{"OMPI_COMM_WORLD_RANK", "3"},
                                   {"OMPI_COMM_WORLD_SIZE", "16"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                                   {"PMIX_NAMESPACE", "prterun-a/1@1"}})),
            (JobPlace{3, 16, 3, "prterun-a_1_1"}));
  EXPECT_EQ(job_place(environment({{"SLURM_PROCID", "9"},
                                   {"SLURM_NTASKS", "16"},
                                   {"SLURM_LOCALID", "1"},
                                   {"SLURM_JOB_ID", "77"},
                                   {"SLURM_STEP_ID", "2"}})),
            (JobPlace{9, 16, 1, "77-2"}));
  EXPECT_EQ(job_place(environment({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}})),
            (JobPlace{1, 2, 1, "job"}));
  EXPECT_EQ(job_place(environment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}})), std::nullopt)
      << "one process: all GPUs of the node";
  EXPECT_THROW((void)job_place(environment({{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}})), ConfigError);
  EXPECT_THROW((void)job_place(environment({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}})), ConfigError);
  EXPECT_THROW((void)job_place(environment({{"RANK", "1"}, {"WORLD_SIZE", "2"}})), ConfigError);
}

TEST(Provenance, NvidiaSmisAnswerBecomesFacts) {
  const Facts facts =
      smi_facts("NVIDIA H200, 580.159.03, 1980 MHz, 3201 MHz, 700.00 W, Enabled, [N/A], 5, 16, 143771 MiB\n");
  const Facts expected{{"driver", "580.159.03"},    {"sm_clock_max", "1980 MHz"}, {"memory_clock_max", "3201 MHz"},
                       {"power_limit", "700.00 W"}, {"ecc", "Enabled"},           {"pcie_generation", "5"},
                       {"pcie_width", "16"},        {"memory", "143771 MiB"}};
  EXPECT_EQ(facts, expected);
  EXPECT_TRUE(smi_facts("No devices were found\n").empty());
  EXPECT_TRUE(smi_facts("").empty());
  const std::string command = smi_command("0");
  EXPECT_EQ(command.find("uuid"), std::string::npos) << "nothing that identifies the machine";
  EXPECT_EQ(command.find("serial"), std::string::npos);
}

TEST(Provenance, TopologyIsOneLine) {
  EXPECT_EQ(topology_text("\t\x1b[4mGPU0\tGPU1\tCPU Affinity\x1b[0m\nGPU0\t X \tNV18\t0-47\nGPU1\tNV18\t X \t0-47\n\n"
                          "Legend:\n\n  X    = Self\n  NV#  = NVLinks\n"),
            "GPU0 GPU1 CPU Affinity; GPU0 X NV18 0-47; GPU1 NV18 X 0-47");
}

TEST(Provenance, Versions) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12080), "12.8");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
}

}  // namespace
}  // namespace foretoken::measure
