for name in post_2.cpp post_impl.hpp post_helpers.cpp utils.hpp misc.cpp Post.cpp; do
    put "common/ofi/$name" 'int x;'
    flags "common/ofi/$name:1" "the name $name"
done
put common/ofi/net_v6.h 'int x;'
put examples/01_load_plugins.cpp 'int x;'
accepts "versions and numbered examples"
