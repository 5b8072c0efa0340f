put net_plugin/plugin.cpp 'void f() { std::cerr << 1; }'
flags net_plugin/plugin.cpp:1 "cerr"
put common/ofi/post.cpp 'int x;' 'void f() { fprintf(stderr, "x"); }'
flags common/ofi/post.cpp:2 "fprintf"
put common/ofi/post.cpp 'void f() { snprintf(b, 1, "x"); }'
accepts "snprintf"
