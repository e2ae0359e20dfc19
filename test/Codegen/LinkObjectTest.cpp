//===- LinkObjectTest.cpp - What must not be in an object -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ObjectFile.h"
#include "runtime/backends/cpu/NativeObject.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

#include <gmock/gmock.h>

using namespace divisi;
using testing::HasSubstr;

/// The shared object of a module of LLVM's IR.
static divisi::Expected<std::string> linkText(const std::string &text,
                                              const char *name) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  auto object = compileModule(*module, "x86-64-v3");
  EXPECT_TRUE(object) << object.status().message();
  return linkObject(*object, name);
}

TEST(LinkObject, findsItsConstants) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  auto object = linkText("@table = private constant [4 x i64] "
                         "[i64 3, i64 5, i64 7, i64 11]\n"
                         "define void @divisi_rows_1(ptr %p) {\n"
                         "  %i = load i64, ptr %p\n"
                         "  %at = getelementptr i64, ptr @table, i64 %i\n"
                         "  %v = load i64, ptr %at\n"
                         "  store i64 %v, ptr %p\n"
                         "  ret void\n}\n",
                         rt::rowFunctionName);
  ASSERT_TRUE(object) << object.status().message();
  auto loaded = rt::cpu::NativeObject::load(std::as_bytes(std::span(*object)));
  ASSERT_TRUE(loaded) << loaded.status().message();
  int64_t value = 2;
  (*loaded)->function()(reinterpret_cast<rt::RowArguments *>(&value));
  EXPECT_EQ(value, 7);
}

TEST(LinkObject, refusesWhatIsNotThere) {
  auto call = linkText("declare void @puts(ptr)\n"
                       "define void @f(ptr %p) {\n"
                       "  call void @puts(ptr %p)\n  ret void\n}\n",
                       "f");
  EXPECT_EQ(call.status().code(), ExitCode::Internal);
  EXPECT_EQ(call.status().message(),
            "generated code wants 'puts', which it does not have");
  auto other = linkText("define void @f() {\n  ret void\n}\n", "g");
  EXPECT_EQ(other.status().message(), "generated code has no function 'g'");
}

TEST(LinkObject, refusesDataThatChanges) {
  auto data = linkText("@counter = internal global i64 5\n"
                       "define i64 @f() {\n"
                       "  %v = load volatile i64, ptr @counter\n"
                       "  store volatile i64 7, ptr @counter\n"
                       "  ret i64 %v\n}\n",
                       "f");
  EXPECT_EQ(data.status().message(), "generated code has data that can change");
}

TEST(LinkObject, refusesWhatALoaderWouldFillIn) {
  auto address = linkText("@elsewhere = external global i64\n"
                          "define ptr @f() {\n  ret ptr @elsewhere\n}\n",
                          "f");
  EXPECT_THAT(address.status().message(),
              HasSubstr("generated code has a relocation of type "));
}

TEST(LinkObject, refusesWhatIsNoObject) {
  EXPECT_THAT(linkObject("nothing", "f").status().message(),
              HasSubstr("generated code cannot be read: "));
}
