# The libraries that the program links, and whether it is linked without any shared one.
#
# FORETOKEN_STATIC is AUTO, ON or OFF. AUTO links a release statically where all static libraries are found, and not with
# sanitizers, which need shared libraries. Symbols then need no search at the start of the program
# (docs/contributor/performance.md has the times). ON stops where one is missing.
#
# Rooms link foretoken_fmt, foretoken_pugixml, foretoken_zlib and foretoken_yaml. Debian ships fmt as a shared library
# only; cmake/fmt_instances.cpp then makes a static one of its headers.
set(FORETOKEN_STATIC AUTO CACHE STRING "Link the program without shared libraries: AUTO, ON or OFF")
set_property(CACHE FORETOKEN_STATIC PROPERTY STRINGS AUTO ON OFF)

include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)  # libyaml, which Debian ships without a CMake package
find_library(YAML_LIBRARY yaml REQUIRED)
find_library(YAML_STATIC_LIBRARY libyaml.a)
find_library(ZLIB_STATIC_LIBRARY libz.a)

# Sets FORETOKEN_STATIC_LINKS: whether a program with all libraries links statically.
function(foretoken_check_static_link)
  if(NOT TARGET pugixml::static OR NOT YAML_STATIC_LIBRARY OR NOT ZLIB_STATIC_LIBRARY)
    set(FORETOKEN_STATIC_LINKS OFF PARENT_SCOPE)
    return()
  endif()
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_FLAGS -std=c++20)
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
  get_target_property(FMT_HEADERS fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  set(CMAKE_REQUIRED_INCLUDES ${PROJECT_SOURCE_DIR} ${FMT_HEADERS} ${YAML_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES pugixml::static ${YAML_STATIC_LIBRARY} ${ZLIB_STATIC_LIBRARY})
  check_cxx_source_compiles("
    #include \"cmake/fmt_instances.cpp\"
    #include <pugixml.hpp>
    #include <thread>
    #include <yaml.h>
    #include <zlib.h>
    int main() {
      std::thread thread([] { fmt::print(\"{} {:.3g} {:L} {}\", 1, 2.5, 3.5, 4.5f); });
      thread.join();
      pugi::xml_document document;
      return document.load_string(zlibVersion()) && yaml_get_version_string() != nullptr;
    }" FORETOKEN_STATIC_LINKS)
  cmake_pop_check_state()
endfunction()

set(FORETOKEN_STATIC_BUILT OFF)
if(FORETOKEN_STATIC STREQUAL "AUTO" AND (NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize"))
  set(FORETOKEN_STATIC_WANTED OFF)
else()
  set(FORETOKEN_STATIC_WANTED ${FORETOKEN_STATIC})
endif()
if(FORETOKEN_STATIC_WANTED)
  foretoken_check_static_link()
  if(FORETOKEN_STATIC_LINKS)
    set(FORETOKEN_STATIC_BUILT ON)
  elseif(NOT FORETOKEN_STATIC STREQUAL "AUTO")
    message(FATAL_ERROR "FORETOKEN_STATIC=${FORETOKEN_STATIC}, but no static program links: it takes libc.a, "
                        "libstdc++.a, libpugixml.a, libz.a, libyaml.a and fmt 9")
  else()
    message(STATUS "The program takes shared libraries: not all static ones are found")
  endif()
endif()

add_library(foretoken_pugixml INTERFACE)
add_library(foretoken_zlib INTERFACE)
add_library(foretoken_yaml INTERFACE)
if(FORETOKEN_STATIC_BUILT)
  add_library(foretoken_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_instances.cpp)
  set_target_properties(foretoken_fmt PROPERTIES CXX_CLANG_TIDY "")
  target_include_directories(foretoken_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(foretoken_pugixml INTERFACE pugixml::static)
  target_link_libraries(foretoken_zlib INTERFACE ${ZLIB_STATIC_LIBRARY})
  target_link_libraries(foretoken_yaml INTERFACE ${YAML_STATIC_LIBRARY})
else()
  add_library(foretoken_fmt INTERFACE)
  target_link_libraries(foretoken_fmt INTERFACE fmt::fmt)
  target_link_libraries(foretoken_pugixml INTERFACE pugixml::pugixml)
  target_link_libraries(foretoken_zlib INTERFACE ZLIB::ZLIB)
  target_link_libraries(foretoken_yaml INTERFACE ${YAML_LIBRARY})
endif()
