//===- VisibleNames.cpp - Names that are parts of lines -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleNames.h"

#include "divisi/Support/VisibleText.h"

using namespace divisi;

template <typename... Names> static void show(Names &...names) {
  ((names = visibleLine(names)), ...);
}

// Axes and loops are words: nothing else is read as one.

ReportRow divisi::withVisibleNames(ReportRow row) {
  show(row.entry, row.layer, row.node, row.op, row.grid, row.kernel);
  for (std::string &axis : row.axes) {
    show(axis);
  }
  for (std::string &rule : row.rules) {
    show(rule);
  }
  return row;
}

ReportTensor divisi::withVisibleNames(ReportTensor tensor) {
  show(tensor.name, tensor.kind, tensor.grid, tensor.entry);
  return tensor;
}

rewrite::RuleRecord divisi::withVisibleNames(rewrite::RuleRecord rule) {
  show(rule.name, rule.file, rule.numericClass, rule.declined);
  for (std::string &node : rule.nodes) {
    show(node);
  }
  return rule;
}

Report divisi::withVisibleNames(Report report) {
  show(report.model, report.deviceKind);
  if (report.plan) {
    show(report.plan->solver, report.plan->ended);
  }
  if (report.precision) {
    show(report.precision->type);
  }
  for (rewrite::RuleRecord &rule : report.rules) {
    rule = withVisibleNames(std::move(rule));
  }
  for (ReportGrid &grid : report.grids) {
    show(grid.name);
    show(grid.parallelism);
  }
  for (std::vector<ReportTensor> *tensors :
       {&report.globals, &report.tensors}) {
    for (ReportTensor &tensor : *tensors) {
      tensor = withVisibleNames(std::move(tensor));
    }
  }
  for (ReportDevice &device : report.devices) {
    show(device.kind);
  }
  for (ReportRow &row : report.rows) {
    row = withVisibleNames(std::move(row));
  }
  for (ReportKernel &kernel : report.kernels) {
    show(kernel.entry, kernel.op, kernel.head, kernel.backend, kernel.library);
  }
  for (ReportCopies &copies : report.spaceCopies) {
    show(copies.entry, copies.space);
  }
  for (ReportCode &code : report.codes) {
    show(code.target);
  }
  return report;
}
