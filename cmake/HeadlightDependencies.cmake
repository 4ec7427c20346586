# Every outside package, in one place. All come from Debian; nothing is downloaded at configure time.
find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_path(HEADLIGHT_LBFGSPP_DIR LBFGS.h REQUIRED)  # LBFGS++: headers only, without a CMake config
find_package(nlohmann_json 3.11 REQUIRED)
find_package(ICU 70 REQUIRED COMPONENTS uc i18n data)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(zstd REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_path(HEADLIGHT_ONEDNN_DIR oneapi/dnnl/dnnl.hpp REQUIRED)  # its CMake config asks for OpenCL, which nothing here needs
find_library(HEADLIGHT_ONEDNN_LIBRARY dnnl REQUIRED)
# A LibTorch out of a Python package has the headers of another oneDNN beside its own: a folder with these alone comes first.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/onednn)
file(CREATE_LINK ${HEADLIGHT_ONEDNN_DIR}/oneapi ${CMAKE_BINARY_DIR}/onednn/oneapi SYMBOLIC)
add_library(headlight_onednn INTERFACE)
target_link_libraries(headlight_onednn INTERFACE ${HEADLIGHT_ONEDNN_LIBRARY})
target_include_directories(headlight_onednn SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/onednn)
find_package(Qt6 6.4 REQUIRED COMPONENTS Core Gui Network Widgets Svg Test)
set(QT_NO_CREATE_VERSIONLESS_TARGETS ON)

# LibTorch: Debian's by default; with -DHEADLIGHT_TORCH_DIR=<folder> the one in an archive or a Python package (…/site-packages/torch);
# or another one with a CMake config, -DTorch_DIR=<libtorch>/share/cmake/Torch.
set(HEADLIGHT_TORCH_DIR "" CACHE PATH "Folder of a LibTorch, with lib/ and include/, to use in place of the system's")
if(HEADLIGHT_TORCH_DIR)
  # The config of a LibTorch with CUDA asks for CUDA's compiler and headers, of which nothing here makes use.
  find_library(HEADLIGHT_TORCH_CPU torch_cpu PATHS ${HEADLIGHT_TORCH_DIR}/lib NO_DEFAULT_PATH REQUIRED)
  find_library(HEADLIGHT_C10 c10 PATHS ${HEADLIGHT_TORCH_DIR}/lib NO_DEFAULT_PATH REQUIRED)
  find_library(HEADLIGHT_TORCH_CUDA torch_cuda PATHS ${HEADLIGHT_TORCH_DIR}/lib NO_DEFAULT_PATH)
  set(TORCH_LIBRARY ${HEADLIGHT_TORCH_CPU})
  set(TORCH_LIBRARIES ${HEADLIGHT_TORCH_CPU} ${HEADLIGHT_C10})
  if(HEADLIGHT_TORCH_CUDA)
    # No symbol of it is called: it registers its kernels when it is loaded.
    list(APPEND TORCH_LIBRARIES "-Wl,--push-state,--no-as-needed" ${HEADLIGHT_TORCH_CUDA} "-Wl,--pop-state")
  endif()
  set(TORCH_INCLUDE_DIRS ${HEADLIGHT_TORCH_DIR}/include ${HEADLIGHT_TORCH_DIR}/include/torch/csrc/api/include)
  file(STRINGS ${HEADLIGHT_TORCH_DIR}/include/torch/csrc/api/include/torch/version.h torch_numbers REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  list(TRANSFORM torch_numbers REPLACE ".* " "")
  list(JOIN torch_numbers "." Torch_VERSION)
else()
  # LibTorch's own config looks in the system's folders first, which would mix two versions: pin the one asked for.
  if(Torch_DIR)
    cmake_path(SET torch_prefix NORMALIZE "${Torch_DIR}/../../..")
    if(EXISTS ${torch_prefix}/share/cmake/Caffe2)
      set(Caffe2_DIR ${torch_prefix}/share/cmake/Caffe2 CACHE PATH "" FORCE)
      list(PREPEND CMAKE_LIBRARY_PATH ${torch_prefix}/lib)
    endif()
  endif()
  find_package(Torch REQUIRED)
endif()
message(STATUS "LibTorch ${Torch_VERSION}")

# Debian's system-wide BLAS alternative is the pthread OpenBLAS, whose second thread pool halves LibTorch's speed.
# Linking the OpenMP one by path, before LibTorch's own references, makes it the one that is loaded.
find_path(HEADLIGHT_OPENBLAS_OPENMP_DIR NAMES libblas.so.3
          PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
                /usr/lib/x86_64-linux-gnu/openblas-openmp /usr/lib/aarch64-linux-gnu/openblas-openmp
          NO_DEFAULT_PATH)
add_library(headlight_blas INTERFACE)
# A LibTorch from elsewhere brings its own BLAS.
string(FIND "${TORCH_LIBRARY}" "/usr/lib/" torch_is_the_systems)
if(HEADLIGHT_OPENBLAS_OPENMP_DIR AND torch_is_the_systems EQUAL 0)
  target_link_options(headlight_blas INTERFACE
    "LINKER:--no-as-needed" "${HEADLIGHT_OPENBLAS_OPENMP_DIR}/libblas.so.3"
    "${HEADLIGHT_OPENBLAS_OPENMP_DIR}/liblapack.so.3" "LINKER:-rpath,${HEADLIGHT_OPENBLAS_OPENMP_DIR}"
    "LINKER:--as-needed")
  set(HEADLIGHT_RPATH ${HEADLIGHT_OPENBLAS_OPENMP_DIR})
elseif(NOT HEADLIGHT_OPENBLAS_OPENMP_DIR)
  message(WARNING "libopenblas0-openmp not found: forward passes may be twice as slow. Install it and configure again.")
endif()

# Debian 12's LibTorch lists OpenCV, ffmpeg and 200 libraries of theirs as needed without a call to them, and loading them takes
# half of the time of a short command. The programs take a copy without what it never calls, in a folder that an installation lacks:
# an installed program, or one built without patchelf, takes the system's.
find_program(HEADLIGHT_PATCHELF patchelf)
if(torch_is_the_systems EQUAL 0 AND HEADLIGHT_PATCHELF)
  get_filename_component(torch_folder "${TORCH_LIBRARY}" DIRECTORY)
  set(torch_cpu ${torch_folder}/libtorch_cpu.so)
  set(pruned ${CMAKE_BINARY_DIR}/lib/headlight)
  set(prune ${CMAKE_SOURCE_DIR}/cmake/prune-library)
  file(GLOB pruned_copy ${pruned}/libtorch_cpu.so*)
  if(NOT pruned_copy OR "${torch_cpu}" IS_NEWER_THAN "${pruned_copy}" OR "${prune}" IS_NEWER_THAN "${pruned_copy}")
    file(REMOVE_RECURSE ${pruned})
    execute_process(COMMAND ${prune} ${torch_cpu} ${pruned} OUTPUT_VARIABLE pruned_copy ERROR_VARIABLE pruning_error
                    RESULT_VARIABLE pruning_failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(pruning_failed)
    message(STATUS "LibTorch cannot be pruned, and programs start slower: ${pruning_error}")
  else()
    message(STATUS "LibTorch pruned: ${pruned_copy}")
    list(PREPEND HEADLIGHT_RPATH "$ORIGIN/../lib/headlight")
  endif()
elseif(torch_is_the_systems EQUAL 0)
  message(STATUS "patchelf not found: programs load all that LibTorch lists, and start slower. Install it and configure again.")
endif()

# The build tree's programs have the run path of installed ones. CMake would otherwise pad theirs with empty elements, to rewrite
# it at the installation, and an empty element means the current directory to the loader.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "${HEADLIGHT_RPATH}")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # folders of libraries outside the system's: another LibTorch's

add_library(headlight_torch INTERFACE)
# TORCH_LIBRARIES also carries global compile flags of its own; take the include folders as system ones.
target_link_libraries(headlight_torch INTERFACE headlight_blas ${TORCH_LIBRARIES})
target_include_directories(headlight_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
if(NOT torch_is_the_systems EQUAL 0)
  # A LibTorch out of a Python package finds its CUDA libraries by its own run path, which the linker does not follow.
  target_link_options(headlight_torch INTERFACE "LINKER:--allow-shlib-undefined")
  # Its libraries also hand on parts of std::filesystem of another compiler, which crash: take the system's first.
  target_link_options(headlight_torch INTERFACE "LINKER:--push-state,--no-as-needed,-lstdc++,--pop-state")
endif()

if(HEADLIGHT_BUILD_TESTS)
  # ./run does without; ./test installs it and configures again.
  find_package(GTest 1.12 QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "GoogleTest is not installed: the tests are left out")
    set(HEADLIGHT_BUILD_TESTS OFF)
  endif()
endif()
