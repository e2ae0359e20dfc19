// Two stages of one device each, and two micro-batches: F = relu, G = f + f,
// B = g * g. Device 0 does F0 F1 B0 B1, device 1 F0 B0 F1 B1 (here F and B of
// the second stage are one call, G): what device 0 sends second (tag 1), device
// 1 wants third. Each direction has a communicator, so nobody blocks.
!A = !exec.buffer<tensor<4xf32, #spmd.local<(a=1), [*], 4>>, @first>
!B = !exec.buffer<tensor<4xf32, #spmd.local<(b=1), [*], 4>>, @second>

module attributes {divisi.stage = "lower"} {
  spmd.grid @first (a = 1) devices [0]
  spmd.grid @second (b = 1) devices [1]

  exec.entry @step
    inputs ["x0", "x1"] [!A, !A] outputs ["y0", "y1"] [!A, !A]

  exec.program @step__0 entry @step ranks [0] arena 192 {
    %x0 = exec.input 0 : !A
    %x1 = exec.input 1 : !A
    %f0 = exec.alloc at 0 : !A
    %f1 = exec.alloc at 64 : !A
    %g0 = exec.alloc at 128 : !A
    %g1 = exec.alloc at 0 : !A
    %b0 = exec.alloc at 64 : !A
    %b1 = exec.alloc at 128 : !A
    %F0 = exec.call "nn.relu"(%x0) into (%f0) {} : (!A) into (!A) -> !exec.token
    %sent0 = exec.transfer from !A to !B tag 0 source %f0 : !A after %F0 -> !exec.token
    %F1 = exec.call "nn.relu"(%x1) into (%f1) {} : (!A) into (!A) -> !exec.token
    %sent1 = exec.transfer from !A to !B tag 1 source %f1 : !A after %F1 -> !exec.token
    %got0 = exec.transfer from !B to !A tag 2 target %g0 : !A -> !exec.token
    // B0 lies where f1 was: it waits until that has been fetched.
    %B0 = exec.call "nn.mul"(%g0, %g0) into (%b0) {} after %sent1, %got0 : (!A, !A) into (!A) -> !exec.token
    exec.output 0 %b0 : !A
    %got1 = exec.transfer from !B to !A tag 3 target %g1 : !A after %sent0 -> !exec.token
    exec.call "nn.mul"(%g1, %g1) into (%b1) {} after %got1 : (!A, !A) into (!A)
    exec.output 1 %b1 : !A
  }

  exec.program @step__1 entry @step ranks [1] arena 128 {
    %f0 = exec.alloc at 0 : !B
    %g0 = exec.alloc at 64 : !B
    %f1 = exec.alloc at 0 : !B
    %g1 = exec.alloc at 64 : !B
    %got0 = exec.transfer from !A to !B tag 0 target %f0 : !B -> !exec.token
    %G0 = exec.call "nn.add"(%f0, %f0) into (%g0) {} after %got0 : (!B, !B) into (!B) -> !exec.token
    %sent0 = exec.transfer from !B to !A tag 2 source %g0 : !B after %G0 -> !exec.token
    %got1 = exec.transfer from !A to !B tag 1 target %f1 : !B after %G0 -> !exec.token
    %G1 = exec.call "nn.add"(%f1, %f1) into (%g1) {} after %sent0, %got1 : (!B, !B) into (!B) -> !exec.token
    exec.transfer from !B to !A tag 3 source %g1 : !B after %G1
  }
}
