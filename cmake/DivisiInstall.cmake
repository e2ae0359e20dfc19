# What `cmake --install` makes of a build: a tree that can be moved, with bin,
# libexec, lib, include and share. Programs find the libraries of the prefix in
# their tree's lib, there as in the build tree; those of the system, which come
# from packages, are found where that has them, until install/stage.sh puts copies
# in the tree: what `make install` and `make wheel` begin with.

set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# All that is installed.
add_custom_target(divisi-tree)

# divisi_bundle(TARGET FILE)
# Makes TARGET the library FILE of the prefix: a copy in lib of the build tree.
function(divisi_bundle target file)
  cmake_path(GET file FILENAME name)
  set(copy ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${name})
  file(COPY ${file} DESTINATION ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${copy})
  install(PROGRAMS ${copy} DESTINATION lib)
endfunction()

# divisi_install(TARGET FOLDER)
# Installs a program or a plug-in in a folder of the tree, one deep, as it lies in
# the build tree; without its line tables, which name folders of this machine.
function(divisi_install target folder)
  add_dependencies(divisi-tree ${target})
  # The same in both trees: room for another path would be an empty one, which
  # means the working directory.
  set_target_properties(${target} PROPERTIES INSTALL_RPATH $ORIGIN/../lib
    INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} RUNTIME DESTINATION ${folder}
    LIBRARY DESTINATION ${folder})
  install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-debug
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${target}>\"
    COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

# The documentation, and the licences of what is in the tree.
install(FILES LICENSE README.md DESTINATION share/doc/divisi)
install(DIRECTORY docs licenses DESTINATION share/doc/divisi
  FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN *.txt)

# The C APIs: headers, find_package(Divisi), and pkg-config's divisi-runtime and
# divisi-compiler. All of them find the tree from where they lie.
install(DIRECTORY include/divisi-c DESTINATION include)
include(CMakePackageConfigHelpers)
set(folder ${PROJECT_BINARY_DIR}/install)
configure_package_config_file(cmake/install/DivisiConfig.cmake.in
  ${folder}/DivisiConfig.cmake INSTALL_DESTINATION lib/cmake/Divisi)
write_basic_package_version_file(${folder}/DivisiConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${folder}/DivisiConfig.cmake ${folder}/DivisiConfigVersion.cmake
  DESTINATION lib/cmake/Divisi)
set(description_runtime "loads and runs artifacts of Divisi")
set(description_compiler "plans and compiles models for many devices")
foreach(name runtime compiler)
  set(description ${description_${name}})
  configure_file(cmake/install/divisi.pc.in ${folder}/divisi-${name}.pc @ONLY)
  install(FILES ${folder}/divisi-${name}.pc DESTINATION lib/pkgconfig)
endforeach()
