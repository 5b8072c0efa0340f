/* A library without any table. */
__attribute__((visibility("default"))) int duofi_mock_marker = 1;
