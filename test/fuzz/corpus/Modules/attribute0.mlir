module attributes {divisi.a = array<index: 1>} {}
