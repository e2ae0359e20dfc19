// What the verifiers of exec refuse.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{a buffer needs a static shape, got 'tensor<?xf32>'}}
func.func private @open() -> !exec.buffer<tensor<?xf32>, @g>

// -----

// expected-error @below {{a buffer holds a local tensor, got 'tensor<4xf32>' without a layout}}
func.func private @global() -> !exec.buffer<tensor<4xf32>, @g>

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>

func.func @constant_of_the_local_shape() {
  // expected-error @below {{(C1) value of type 'tensor<2xf32>' does not fill the buffer's global tensor 'tensor<4xf32>'}}
  %0 = exec.constant dense<1.0> : tensor<2xf32> : !shard
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>

func.func @offset_between_lines() {
  // expected-error @below {{(C1) offset 32 is not a multiple of 64 from 0 on}}
  %0 = exec.alloc at 32 : !shard
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!other = !exec.buffer<tensor<2xi32, #spmd.local<(x=2), [x], 4>>, @g>

func.func @view_as_integers(%x: !shard) {
  // expected-error-re @below {{(C1) cannot view {{.*}} as {{.*}}: element types, grids and memory spaces must be equal}}
  %0 = exec.view %x : !shard to !other
  return
}

// -----

!pair = !exec.buffer<tensor<16x8xf32, #spmd.local<(x=2), [x, *], 32x8>>, @g>
!row = !exec.buffer<tensor<16xf32, #spmd.local<(x=2), [*], 16>>, @g>

func.func @view_between_places(%x: !pair) {
  // expected-error @below {{(C2) offset 32 is not a multiple of 64 from 0 on}}
  %0 = exec.view %x at 32 : !pair to !row
  return
}

// -----

!pair = !exec.buffer<tensor<16x8xf32, #spmd.local<(x=2), [x, *], 32x8>>, @g>
!row = !exec.buffer<tensor<16xf32, #spmd.local<(x=2), [*], 16>>, @g>

func.func @view_of_bytes_behind(%x: !pair) {
  %0 = exec.view %x at 448 : !pair to !row
  // expected-error @below {{(C3) shows 64 bytes at offset 512 of 512 bytes at position 0}}
  %1 = exec.view %x at 512 : !pair to !row
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>

func.func @unknown_collective(%x: !shard, %y: !shard) {
  // expected-error @below {{(C1) unknown kind 'gossip'}}
  exec.collective "gossip" axes ["x"] tag 0 %x into %y : !shard into !shard
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @h>

func.func @collective_between_grids(%x: !shard, %y: !whole) {
  // expected-error @below {{(C2) source on @g and target on @h must be on one grid; use exec.transfer between grids}}
  exec.collective "all_gather" axes ["x"] tag 0 %x into %y : !shard into !whole
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>

func.func @axis_of_another_grid(%x: !shard, %y: !whole) {
  // expected-error @below {{(C1) the grid has no axis 'z'}}
  exec.collective "all_gather" axes ["z"] tag 0 %x into %y : !shard into !whole
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>

func.func @format_of_one_side(%x: !shard, %y: !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g format "channels_last" of 16>) {
  // expected-error @below {{(C4) goes from the format '' to 'channels_last', which only a call may do}}
  exec.collective "all_gather" axes ["x"] tag 0 %x into %y : !shard into !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g format "channels_last" of 16>
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>

func.func @wrong_step(%x: !shard, %y: !whole) {
  // expected-error @below {{(C1) all_reduce cannot go from [x] to [*], expected partial axes to become replicated, and no other change}}
  exec.collective "all_reduce" axes ["x"] tag 0 %x into %y : !shard into !whole
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!other = !exec.buffer<tensor<4xf32, #spmd.local<(z=1), [*], 4>>, @h>

func.func @transfer_of_nothing() {
  // expected-error-re @below {{(C1) needs a source of type {{.*}}, a target of type {{.*}}, or both}}
  exec.transfer from !shard to !other tag 1
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!other = !exec.buffer<tensor<5xf32, #spmd.local<(z=1), [*], 5>>, @h>

func.func @transfer_to_another_shape(%x: !shard) {
  // expected-error-re @below {{(C2) cannot transfer {{.*}} into {{.*}}}}
  exec.transfer from !shard to !other tag 1 source %x : !shard
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>

func.func @call_that_copies(%x: !shard, %y: !shard) {
  // expected-error @below {{(Q1) is on queue 'copy', expected compute}}
  exec.call "nn.neg"(%x) into (%y) {} on "copy" : (!shard) into (!shard)
  return
}

// -----

func.func @commit_that_copies() {
  // expected-error @below {{(Q1) is on queue 'copy', expected compute}}
  exec.commit on "copy"
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>

func.func @output_on_a_communicator(%x: !shard) {
  // expected-error @below {{(Q1) is on queue 'g.x', expected compute or copy}}
  exec.output 0 %x on "g.x" : !shard
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>

func.func @gather_alone(%x: !shard, %y: !whole) {
  // expected-error @below {{(Q1) is on queue 'compute', expected that of a communicator}}
  exec.collective "all_gather" axes ["x"] tag 0 %x into %y on "compute" : !shard into !whole
  return
}

// -----

// expected-error @below {{(C1) has 1 names for 0 inputs and 0 names for 0 outputs}}
exec.entry @forward inputs ["a"] [] outputs [] []

// -----

// expected-error @below {{(C1) expected buffer types, got 'tensor<4xf32>'}}
exec.entry @forward inputs ["a"] [tensor<4xf32>] outputs [] []

// -----

exec.entry @forward inputs [] [] outputs [] []
// expected-error @below {{(C1) ranks must ascend from 0 or more, without repetition, and there must be at least one}}
exec.program @p entry @forward ranks [1, 0] arena 0 {
}

// -----

// expected-error @below {{(C2) @forward is not an exec.entry}}
exec.program @p entry @forward ranks [0] arena 0 {
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 64 {
  // expected-error @below {{(C3) 8 bytes at 64 exceed the arena of 64 bytes}}
  %0 = exec.alloc at 64 : !shard
}

// -----

!huge = !exec.buffer<tensor<4611686018427387904x2xf32, #spmd.local<(x=1), [*, *], 4611686018427387904x2>>, @g>
exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0] arena 64 {
  // expected-error @below {{has too many bytes}}
  %0 = exec.alloc at 0 : !huge
}

// -----

!count = !exec.buffer<tensor<i64, #spmd.local<(x=2), []>>, @g>
!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>

func.func @loop_that_loses_a_value(%n: !count, %x: !shard, %y: !shard) {
  // expected-error-re @below {{(C1) carries ({{.*}}), but has outputs ({{.*}}) and spares ()}}
  exec.loop @step times %n max 3 carries (%x) given () into (%y) spare ()
    : !count, (!shard), (), (!shard), ()
  return
}

// -----

!t = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 64 {
  %0 = exec.input 0 : !t
  %1 = exec.alloc at 0 : !t
  // expected-error @below {{(C1) 'over' needs pairs of an input and an output, got [1, 0]}}
  exec.call "nn.neg"(%0) into (%1) {} over [1, 0] : (!t) into (!t)
}

// -----

!count = !exec.buffer<tensor<i64, #spmd.local<(x=2), []>>, @g>

exec.entry @step inputs [] [] outputs [] []
func.func @loop_of_an_entry(%n: !count) {
  // expected-error @below {{(C2) @step is not a body}}
  exec.loop @step times %n max 3 carries () given () into () spare ()
    : !count, (), (), (), ()
  return
}

// -----

!t = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 128 {
  %0 = exec.input 0 : !t
  %1 = exec.alloc at 0 : !t
  // expected-error @below {{(C2) cannot have a workspace of 64 bytes at 32}}
  exec.call "nn.neg"(%0) into (%1) {} workspace 64 at 32 : (!t) into (!t)
}

// -----

!count = !exec.buffer<tensor<i64, #spmd.local<(x=2), []>>, @g>

exec.entry @step body inputs [] [] outputs [] []
func.func @loop_beside_calls(%n: !count) {
  // expected-error @below {{(Q1) is on queue 'copy', expected compute}}
  exec.loop @step times %n max 3 carries () given () into () spare () on "copy"
    : !count, (), (), (), ()
  return
}

// -----

!t = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 64 {
  %0 = exec.input 0 : !t
  %1 = exec.alloc at 0 : !t
  // expected-error @below {{(C3) 64 bytes at 64 exceed the arena of 64 bytes}}
  exec.call "nn.neg"(%0) into (%1) {} workspace 64 at 64 : (!t) into (!t)
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!local = tensor<2xf32, #spmd.local<(x=2), [x], 4>>

func.func @fused_without_region(%x: !shard, %y: !shard) {
  // expected-error @below {{(C4) only 'fused' has a region, and it needs one, got 'fused' without one}}
  exec.call "fused"(%x) into (%y) {} : (!shard) into (!shard)
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!local = tensor<2xf32, #spmd.local<(x=2), [x], 4>>

func.func @region_of_another(%x: !shard, %y: !shard) {
  // expected-error @below {{(C4) only 'fused' has a region, and it needs one, got 'nn.neg' with one}}
  exec.call "nn.neg"(%x) into (%y) {} {
  ^bb0(%0: !local):
    %1 = nn.neg %0 : (!local) -> !local
    exec.yield %1 : !local
  } : (!shard) into (!shard)
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!local = tensor<2xf32, #spmd.local<(x=2), [x], 4>>

func.func @region_of_other_tensors(%x: !shard, %y: !shard) {
  // expected-error @below {{(C4) needs a region from the tensors of its inputs to those of its outputs}}
  exec.call "fused"(%x, %x) into (%y) {} {
  ^bb0(%0: !local):
    %1 = nn.neg %0 : (!local) -> !local
    exec.yield %1 : !local
  } : (!shard, !shard) into (!shard)
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!local = tensor<2xf32, #spmd.local<(x=2), [x], 4>>

func.func @region_that_yields_its_argument(%x: !shard, %y: !shard) {
  // expected-error @below {{(C4) must yield different results of operators}}
  exec.call "fused"(%x) into (%y) {} {
  ^bb0(%0: !local):
    exec.yield %0 : !local
  } : (!shard) into (!shard)
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!local = tensor<2xf32, #spmd.local<(x=2), [x], 4>>

nn.global @w parameter : tensor<4xf32>

func.func @region_with_a_global(%x: !shard, %y: !shard) {
  // expected-error @below {{(C4) has a region with 'nn.read', which no kernel computes}}
  exec.call "fused"(%x) into (%y) {} {
  ^bb0(%0: !local):
    %1 = nn.read @w : !local
    exec.yield %1 : !local
  } : (!shard) into (!shard)
  return
}
