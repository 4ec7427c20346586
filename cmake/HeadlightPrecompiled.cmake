# Headers of libraries take most of the time of a file: they are precompiled once for many modules, by the carriers below.
# -DHEADLIGHT_PRECOMPILE=OFF builds every file from its own includes.
option(HEADLIGHT_PRECOMPILE "Precompile the headers of libraries" ON)

# headlight_carrier(name LIBS X::y HEADERS <a> <b>): the target that carries a precompiled header. It is made at -O1: GCC compiles
# all that uses a precompiled header at the level that the header was made at. -fpch-preprocess lets ccache see through it.
function(headlight_carrier name)
  cmake_parse_arguments(arg "" "" "LIBS;HEADERS" ${ARGN})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// Carries the precompiled header.\n")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE headlight_flags ${arg_LIBS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  target_compile_options(${name} PRIVATE -fpch-preprocess)
  headlight_light(${name})
endfunction()

if(HEADLIGHT_PRECOMPILE)
  headlight_carrier(headlight_tensors LIBS headlight_torch OpenMP::OpenMP_CXX nlohmann_json::nlohmann_json Eigen3::Eigen
                    HEADERS <ATen/ATen.h> <Eigen/Core> <nlohmann/json.hpp>)
  # GCC wants the definitions of the header wherever it is used: those of LibTorch and OpenMP, which all have, and none of Qt6::Widgets.
  set(qt Gui)
  if(HEADLIGHT_GUI)
    set(qt Widgets)
  endif()
  headlight_carrier(headlight_pictures LIBS headlight_torch OpenMP::OpenMP_CXX Qt6::Gui nlohmann_json::nlohmann_json Eigen3::Eigen
                    HEADERS <Qt${qt}/Qt${qt}> <Eigen/Core> <nlohmann/json.hpp> <filesystem> <functional>)
  target_include_directories(headlight_pictures SYSTEM PRIVATE $<TARGET_PROPERTY:Qt6::${qt},INTERFACE_INCLUDE_DIRECTORIES>)
endif()

# headlight_precompile(target carrier): lets a target use a carrier's header.
function(headlight_precompile target carrier)
  if(HEADLIGHT_PRECOMPILE AND TARGET ${target})
    target_precompile_headers(${target} REUSE_FROM ${carrier})
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
