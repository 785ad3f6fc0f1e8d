# WebAssembly: one set, as a browser that lacks its instructions does not load a file with them. Small but for kernels.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")
add_compile_options(-fwasm-exceptions)
add_link_options(-fwasm-exceptions)
set(SETS simd128)
set(FLAGS_simd128 -O3 -msimd128)
set(WIDTH_simd128 simd128)
