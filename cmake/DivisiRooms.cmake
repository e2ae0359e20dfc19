# Adds the rooms of the tree, and fails where what is listed and what is there
# differ. A room that is left out in silence takes its tests with it.

# divisi_add_rooms(ROOM…)
# Adds each folder, given relative to this one.
function(divisi_add_rooms)
  foreach(room ${ARGN})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${room}/CMakeLists.txt)
      message(FATAL_ERROR "the room '${room}' is listed, but there is no "
        "${room}/CMakeLists.txt")
    endif()
    add_subdirectory(${room})
  endforeach()
endfunction()

# divisi_check_rooms(FOLDER…)
# Fails if a CMakeLists.txt beneath a FOLDER has not been added, by
# divisi_add_rooms or by the room above it.
function(divisi_check_rooms)
  set(added)
  _divisi_collect_rooms(${CMAKE_CURRENT_SOURCE_DIR} added)
  foreach(folder ${ARGN})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/CMakeLists.txt)
    foreach(file ${found})
      cmake_path(GET file PARENT_PATH room)
      if(NOT room IN_LIST added)
        cmake_path(RELATIVE_PATH room BASE_DIRECTORY
          ${CMAKE_CURRENT_SOURCE_DIR})
        message(SEND_ERROR "'${room}' has a CMakeLists.txt that nothing adds; "
          "list it in CMakeLists.txt, or in that of the room above it")
      endif()
    endforeach()
  endforeach()
endfunction()

# Appends to `out` all folders that `folder` has added, at any depth.
function(_divisi_collect_rooms folder out)
  get_property(children DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  set(all ${${out}} ${children})
  foreach(child ${children})
    _divisi_collect_rooms(${child} all)
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()
