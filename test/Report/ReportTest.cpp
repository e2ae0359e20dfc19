//===- ReportTest.cpp -----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Report.h"

#include "Layouts.h"

#include "llvm/Support/FormatVariadic.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::test;
using testing::HasSubstr;
using testing::Not;

static ReportRow row(std::string entry, std::string op, int64_t time,
                     int64_t alone = 0) {
  ReportRow row;
  row.entry = std::move(entry);
  row.layer = "net.h.0.fc";
  row.op = std::move(op);
  row.nanoseconds = time;
  row.oneDeviceNanoseconds = alone;
  row.flops = row.isCollective() ? 0 : 1e6;
  row.movedBytes = row.isCollective() ? 0 : 1000;
  row.grid = "g";
  row.operands = row.results = layouts("[x, *]");
  return row;
}

/// Two devices, two entries.
static Report makeReport() {
  Report report;
  report.model = "m.onnx";
  report.cluster = "cluster cpu:2: 2 x cpu\n";
  report.deviceKind = "cpu";
  report.grids = {{"g", twoDevices(), {0, 1}}};
  report.devices = {{1024, 1024, 512, 256, 0}, {1024, 1024, 512, 256, 256}};
  report.weightBytes = 2048;
  report.memoryLimit = 8192;
  report.rows = {row("train", "nn.matmul", 1000000, 1800000),
                 row("train", "spmd.all_reduce", 200000),
                 row("infer", "nn.matmul", 300000, 600000)};
  report.rows[2].replication = 2;
  report.rows[2].isFused = true;
  report.rows[1].bytes = 4096;
  report.schedule = {{"train", 1050000, 200000, 50000},
                     {"infer", 300000, 0, 0}};
  report.kernels = {{"train", "nn.matmul", "nn.matmul", "cpu", "oneDNN", 2},
                    {"infer", "nn.matmul", "nn.matmul", "cpu", "oneDNN", 3}};
  report.fewer = {{1, true, 2400000}};
  report.ofOneKind = {{2, true, 1800000, 3 << 20, "DP"},
                      {2, false, 0, 0, "TP"}};
  report.comparisonWork = 5;
  report.globals = {{"w", "parameter", {4, 4}, "g", layouts("[x, *]")[0], ""}};
  report.tensors = {{"x", "input", {4}, "g", layouts("[*]")[0], "train"}};
  PlanRecord plan;
  plan.cluster = "cpu:2";
  plan.solver = "auto";
  plan.ended = "work";
  plan.gap = 1e-4;
  plan.work = 1000;
  plan.workDone = 1000;
  plan.nanoseconds = 1600000;
  plan.lowerBound = 1200000;
  plan.grids = 7;
  plan.gridsLeftOut = 5;
  plan.maxAxes = 3;
  report.plan = plan;
  sumRows(report);
  return report;
}

static std::string summaryOf(const Report &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSummary(report, os);
  return text;
}

static std::string textOf(const llvm::json::Value &value) {
  return llvm::formatv("{0:2}", value).str();
}

TEST(Report, JSONHoldsAllOfIt) {
  Report report = makeReport();
  Expected<Report> read = reportFromText(textOf(toJSON(report)));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(textOf(toJSON(*read)), textOf(toJSON(report)));
  EXPECT_EQ(summaryOf(*read), summaryOf(report));
  EXPECT_EQ(read->plan, report.plan);
  EXPECT_EQ(read->schedule, report.schedule);
  report.plan = std::nullopt;
  read = reportFromText(textOf(toJSON(report)));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->plan, std::nullopt);
}

TEST(Report, SplitsAndLayoutsAreReadBack) {
  Report report = makeReport();
  Grid pairs({{"y", 2}, {"z", 3}});
  report.grids.push_back({"h", pairs, {0, 1, 2, 3, 4, 5}});
  ReportRow &product = report.rows[0], &sum = report.rows[1];
  product.split = {{{"m", {"x"}}, {"n", {"y", "z"}}}, {"w"}, 1};
  product.operands = layouts("[x{0:5, 4:9}, *], [*] partial max {x}");
  sum.axes = {"x", "y"};
  report.rows[2] = row("infer", "spmd.transfer", 10);
  report.rows[2].grid = "g to h";
  report.rows[2].results = layouts("[y.z, *]", pairs);
  EXPECT_THAT(textOf(toJSON(report)),
              HasSubstr("\"split\": \"m@x, n@y.z, carry sum@w in 1\""));
  Expected<Report> read = reportFromText(textOf(toJSON(report)));
  ASSERT_TRUE(read) << read.status().message();
  for (auto [got, wanted] : llvm::zip_equal(read->rows, report.rows)) {
    EXPECT_EQ(got.split, wanted.split);
    EXPECT_EQ(got.axes, wanted.axes);
    EXPECT_EQ(got.operands, wanted.operands);
    EXPECT_EQ(got.results, wanted.results);
  }
  EXPECT_EQ(read->globals[0].layout, report.globals[0].layout);
  EXPECT_EQ(read->grids[1].axes, pairs);
}

/// What is said of the report in which `from` stands instead of `to`.
static std::string messageWith(const Report &report, const std::string &from,
                               const std::string &to) {
  std::string text = textOf(toJSON(report));
  size_t at = text.find(from);
  Status status = reportFromText(text.replace(at, from.size(), to)).status();
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  return status.message();
}

TEST(Report, SaysWhichSplitOrLayoutIsWrong) {
  Report report = makeReport();
  report.rows[0].split.loops = {{"m", {"x"}}};
  EXPECT_THAT(messageWith(report, "\"(x=2)\"", "\"(x)\""),
              HasSubstr("expected axes"));
  EXPECT_EQ(messageWith(report, "[x, *]", "[q, *]"),
            "the report has '[q, *]' where layouts on its grid 'g' are "
            "expected");
  EXPECT_EQ(messageWith(report, "\"[*]\"", "\"\""),
            "the report has '' where one layout of 'x' is expected");
  for (const char *wrong : {"m", "m@", "2@x", "m@x in 1", "carry sum@x in y"}) {
    EXPECT_EQ(messageWith(report, "m@x", wrong),
              "the report has '" + std::string(wrong) +
                  "' where the split of 'nn.matmul' is expected");
  }
}

TEST(Report, AnotherVersionIsNamedBeforeItsFieldsAreMissed) {
  Status status = reportFromText("{\"schema_version\": 1}").status();
  EXPECT_EQ(status.code(), ExitCode::Version);
  EXPECT_THAT(status.message(), HasSubstr("schema version 1, expected 2"));
}

TEST(Report, SumsAreThoseOfTheRows) {
  Report report = makeReport();
  EXPECT_EQ(report.nanoseconds, 1500000);
  EXPECT_EQ(report.oneDeviceNanoseconds, 2400000);
  EXPECT_DOUBLE_EQ(report.speedUp(), 1.6);
  EXPECT_DOUBLE_EQ(report.replicatedFlops, 0.5);
  EXPECT_DOUBLE_EQ(report.replicatedBytes, 0.5);
  int64_t sum = 0;
  for (const ReportShare &share : timeShares(report)) {
    sum += share.nanoseconds;
  }
  EXPECT_EQ(sum, report.nanoseconds);
  EXPECT_EQ(timeShares(report).front().op, "nn.matmul");
  EXPECT_EQ(timeShares(report).front().nanoseconds, 1300000);
}

TEST(Report, AnEntryIsKeptAlone) {
  Report report = makeReport();
  ASSERT_TRUE(keepEntry(report, "infer").isOk());
  EXPECT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.nanoseconds, 300000);
  EXPECT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].calls, 3);
  EXPECT_EQ(report.schedule.size(), 1u);
  EXPECT_TRUE(report.tensors.empty());
  EXPECT_EQ(report.globals.size(), 1u);
  Status status = keepEntry(report, "train");
  EXPECT_EQ(status.code(), ExitCode::Usage);
  EXPECT_EQ(status.message(), "no entry 'train'; there are infer");
}

TEST(Report, TellsOfMemoryBesideTheHosts) {
  Report report = makeReport();
  EXPECT_THAT(textOf(toJSON(report)), Not(HasSubstr("own_bytes")));
  EXPECT_THAT(textOf(toJSON(report)), Not(HasSubstr("space_copies")));
  // The limit is of the device: what lies with the host is not compared.
  report.devices[0] = {};
  report.devices[1].ownBytes = 819;
  EXPECT_EQ(report.devices[1].totalBytes(), 2048 + 819);
  EXPECT_EQ(report.devices[1].limitedBytes(), 819);
  int64_t alone = report.nanoseconds;
  report.spaceCopies = {{{23, 625000, 70000, 140000}, "train", "cuda"},
                        {{2, 8, 500, 600}, "infer", "cuda"}};
  sumRows(report);
  Expected<Report> read = reportFromText(textOf(toJSON(report)));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(textOf(toJSON(*read)), textOf(toJSON(report)));
  EXPECT_THAT(summaryOf(*read),
              HasSubstr("819 B on the fullest device, 10.0 % of 8.0 KiB (what "
                        "a device of this cluster has), and 2.0 KiB of the "
                        "host\n"));
  EXPECT_THAT(summaryOf(*read), HasSubstr("+ 819 B device memory;"));
  EXPECT_THAT(summaryOf(*read),
              HasSubstr("copies            23 between the host and 'cuda', "
                        "610.4 KiB per device, 70.0 us, in train\n"));
  EXPECT_EQ(read->nanoseconds, alone + 70500);
  EXPECT_THAT(summaryOf(*read),
              HasSubstr("25 x copies between host and device"));
  ASSERT_TRUE(keepEntry(report, "infer").isOk());
  ASSERT_EQ(report.spaceCopies.size(), 1u);
  EXPECT_EQ(report.spaceCopies[0].copies, 2);
}

TEST(Report, TellsOfNativeCode) {
  Report report = makeReport();
  EXPECT_THAT(textOf(toJSON(report)), Not(HasSubstr("codes")));
  report.codes = {{"x86-64-v4", 4192}};
  EXPECT_THAT(summaryOf(report), HasSubstr("native code       1 object, "));
  report.codes.push_back({"x86-64-v4", 8192});
  Expected<Report> read = reportFromText(textOf(toJSON(report)));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(textOf(toJSON(*read)), textOf(toJSON(report)));
  EXPECT_THAT(summaryOf(*read),
              HasSubstr("native code       2 objects, 12.1 KiB\n"));
}

TEST(Summary, SaysWhatOneDeviceTakesAndHowGoodThePlanIs) {
  std::string text = summaryOf(makeReport());
  for (const char *part :
       {"on one device     2.40 ms a run, predicted, without overlap",
        "on these 2        1.50 ms: speed-up 1.60, efficiency 80.0 %",
        "overlapping       1.35 ms: of 200.0 us of communication 150.0 us "
        "hidden, 50.0 us exposed",
        "DP 2              1.80 ms, 1.20 times as long; tensors take 3.0 MiB "
        "per device",
        "TP 2              no such plan fits",
        "fewer devices     1: 2.40 ms, each with its own plan (5 steps)",
        "gap               25.00 %: the plan takes 1.60 ms; the lower bound "
        "over the declared strategies on 7 grids of up to 3 axes, not on 5 "
        "others of which one seldom wins, is 1.20 ms",
        "weights           2.0 KiB in all, 50.0 % of it on that device",
        "auto, seed 0: work budget used up; 1 K of 1 K steps",
        "1.30 ms  86.7 %  2 x nn.matmul in net.h.0",
        "200.0 us  13.3 %  1 x spmd.all_reduce\n",
        "memory            2.0 KiB on the fullest device, 25.0 % of 8.0 KiB "
        "(what a device of this cluster has)",
        "= 1.0 KiB weights + 512 B arena + 256 B workspace + 256 B "
        "packed constants",
        "spmd.all_reduce   1 x, 4.0 KiB per device, 200.0 us",
        "fused             1 of 2 operators run in the kernel of their "
        "operand's producer",
        "kernels: oneDNN     matmul (5)", "entry @train      1.20 ms"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("slower")));
}

TEST(Summary, NamesAFasterPlanOnFewerDevices) {
  Report report = makeReport();
  report.fewer = {{4, false, 0}, {2, true, 900000}, {1, true, 750000}};
  EXPECT_THAT(summaryOf(report),
              HasSubstr("this plan is slower than the one on 1 device: "
                        "--devices 1 is predicted 2.00 times as fast"));
  EXPECT_THAT(summaryOf(report), HasSubstr("4: no plan fits, 2: 900.0 us"));
  EXPECT_EQ(fasterOnFewer(report)->devices, 1);
  // Nobody has compared: one device is known, if it has the memory.
  report.fewer.clear();
  EXPECT_EQ(fasterOnFewer(report), std::nullopt);
  report.oneDeviceNanoseconds = 1000000;
  ASSERT_TRUE(fasterOnFewer(report));
  EXPECT_EQ(fasterOnFewer(report)->nanoseconds, 1000000);
  report.memoryLimit = 1000;
  EXPECT_EQ(fasterOnFewer(report), std::nullopt);
}

TEST(Summary, TellsHowTheSearchEnded) {
  Report report = makeReport();
  auto says = [&](const char *part) {
    EXPECT_THAT(summaryOf(report), HasSubstr(part));
  };
  report.plan->workDone = 400;
  says("budget for closing the gap used up");
  report.plan->ended = "time";
  says("the time limit was reached: another run may end elsewhere");
  report.plan->ended = "interrupted";
  says("the search was interrupted: another run may end elsewhere");
  report.plan->ended = "finished";
  says("nothing is left to try");
  report.plan->gap = 0.5;
  says("within the requested gap, 50.00 %");
  report.plan->lowerBound = report.plan->nanoseconds;
  says("proved optimal on these grids; ");
  report.plan->gridsLeftOut.reset();
  says("proved optimal; ");
  report.plan->leavesUnlisted = true;
  says("on 7 grids of up to 3 axes, not on those in other orders, on other "
       "numbers of devices or with other weights, is ");
  says("proved optimal on these grids; ");
  report.plan->pinned = 3;
  says("the strategies of 3 operators, before the search");
  report.plan->edited = true;
  says("gap               not known: the plan was edited; before that it took "
       "1.60 ms; its lower bound over the declared strategies was 1.60 ms");
  report.plan->edited = false;
  report.plan->lowerBound.reset();
  says("drawn at random from seed 0: the gap is not known");
  report.plan.reset();
  says("written by hand: the gap is not known");
  report.memoryLimit = 1000;
  report.memoryLimitIsGiven = true;
  says("of 1000 B (--memory-limit)");
  says("; its weights alone exceed the memory limit");
}

TEST(Layers, HaveALegendAndABlockPerEntry) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printLayers(makeReport(), os);
  EXPECT_THAT(text, HasSubstr("layouts of operands -> results"));
  EXPECT_THAT(text, HasSubstr("\nentry @train\n  input      x "));
  EXPECT_THAT(text, HasSubstr("\nnet.h.0  1.20 ms\n"));
  EXPECT_THAT(text, HasSubstr("\nentry @infer\nnet.h.0  300.0 us\n  + nn.mat"));
  EXPECT_THAT(text, HasSubstr("\nat rest\n  parameter  w "));
}
