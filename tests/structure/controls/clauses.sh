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
put p2p/select.cpp '// L-13 is of another page, but so is C-3'
put docs/contract/rma.md '### 1.1 Names' '- **L-13** shared' '- **C-3** handles'
put docs/contract/p2p.md '### 1.11 Selection' '- **C-4** empty'
flags p2p/select.cpp:1 "a rule of RMA cited by P2P"
put docs/contract/p2p.md '### 1.11 Selection' '- **C-4** empty'
put p2p/select.cpp '// C-4, p2p contract 1.12'
flags p2p/select.cpp:1 "an unknown section of P2P"
put docs/contract/p2p.md '### 1.11 Selection' '- **C-4** empty'
put p2p/select.cpp '// C-4, p2p contract 1.11, L-13'
accepts "known clauses of P2P"
put common/ofi/post.cpp '// net contract 3.9, P5, L-13, rma contract 1.1, architecture 4, p5en.48xlarge, SHA256, 0xA5' 'auto s = "T77";'
accepts "known clauses and other words with digits"
