// RUN: not divisi-opt %s 2>&1 | FileCheck %s

// What breaks MLIR's parser is refused before it is parsed.
// CHECK: divisi-opt: error: {{.*}}text.mlir:5:34: an array of index; expected integers or floats
module attributes {divisi.note = array<index: 1>} {}
