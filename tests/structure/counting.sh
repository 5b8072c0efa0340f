#!/usr/bin/env bash
# The numbers in the closing line of `./run test`: a small real ctest run of every outcome, counted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ctest=${1:-ctest}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/CTestTestfile.cmake" <<'TEXT'
add_test(plain_pass sh -c "echo fine")
add_test(plain_fail sh -c "exit 1")
add_test(cases_pass sh -c "echo '[  PASSED  ] 3 tests.'")
add_test(cases_mixed sh -c "echo '[  PASSED  ] 4 tests.'; echo '[  SKIPPED ] 2 tests, listed below:'; echo '[  SKIPPED ] A.b'; echo '[  FAILED  ] 1 test, listed below:'; echo '[  FAILED  ] A.c'; exit 1")
add_test(all_skipped sh -c "echo '[  SKIPPED ] A.d (0 ms)'; echo '[  PASSED  ] 0 tests.'; echo '[  SKIPPED ] 1 test, listed below:'; echo '[  SKIPPED ] A.d'")
add_test(report_at_exit sh -c "echo '[  PASSED  ] 5 tests.'; exit 23")
add_test(crash sh -c "kill -SEGV $$")
add_test(left_out sh -c "exit 77")
set_tests_properties(left_out PROPERTIES SKIP_RETURN_CODE 77)
add_test(not_found /nonexistent/program)
TEXT
# passed: plain 1 + 3 + 4 + 5; failed: plain_fail, A.c, report_at_exit, crash, not_found; skipped: 2 + 1 + left_out
expected="13 5 4"
(cd "$work" && "$ctest" -j 2 --output-junit "$work/results.xml" --test-output-size-passed 100000 >/dev/null 2>&1) && {
    echo "FAILED: ctest reports success"
    exit 1
}
counted=$(awk -f "$here/../support/count_results.awk" "$work/results.xml")
listed=$(awk -v list=1 -f "$here/../support/count_results.awk" "$work/results.xml")
echo "counted: $counted"
echo "$listed"
if [ "$counted" != "$expected" ]; then
    cat "$work/results.xml"
    echo "FAILED: expected $expected"
    exit 1
fi
[[ $listed == *"all_skipped: A.d"* && $listed == *left_out* ]] || { echo "FAILED: skipped tests are not named"; exit 1; }
