// What the verifiers of exec refuse of memory spaces.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics


// expected-error @below {{a buffer in host memory must not name a memory space}}
func.func private @named() -> !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "host">

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

func.func @view_in_another_space(%x: !shard) {
  // expected-error-re @below {{(C1) cannot view {{.*}} as {{.*}}: element types, grids and memory spaces must be equal}}
  %0 = exec.view %x : !shard to !there
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

func.func @call_in_two_spaces(%x: !shard, %y: !there) {
  // expected-error @below {{(C3) works in memory space 'cuda', but a buffer is in 'host': it must be copied}}
  exec.call "nn.neg"(%x) into (%y) {} : (!shard) into (!there)
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

func.func @call_that_reads_there(%x: !there, %y: !shard) {
  // expected-error @below {{(C3) works in memory space 'host', but a buffer is in 'cuda': it must be copied}}
  exec.call "nn.neg"(%x) into (%y) {} : (!there) into (!shard)
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>

func.func @gather_from_a_device(%x: !there, %y: !whole) {
  // expected-error @below {{(C3) goes from memory space 'cuda' to 'host', which only exec.copy may do}}
  exec.collective "all_gather" axes ["x"] tag 0 %x into %y : !there into !whole
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
!other = !exec.buffer<tensor<4xf32, #spmd.local<(z=1), [*], 4>>, @h>
!other_there = !exec.buffer<tensor<4xf32, #spmd.local<(z=1), [*], 4>>, @h, "cuda">

func.func @transfer_to_a_device(%x: !shard, %y: !other_there) {
  // expected-error @below {{(C3) goes from memory space 'host' to 'cuda', which only exec.copy may do}}
  exec.transfer from !shard to !other tag 1 source %x : !shard target %y : !other_there
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

func.func @transfer_that_names_a_space(%x: !there) {
  // expected-error @below {{attribute 'from' failed to satisfy constraint: type attribute of buffer in the memory of the host}}
  exec.transfer from !there to !shard tag 1 source %x : !there
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
!other = !exec.buffer<tensor<2xi32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

func.func @copy_of_another_type(%x: !shard, %y: !other) {
  // expected-error-re @below {{(C1) cannot copy {{.*}} to {{.*}}}}
  exec.copy %x into %y : !shard to !other
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

func.func @copy_beside_calls(%x: !shard, %y: !there) {
  // expected-error @below {{(C2) goes from one memory space to another on queue 'compute', expected copy}}
  exec.copy %x into %y : !shard to !there
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
!elsewhere = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "other">

func.func @copy_between_devices(%x: !there, %y: !elsewhere) {
  // expected-error @below {{(C2) goes from memory space 'cuda' to 'other', expected the host's for one of the two}}
  exec.copy %x into %y on "copy" : !there to !elsewhere
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

func.func @global_written_in_a_format() {
  // expected-error @below {{result #0 must be buffer in row-major order}}
  %0 = exec.new_global @w : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda" format "packed" of 32>
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

!packed = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda" format "packed" of 32>

func.func @update_by_what_has_a_format(%x: !packed) {
  // expected-error @below {{operand #0 must be buffer in row-major order}}
  exec.update @w %x : !packed
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

// (C3)
func.func @loop_counted_on_a_device(%n: !there) {
  // expected-error @below {{operand #0 must be buffer in the memory of the host}}
  exec.loop @step times %n max 3 carries () given () into () spare ()
    : !there, (), (), (), ()
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

// expected-error @below {{(C2) passes a value in memory space 'cuda', expected host memory}}
exec.entry @forward inputs [] [] outputs ["y"] [!there]

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 128, "cuda" 64 {
  // expected-error @below {{(C3) 8 bytes at 64 exceed the arena of 64 bytes}}
  %0 = exec.alloc at 64 : !there
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 128 {
  // expected-error @below {{(C3) 8 bytes at 0 exceed the arena of 0 bytes}}
  %0 = exec.alloc at 0 : !there
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 1024, "cuda" 64 {
  %0 = exec.alloc at 0 : !there
  // expected-error @below {{(C3) 64 bytes at 64 exceed the arena of 64 bytes}}
  exec.call "nn.neg"(%0) into (%0) {} workspace 64 at 64 : (!there) into (!there)
}

// -----


exec.entry @forward inputs [] [] outputs [] []
// expected-error @below {{(C4) cannot have an arena of -64 : i64 bytes in memory space 'cuda'}}
exec.program @p entry @forward ranks [0] arena 0, "cuda" -64 {
}

// -----


exec.entry @forward inputs [] [] outputs [] []
// expected-error @below {{(C4) cannot have an arena of 64 : i64 bytes in memory space 'host'}}
exec.program @p entry @forward ranks [0] arena 0, "host" 64 {
}

// -----


exec.entry @forward inputs [] [] outputs [] []
// expected-error @below {{memory space 'cuda' has two arenas}}
exec.program @p entry @forward ranks [0] arena 0, "cuda" 64, "cuda" 64 {
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">

!elsewhere = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "other">

exec.entry @step body inputs [] [] outputs [] []
exec.program @p entry @step ranks [0, 1] arena 0, "cuda" 64, "other" 64 {
  %0 = exec.alloc at 0 : !there
  // expected-error @below {{(C5) is in memory space 'other', but others of the body are in 'cuda'}}
  %1 = exec.alloc at 0 : !elsewhere
}
