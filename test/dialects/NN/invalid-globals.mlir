// What the verifiers of globals and of operators on boxes refuse.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

// global_c1
// expected-error @+1 {{is a constant without bytes, expected 'from'}}
nn.global @w constant : tensor<4xf32>

// -----

// global_c2
// expected-error @+1 {{is derived, so @init computes it; drop 'from' and 'zero'}}
nn.global @w derived : tensor<4xf32> zero

// -----

// global_c3
// expected-error @+1 {{needs a file, offset and length, or 'zero', or none of them}}
nn.global @w state : tensor<4xf32> from "f" [0, 16] zero

// -----

// global_c4
// expected-error @+1 {{lies at offset 9223372036854775807 with length 16, which is not a valid part of a file}}
nn.global @w state : tensor<4xf32> from "f" [9223372036854775807, 16]

// -----

// global_c5
// expected-error @+1 {{has 15 bytes in its file, but 'tensor<4xf32>' takes 16}}
nn.global @w state : tensor<4xf32> from "f" [0, 15]

// -----

// global_c5_uncountable
// expected-error @+1 {{takes more than an int64 can count}}
nn.global @w state : tensor<4294967296x4294967296xf32> from "f" [0, 16]

// -----

func.func @read_c1() {
  // expected-error @+1 {{names @none, which is not an nn.global}}
  %0 = nn.read @none : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w parameter : tensor<4xf32>
func.func @read_c2() {
  // expected-error @+1 {{has the type 'tensor<5xf32>', expected 'tensor<4xf32>' as @w}}
  %0 = nn.read @w : tensor<5xf32>
  return
}

// -----

func.func @update_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{names @update_c1, which is not an nn.global}}
  nn.update @update_c1, %x : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w parameter : tensor<4xf32>
func.func @update_c2(%x: tensor<5xf32>) {
  // expected-error @+1 {{has the type 'tensor<5xf32>', expected 'tensor<4xf32>' as @w}}
  nn.update @w, %x : tensor<5xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w constant : tensor<4xf32> from "f" [0, 16]
func.func @update_c3_constant(%x: tensor<4xf32>) {
  // expected-error @+1 {{replaces a constant global, expected a parameter or a state, or a derived one in @init}}
  nn.update @w, %x : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w derived : tensor<4xf32>
func.func @update_c3_derived(%x: tensor<4xf32>) {
  // expected-error @+1 {{replaces a derived global, expected a parameter or a state, or a derived one in @init}}
  nn.update @w, %x : tensor<4xf32>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @+1 {{has a result of type 'tensor<5xf32>', expected that of the value, 'tensor<4xf32>'}}
  %0 = nn.constant dense<1.0> : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

// A box's result is judged by its global shape.
func.func @inferred_type_of_a_box(
    %x: tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>) {
  // expected-error @+1 {{has a result of type 'tensor<2x8xf32>', expected 'tensor<4x8xf32>'}}
  %0 = nn.neg %x : (tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>)
      -> tensor<2x8xf32>
  return
}
