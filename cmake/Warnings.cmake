# Our warnings, carried by an interface target that is linked PRIVATE: nobody who links Lake inherits them.
add_library(lake_warnings INTERFACE)
target_compile_options(lake_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(lake_warnings INTERFACE -Wthread-safety -Wno-missing-designated-field-initializers)
else()
  # Designated initialisers that leave the rest to the member defaults are how our option structs are meant to be used.
  target_compile_options(lake_warnings INTERFACE -Wno-missing-field-initializers)
endif()
if(LAKE_WERROR)
  target_compile_options(lake_warnings INTERFACE -Werror)
endif()
