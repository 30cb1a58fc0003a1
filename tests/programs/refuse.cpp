// Runs a program under a filter that refuses cross-memory attach (process_vm_readv and process_vm_writev), as many containers do.
// refuse PROGRAM ARGUMENTS...; exit code 77 where filters are not permitted.
// refuse populate PROGRAM ARGUMENTS...: refuses to allocate 4 MiB and more ahead of use instead, as a kernel does that has no memory for
// it.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <seccomp.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    bool const populate = argc > 1 && std::strcmp(argv[1], "populate") == 0;
    argv += populate ? 1 : 0;
    argc -= populate ? 1 : 0;
    if (argc < 2)
        return 2;
    scmp_filter_ctx const filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == nullptr)
        return 77;
    constexpr unsigned populate_write = 23;  // MADV_POPULATE_WRITE
    scmp_arg_cmp const big_ones[] = {{1, SCMP_CMP_GE, 4 << 20, 0}, {2, SCMP_CMP_EQ, populate_write, 0}};
    if (populate && seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EFAULT), SCMP_SYS(madvise), 2, big_ones) != 0)
        return 77;
    for (int const call : {SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev)})
        if (!populate && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0) != 0)
            return 77;
    if (int const refused = seccomp_load(filter); refused != 0) {
        std::fprintf(stderr, "refuse: %s\n", std::strerror(-refused));
        return 77;
    }
    seccomp_release(filter);
    execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    return 127;
}
