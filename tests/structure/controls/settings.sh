put common/ofi/domain.cpp 'int f() { return 0; }'
flags common/util/settings_table.cpp:1 "a setting that nobody reads"
put common/ofi/domain.cpp 'int f(const S& s) { return s.read_one + s.judged_one; }'
flags common/util/settings_table.cpp:3 "a setting that is read after all"
