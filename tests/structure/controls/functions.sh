put common/util/log.cpp "$(body 80 'void write(int a)')"
accepts "a function of 80 lines"
put common/util/log.cpp 'int before;' "$(body 81 'void write(int a)')"
flags common/util/log.cpp:2 "a function of 81 lines"
put common/util/log.cpp 'namespace a {' 'class B {' '  public:' "$(body 81 '    int f() const noexcept')" '};' '}'
flags common/util/log.cpp:4 "a member function"
put common/util/log.cpp 'B::B(int a)' '    : a_{a},' '      b_{1} {' "$(lines 80 '    x = "}";')" '}'
flags common/util/log.cpp:1 "a constructor with a list of initialisers"
put common/util/log.cpp 'template <typename T>' 'auto f(T t) -> Result<T> {' "$(lines 80 '    if (x) { y(); } // }')" '}'
flags common/util/log.cpp:1 "a template with braces in comments"
put common/util/log.cpp 'constexpr Row kTable[] = {' "$(lines 90 '    {1, f("{{{")},')" '};'
accepts "a long table"
put common/util/log.hpp 'struct Settings {' "$(lines 90 '    int value = g(1);')" '};'
accepts "a long struct"
put common/util/log.cpp 'auto t = R"x(' "$(lines 90 '} {')" ')x";' 'char c = 0x7f + 1'"'"'000;' 'void f() {' '}'
accepts "raw text and digit separators"
put tests/unit/log_test.cpp "$(body 81 'TEST(Log, writes)')"
flags tests/unit/log_test.cpp:1 "a test case"
put common/util/log.cpp 'void f() {' '    if (x) {' '}'
flags common/util/log.cpp:3 "braces that do not balance"
put common/util/log.cpp 'constexpr auto kRows = std::to_array<Row>({' "$(lines 90 '    {.name = "a", .low = f(1)},')" '});'
accepts "a long table made by a call"
put common/util/log.cpp 'int f(int a,' '      int b)' '{' "$(lines 79 '    auto g = [&] { return 1; };')" '}'
flags common/util/log.cpp:1 "a function whose brace stands alone"
