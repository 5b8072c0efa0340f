__attribute__((visibility("default"))) int duofi_mock_dependency(void);
int duofi_mock_dependency(void) {
    return 3;
}
