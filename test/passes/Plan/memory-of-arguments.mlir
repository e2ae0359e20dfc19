// Without an operator there is none to name: the argument alone is too large.
// RUN: not divisi-opt %s --nn-plan="devices=2 memory-limit=1000" 2>&1 | FileCheck %s

// CHECK: error: no plan fits into the memory limit of 1000 bytes per device (--memory-limit): when an entry function returns at least {{[0-9]+}} bytes are in use, {{[0-9]+}} more than the limit of 1000;
func.func @forward(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  return %x : tensor<1024x1024xf32>
}
