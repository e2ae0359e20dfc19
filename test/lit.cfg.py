"""How lit runs the .mlir and .test files. lit.site.cfg brings the paths."""

import os

import lit.formats

config.name = "Divisi"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# Modules that other tests read; they have no RUN lines.
config.excludes = ["Inputs", "programs", "operators.mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.divisi_build, "test")

# Whole words only: `divisi` must not be found inside `divisi-opt`.
for tool, folder in [
    ("divisi-opt", config.divisi_bin),
    ("divisi", config.divisi_bin),
    ("FileCheck", config.llvm_bin),
    ("not", config.llvm_bin),
]:
    path = os.path.join(folder, tool)
    config.substitutions.append((rf"(?<![\w./%-]){tool}(?![\w./-])", path))
    if os.path.exists(path):
        config.available_features.add(tool)

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%build", config.divisi_build))
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
