/* Counts the basic blocks that run of what gcc compiles with -fsanitize-coverage=trace-pc. */
unsigned long long counted_blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { counted_blocks++; }
