//===- VisibleNames.h - Names that are parts of lines -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A name in a report is what the model says. Where it is printed as text it
// must not end the line (divisi/Support/VisibleText.h): whatever prints text
// begins with these. JSON has the names themselves.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_VISIBLENAMES_H
#define DIVISI_LIB_REPORT_VISIBLENAMES_H

#include "divisi/Report/Report.h"

namespace divisi {

/// `row` with all names visible, in one line each.
ReportRow withVisibleNames(ReportRow row);
/// The same of a tensor.
ReportTensor withVisibleNames(ReportTensor tensor);
/// The same of what became of a rule.
rewrite::RuleRecord withVisibleNames(rewrite::RuleRecord rule);
/// The same of a whole report; its assumptions keep their lines.
Report withVisibleNames(Report report);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_VISIBLENAMES_H
