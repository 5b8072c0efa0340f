put common/ofi/post.cpp '// order per peer (net contract 3.99)'
flags common/ofi/post.cpp:1 "an unknown section"
put common/ofi/post.cpp 'int x;' '/* truncation: P6, never P5 */'
flags common/ofi/post.cpp:2 "an unknown fact"
put common/ofi/post.cpp '// L-14'
flags common/ofi/post.cpp:1 "an unknown rule of RMA"
put common/ofi/post.cpp '// architecture 4.13'
flags common/ofi/post.cpp:1 "an unknown decision"
put tests/unit/post_test.cpp '// rma contract 1.1-1.2'
flags tests/unit/post_test.cpp:1 "the end of a range"
put common/ofi/post.cpp '// net contract 3.9, P5, L-13, rma contract 1.1, architecture 4, p5en.48xlarge, SHA256, 0xA5' 'auto s = "T77";'
accepts "known clauses and other words with digits"
