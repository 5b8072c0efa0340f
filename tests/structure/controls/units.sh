put common/ofi/post.cpp 'int x;'
flags common/ofi/post.cpp:1 "a source that no test names"
put common/ofi/post.cpp 'int x;'
put tests/unit/post_test.cpp '#include "common/ofi/post_order.hpp"'
flags common/ofi/post.cpp:1 "a test of another unit with a longer name"
put common/ofi/post.cpp 'int x;'
put tests/unit/post_test.cpp '#include "common/ofi/post.hpp"'
accepts "a source whose header a test includes"
