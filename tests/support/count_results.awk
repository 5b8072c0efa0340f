# Reads the JUnit file of one ctest run. Prints "passed failed skipped"; with list=1 the skipped cases.
# A GoogleTest program counts with its cases, any other test as one. A program that fails without naming
# a failed case (crash, time limit, sanitizer report) counts as one failure.

function attribute(line, name,    start) {
    start = index(line, " " name "=\"")
    if (!start) return ""
    line = substr(line, start + length(name) + 3)
    return substr(line, 1, index(line, "\"") - 1)
}

function finish() {
    if (!in_test) return
    if (status == "fail" && !case_failed) case_failed = 1
    if (status == "notrun" && reason !~ /^SKIP_/) case_failed = 1   # no such program, or a dependency failed
    else if (status == "notrun" || status == "disabled") {
        case_skipped = 1
        if (list) print "   " test " (skipped as a whole)"
    } else if (status == "run" && !case_passed && !case_skipped) case_passed = 1
    passed += case_passed; failed += case_failed; skipped += case_skipped
    in_test = 0
}

/<testcase / {
    finish()
    in_test = 1
    case_passed = case_failed = case_skipped = 0
    test = attribute($0, "name")
    status = attribute($0, "status")
    reason = ""
}
in_test && /<skipped / { reason = attribute($0, "message") }
in_test && /\[  PASSED  \] [0-9]+ test/ { sub(/.*\[  PASSED  \] /, ""); case_passed += $1 + 0 }
in_test && /\[  FAILED  \] [0-9]+ test/ { sub(/.*\[  FAILED  \] /, ""); case_failed += $1 + 0 }
in_test && /\[  SKIPPED \] [0-9]+ test/ { sub(/.*\[  SKIPPED \] /, ""); case_skipped += $1 + 0; next }
in_test && list && /\[  SKIPPED \] .*\([0-9]+ ms\)/ { sub(/.*\[  SKIPPED \] /, ""); print "   " test ": " $0 }
/<\/testsuite>/ { finish() }
END {
    finish()
    if (!list) printf "%d %d %d\n", passed, failed, skipped
}
