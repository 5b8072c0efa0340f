put net_plugin/plugin.cpp 'void f() {' '    log::info(log::init, "started {}", 1);' '}'
flags net_plugin/plugin.cpp:2 "a text at the call"
put net_plugin/plugin.cpp 'void f() {' '    log::warn(log::init | log::net,' '              "started");' '}'
flags net_plugin/plugin.cpp:2 "a text on the next line"
put net_plugin/plugin.cpp 'void f() { log::trace(log::net, "posted {}", 1); }' '// log::warn(log::net, "x");'
accepts "trace and comments"
