# Sanitizers apply to everything we compile; the libraries of the system stay as they are.
if(LAKE_SANITIZE)
  add_compile_options(-fsanitize=${LAKE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LAKE_SANITIZE})
endif()
