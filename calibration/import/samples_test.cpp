// Tests lines of samples, tables of products, folders: written data are read back, broken data are refused by line.
#include "calibration/import/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "calibration/import/attention_csv.h"
#include "calibration/import/import.h"
#include "calibration/import/sample_json.h"
#include "calibration/import/sample_lines.h"
#include "calibration/import/sha256.h"
#include "sim/base/error.h"

namespace foretoken::measured {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

Timing timing(double median_us, double p10_us, double p90_us, int runs) {
  return {microseconds(median_us), microseconds(p10_us), microseconds(p90_us), runs};
}

Samples one_of_each() {
  Samples all;
  all.origins.push_back({"foretoken-calibrate", "NVIDIA H200", {{"driver", "580.1"}, {"note", "a \"quoted\" word"}}});
  GemmSample gemm{.shape = {.m = 4096, .n = 6144, .k = 4096, .pass = GemmPass::kWeightGradient},
                  .adds_to_fp32 = true,
                  .time = timing(301.25, 300, 303.5, 40)};
  gemm.shape.batch = 3;
  all.add(gemm);
  all.add(KernelSample{"rms_norm", 4096, 8192, Bytes(134217728), false, timing(38.5, 38.25, 39, 60)});
  AttentionSample attention{.shape = {}, .implementation = "composed", .time = timing(900, 880, 950, 12)};
  attention.shape.backward = true;
  attention.shape.q_length = attention.shape.kv_length = 2048;
  attention.shape.window = 512;
  attention.beside = Bytes(4096);
  all.add(attention);
  all.add(
      LayerSample{.family = LayerFamily::kGpt, .backward = true, .tensor = 8, .time = timing(1500, 1490, 1520, 40)});
  CollectiveSample collective;
  collective.bytes = Bytes(1 << 20);
  collective.group = {.ranks = 8, .nodes = 2, .ranks_per_node = 4, .groups_per_node = 2};
  collective.time = timing(55, 55, 55, 20);
  collective.estimate = microseconds(41.5);
  all.add(collective);
  all.add(HostSample{"launch", Bytes(0), timing(2.5, 2.25, 2.75, 100)});
  all.add(ClockSample{"bf16 8192", Seconds(0.125), teraflops(702), 1755, 698.5, std::nullopt});
  return all;
}

TEST(Samples, AllReducesAreOfTheEnginesThatAreKnown) {
  EXPECT_EQ(kernels_of("trtllm"), cost::AllReduceKernels::kTrtLlm);
  EXPECT_EQ(kernels_of("TRTLLM"), cost::AllReduceKernels::kTrtLlm);
  EXPECT_EQ(kernels_of("vllm_graph"), cost::AllReduceKernels::kVllm);
  EXPECT_EQ(kernels_of("sglang_graph"), cost::AllReduceKernels::kSglang);
  for (const char* const other : {"", "vllm", "vllm_eager", "nccl", "Trtllm"}) EXPECT_FALSE(kernels_of(other)) << other;
}

TEST(Samples, ATableOfOtherAllReducesIsRefused) {
  const std::string header = "implementation,dtype,ranks,elements,bytes,time_us\n";
  const auto complaint = [&](const std::string& rows) {
    try {
      require_known_kernels(import_csv(header + rows, "t.csv"), "t.csv");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string other = "vllm,bfloat16,8,128,256,5\n";
  EXPECT_EQ(complaint(other),
            "t.csv: implementation: expected trtllm, TRTLLM, vllm_graph or sglang_graph in some row, found \"vllm\" in "
            "the first");
  EXPECT_EQ(complaint(other + "vllm_graph,bfloat16,8,128,256,5\n"), "") << "the other rows are left out";
  EXPECT_NO_THROW(require_known_kernels(one_of_each(), "t.jsonl")) << "no all-reduce";
}

TEST(Samples, FlashAttention2IsAKernelOfItsOwn) {
  const auto kernel_by = [](const std::string& by) {
    const std::string lines = R"({"header":"PyTorch","gpu":"NVIDIA H200","facts":[]}
{"attention":"forward","by":")" +
                              by + R"(","type":"bf16","batch":1,"heads":8,"kv_heads":8,"q":2048,"kv":2048,)" +
                              R"("head_dim":128,"causal":true,"us":[100,99,101],"runs":3})" + "\n";
    return read_lines(lines, "attention.jsonl").attention.at(0).shape.kernel;
  };
  EXPECT_EQ(kernel_by("flash-2"), FlashKernel::kFlash2);
  EXPECT_EQ(kernel_by("cudnn"), FlashKernel::kFastest);
}

TEST(SampleLines, EveryKindSurvives) {
  const Samples all = one_of_each();
  const std::string lines = write_lines(all);
  const Samples again = read_lines(lines, "x");
  EXPECT_EQ(again.size(), 7U);
  EXPECT_EQ(write_lines(again), lines);
  EXPECT_EQ(again.origins, all.origins);
  EXPECT_EQ(again.gemms[0].shape, all.gemms[0].shape);
  EXPECT_EQ(again.gemms[0].time, all.gemms[0].time);
  EXPECT_TRUE(again.gemms[0].adds_to_fp32);
  EXPECT_EQ(again.attention[0].shape, all.attention[0].shape);
  EXPECT_EQ(again.attention[0].beside, all.attention[0].beside);
  EXPECT_EQ(again.layers[0].family, LayerFamily::kGpt);
  EXPECT_EQ(again.layers[0].tensor, 8);
  EXPECT_EQ(again.collectives[0].group, all.collectives[0].group);
  EXPECT_EQ(again.collectives[0].estimate, all.collectives[0].estimate);
  EXPECT_EQ(again.clocks[0].watts, 698.5);
  EXPECT_FALSE(again.clocks[0].celsius.has_value());
}

TEST(SampleLines, TheKeyIsTheFrontOfTheLine) {
  const GemmSample gemm{.shape = {.m = 8, .n = 16, .k = 32}, .time = timing(1, 1, 1, 3)};
  const std::string key = key_of(Sample(gemm)), line = line_of(Sample(gemm));
  EXPECT_EQ(key, R"({"gemm":"forward","type":"bf16","m":8,"n":16,"k":32})");
  EXPECT_EQ(line, R"({"gemm":"forward","type":"bf16","m":8,"n":16,"k":32,"us":1.0,"runs":3})");
}

TEST(SampleLines, APartialLastLineIsDroppedWithANote) {
  const std::string lines = write_lines(one_of_each());
  for (std::size_t length = lines.find('\n') + 1; length < lines.size(); ++length) {
    const Samples cut = read_lines(lines.substr(0, length), "x");
    EXPECT_EQ(cut.notes.empty(), lines[length - 1] == '\n');
    EXPECT_LT(cut.size(), 7U);
  }
}

struct BrokenLine {
  const char *name, *line, *complaint;
};
constexpr BrokenLine kBrokenLines[] = {
    {"no JSON", "{\"gemm\":", "x:2: expected JSON"},
    {"no object", "[1]", "x:2: expected an object"},
    {"an unknown kind", R"({"gem":"forward"})", "x:2: expected a sample: one of the keys"},
    {"a missing size", R"({"gemm":"forward","type":"bf16","m":1,"n":1,"us":1})", "x:2: k: missing"},
    {"a typo", R"({"host":"launch","us":1,"run":3})", "x:2: unknown key \"run\""},
    {"a negative time", R"({"host":"launch","us":-1})", "x:2: us: expected a number above 0, found -1"},
    {"crossed quantiles", R"({"host":"launch","us":[2,3,4]})", "x:2: us: expected p10 <= median <= p90"},
    {"an unknown type", R"({"gemm":"forward","type":"bf8","m":1,"n":1,"k":1,"us":1})",
     "x:2: type: expected one of fp32, tf32, fp16, bf16, fp8, fp8_block, nvfp4, int8, found \"bf8\""},
    {"a huge size", R"({"gemm":"forward","type":"bf16","m":18446744073709551615,"n":1,"k":1,"us":1})",
     "x:2: m: expected a whole number up to 2^53"},
    {"an unknown collective", R"({"collective":"alltonone"})", "x:2: unknown collective \"alltonone\""}};

TEST(SampleLines, BrokenLinesAreRefusedByNumber) {
  for (const auto& [name, line, complaint] : kBrokenLines) {
    SCOPED_TRACE(name);
    try {
      (void)read_lines("{\"header\":\"a\",\"gpu\":\"\",\"facts\":[]}\n" + std::string(line) + "\n", "x");
      FAIL() << "accepted";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(complaint));
    }
  }
  EXPECT_THROW((void)read_lines("{\"host\":\"launch\",\"us\":1}\n", "x"), ConfigError) << "no header before it";
}

TEST(SampleLines, AMissingHeaderIsOneComplaint) {
  const std::string sample = R"({"host":"launch","us":2})"
                             "\n";
  const std::pair<const char*, std::string> cases[] = {
      {"x:1: expected a header line before the first sample", sample + sample + sample},
      {"x:1: expected JSON", "{\"header\"\n" + sample + sample},
  };
  for (const auto& [line, text] : cases) {
    try {
      (void)read_lines(text, "x");
      FAIL() << "expected a complaint";
    } catch (const ConfigError& error) {
      ASSERT_EQ(error.complaints().size(), 1U);
      EXPECT_EQ(error.complaints().front().line(), line);
    }
  }
}

TEST(SampleLines, ALongValueIsCutInItsComplaint) {
  const std::string header = R"({"header":"x","gpu":"y","facts":[]})"
                             "\n";
  try {
    (void)read_lines(header + R"({"host":"launch","us":")" + std::string(3000, 'a') + "\"}\n", "x");
    FAIL() << "expected a complaint";
  } catch (const ConfigError& error) {
    EXPECT_LT(error.complaints().front().line().size(), 150U);
  }
}

TEST(GemmCsv, ColumnsMayStandInAnyOrder) {
  const Samples plain = parse_gemm_csv("m,n,k,time_us,tflops\n4096,4096,4096,200,687\n", "a.csv");
  ASSERT_EQ(plain.gemms.size(), 1U);
  EXPECT_DOUBLE_EQ(plain.gemms[0].time.median.value(), 200e-6);
  const Samples other = parse_gemm_csv(
      "Layout, dtype,K, N,M,batch,latency,accumulate\r\nNT,float16,64,128,256,2,0.5,True\r\n", "b.csv", {.gpu = "X"});
  const auto& gemm = other.gemms.at(0);
  EXPECT_EQ(
      gemm.shape,
      (GemmShape{
          .m = 256, .n = 128, .k = 64, .batch = 2, .pass = GemmPass::kWeightGradient, .precision = Precision::kFp16}));
  EXPECT_TRUE(gemm.adds_to_fp32);
  EXPECT_DOUBLE_EQ(gemm.time.median.value(), 0.5e-3);
  const Samples quantised = parse_gemm_csv(
      "dtype,m,n,k,time_us,quant_us\nfp8,8,8,8,20,12\nfp8_block,8,8,8,20,\nbfloat16,8,8,8,20,\nfp8,8,8,8,20,30\n"
      "int8_wo,8,8,8,20,\nsq,8,8,8,20,\nfp8,8,8,8,20,18.5\n",
      "q.csv");
  ASSERT_EQ(quantised.gemms.size(), 6U);
  EXPECT_NEAR(quantised.gemms[0].time.median.value(), 8e-6, 1e-18);
  EXPECT_FALSE(quantised.gemms[0].with_quantisation);
  EXPECT_EQ(quantised.gemms[1].shape.precision, Precision::kFp8Block);
  EXPECT_TRUE(quantised.gemms[1].with_quantisation);
  EXPECT_FALSE(quantised.gemms[2].with_quantisation) << "nothing to quantise";
  EXPECT_TRUE(quantised.gemms[3].with_quantisation) << "longer than both together: another run's";
  EXPECT_EQ(quantised.gemms[4].shape.precision, Precision::kInt8);
  EXPECT_FALSE(quantised.gemms[4].with_quantisation) << "SmoothQuant's plugin alone";
  EXPECT_TRUE(quantised.gemms[5].with_quantisation) << "less than a tenth is left: noise";
  EXPECT_THAT(quantised.notes, testing::ElementsAre(HasSubstr("1 products with narrow weights")));

  const Samples rates = parse_gemm_csv("m,n,k,tflops\n1000,1000,1000,2\n", "c.csv");
  EXPECT_DOUBLE_EQ(rates.gemms[0].time.median.value(), 1e-3);
}

TEST(GemmCsv, BrokenRowsAreRefusedByLine) {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      (void)parse_gemm_csv(text, "t.csv");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint("m,n,time_us\n"),
            "t.csv:1: no column k: expected m, n and k of products, or the columns of another kind of table");
  EXPECT_THAT(complaint("m,n,k\n"), HasSubstr("t.csv:1: no column with a time"));
  EXPECT_EQ(complaint("\nm,n,k,m,us\n1,2,3,4,5\n1,2,3,4,5\n"), "t.csv:2: column m stands twice; keep one");
  EXPECT_EQ(complaint("m,n,k,us\n1,2,3\n"), "t.csv:2: us: missing, the row has 3 fields");
  EXPECT_EQ(complaint("m,n,k,us\n1,2,3,4\n1,2.5,3,4\n1,2,3,-4\n"),
            "t.csv:3: n: expected a whole number, found \"2.5\"\n"
            "t.csv:4: us: expected a number above 0, found \"-4\"");
  EXPECT_EQ(complaint("m,n,k,us\n"), "t.csv: no rows");
  EXPECT_EQ(complaint(""), "t.csv: no rows");
}

TEST(Import, AFolderIsReadInOrderAndWrittenAsOneFile) {
  const fs::path folder = fs::path(::testing::TempDir()) / "foretoken_import_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  EXPECT_THROW((void)import_samples(folder), ConfigError) << "no files";
  Samples one = one_of_each();
  write_samples(one, folder / "gemm.jsonl");
  one.origins[0].gpu = "another";
  write_samples(one, folder / "host.jsonl");
  const Samples all = import_samples(folder);
  EXPECT_EQ(all.size(), 14U);
  EXPECT_EQ(all.origins.at(all.gemms.at(1).origin).gpu, "another");
  write_samples(all, folder / "all.jsonl");
  EXPECT_EQ(write_lines(import_samples(folder / "all.jsonl")), write_lines(all));
  EXPECT_THROW((void)import_samples(folder / "absent.jsonl"), ConfigError);
  EXPECT_THROW(write_samples(all, folder / "absent" / "x.jsonl"), ConfigError);
  fs::remove_all(folder);
}

TEST(GemmCsv, TakesTheRowsAskedForAndAColumnOffTheirTimes) {
  const std::string text =
      "dtype,m,n,k,time_us,quant_us\nbf16,128,64,64,9,\nfp8,128,64,64,7,2\nfp8_block,128,64,64,8,2\nfp8,64,64,64,7,2\n"
      "fp8,256,64,64,7,\n";
  GemmCsvHints hints{.precision = Precision::kFp8, .less = "quant_us", .states_precision = true};
  hints.choice.where = {{.column = "dtype", .one_of = {"fp8"}}, {.column = "m", .least = 128, .most = 256}};
  const Samples samples = parse_gemm_csv(text, "t.csv", hints);
  ASSERT_EQ(samples.gemms.size(), 1U);
  EXPECT_EQ(samples.gemms[0].shape, (GemmShape{.m = 128, .n = 64, .k = 64, .precision = Precision::kFp8}));
  EXPECT_DOUBLE_EQ(samples.gemms[0].time.median.value(), 5e-6);
  hints.less = "cast_us";
  EXPECT_THROW((void)parse_gemm_csv(text, "t.csv", hints), ConfigError) << "no such column";
}

TEST(AttentionCsv, HalvesTheRateOfCausalKernelsAndLeavesOutOthers) {
  const std::string head = "system,op,shape,tflops\n";
  const std::string shape = "\"batch=2, seq_len=4096, head_num=8, kv_head_num=4, qk_head_dim=128, v_head_dim=";
  const auto samples = parse_attention_operators(
      head + "x,sdp_bwd," + shape + "128\",400\nx,sdp_fwd," + shape + "64\",400\nx,matmul,,300\n", "t.csv");
  ASSERT_EQ(samples.size(), 1U);
  const AttentionShape& found = samples[0].shape;
  EXPECT_TRUE(found.causal && found.backward);
  EXPECT_EQ(found.kv_heads, 4);
  EXPECT_DOUBLE_EQ(samples[0].time.median.value(), 2 * found.flop().value() / 400e12);
  EXPECT_THROW((void)parse_attention_operators(head + "x,sdp_fwd,batch=1,400\n", "t.csv"), ConfigError);
}

TEST(Sha256, IsThatOfTheStandard) {  // FIPS 180-4's examples; 64 bytes leave no room for the length in their block
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

}  // namespace
}  // namespace foretoken::measured
