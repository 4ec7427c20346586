# <ATen/ATen.h> takes most of the compile time of a file: it is read once for all, together with other slow headers. Modules without
# LibTorch precompile other headers. -DHEADLIGHT_PRECOMPILE=OFF builds every file from its own includes.
option(HEADLIGHT_PRECOMPILE "Precompile the headers of libraries" ON)

# The target that carries a precompiled header. -fpch-preprocess lets ccache see through it.
function(headlight_precompiled name)
  cmake_parse_arguments(arg "" "" "LIBS;HEADERS" ${ARGN})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// Carries the precompiled header.\n")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE headlight_flags ${arg_LIBS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  target_compile_options(${name} PRIVATE -fpch-preprocess)
endfunction()

if(HEADLIGHT_PRECOMPILE)
  headlight_precompiled(headlight_precompiled LIBS headlight_torch OpenMP::OpenMP_CXX nlohmann_json::nlohmann_json Eigen3::Eigen
                        HEADERS <ATen/ATen.h> <Eigen/Core> <nlohmann/json.hpp>)
  if(HEADLIGHT_BUILD_TESTS)
    headlight_precompiled(headlight_precompiled_tests LIBS headlight_torch OpenMP::OpenMP_CXX nlohmann_json::nlohmann_json Eigen3::Eigen
                          GTest::gmock HEADERS <ATen/ATen.h> <Eigen/Core> <nlohmann/json.hpp> <gtest/gtest.h> <gmock/gmock.h>)
    target_compile_options(headlight_precompiled_tests PRIVATE -O1)
  endif()
endif()

# headlight_precompile(target carrier): lets a target with LibTorch use a carrier's header.
function(headlight_precompile target carrier)
  if(HEADLIGHT_PRECOMPILE AND TARGET ${target})
    target_precompile_headers(${target} REUSE_FROM ${carrier})
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# headlight_precompile_headers(target <a> <b>): lets a target without LibTorch precompile what it includes everywhere.
function(headlight_precompile_headers target)
  if(HEADLIGHT_PRECOMPILE AND TARGET ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
