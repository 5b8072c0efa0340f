/* Needs a library that the loader cannot find (rma contract L-8). */
int duofi_mock_dependency(void);
__attribute__((visibility("default"))) int duofi_mock_dependent(void);
int duofi_mock_dependent(void) {
    return duofi_mock_dependency();
}
