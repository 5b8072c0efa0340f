put common/util/log.cpp 'int x;' 'auto v = std::getenv("NCCL_DEBUG");'
flags common/util/log.cpp:2 "getenv in log"
put net_plugin/plugin.cpp 'void f() { ::setenv("NCCL_PROTO", "simple", 0); }'
flags net_plugin/plugin.cpp:1 "setenv in the plugin"
put examples/02_send_recv.cpp 'auto v = secure_getenv("RANK");'
flags examples/02_send_recv.cpp:1 "secure_getenv in an example"
put common/util/log.cpp '// getenv("X") is for settings.cpp' 'auto t = "getenv(";'
accepts "comments and texts"
put common/bootstrap/child_process.cpp 'void f() { ::setenv("RANK", "1", 1); }'
accepts "the environment of a child process"
