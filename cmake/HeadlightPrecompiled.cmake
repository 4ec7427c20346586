# <ATen/ATen.h> is most of the compile time of what includes it: it is read once for all of them.
# -DHEADLIGHT_PRECOMPILE=OFF builds every file by what it includes itself.
option(HEADLIGHT_PRECOMPILE "Precompile LibTorch's header" ON)
if(HEADLIGHT_PRECOMPILE)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "// Carries the precompiled header.\n")
  add_library(headlight_precompiled STATIC ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(headlight_precompiled PUBLIC headlight_flags headlight_torch OpenMP::OpenMP_CXX)
  target_precompile_headers(headlight_precompiled PRIVATE <ATen/ATen.h>)
  target_compile_options(headlight_precompiled PRIVATE -fpch-preprocess)  # for ccache
endif()

# headlight_precompile(target): lets a target with LibTorch use it.
function(headlight_precompile target)
  if(HEADLIGHT_PRECOMPILE AND TARGET ${target})
    target_precompile_headers(${target} REUSE_FROM headlight_precompiled)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
