"""How lit runs the .mlir and .test files. lit.site.cfg brings the paths."""

import os

import lit.formats

config.name = "Divisi"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# A file without a RUN line fails, so modules that other tests read lie in
# folders called Inputs, or in the corpus of the fuzzers: nothing else is passed
# over.
config.excludes = ["Inputs", "corpus"]
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
    if tool == "divisi-opt":
        # Tests of passes are about what they do.
        path += " --mlir-print-debuginfo=false"
    config.substitutions.append((rf"(?<![\w./%-]){tool}(?![\w./-])", path))

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%build", config.divisi_build))
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
