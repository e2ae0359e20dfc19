module attributes {divisi.a = affine_map<(d) -> (d)>} {}
