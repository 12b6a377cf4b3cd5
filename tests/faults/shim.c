/* Faults at system calls, for the fault campaign (README.md). Loaded by LD_PRELOAD.
 *
 * Counts the calls that touch files below FAULT_ROOT. At call number FAULT_N of the kinds in FAULT_KINDS it does what
 * FAULT_ACTION says: fail, short, kill-before, kill-after, kill-half. With FAULT_PERSIST every later call of a kind that
 * needs room fails as well. FAULT_LOG names a file that takes every operation in order, with its bytes.
 * FAULT_COUNT names a file that takes the counts at the end. FAULT_CLOCK names a file of eight bytes: seconds that are added to the real time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum kind { K_OPEN, K_WRITE, K_SYNC, K_TRUNCATE, K_RENAME, K_UNLINK, K_MKDIR, K_CLOSE, KINDS };
static const char *const NAMES[KINDS] = {"open", "write", "sync", "truncate", "rename", "unlink", "mkdir", "close"};
enum action { A_NONE, A_FAIL, A_SHORT, A_KILL_BEFORE, A_KILL_AFTER, A_KILL_HALF };

static char root[PATH_MAX];
static size_t root_len;
static int chosen[KINDS];
static enum action action;
static int fault_errno = EIO;
static int persist;
static long fault_n;
static long counted;
static long counts[KINDS];
static int fired;
static int failing_fd = -1;
static int log_fd = -1;
static int hit_fd = -1;
static volatile int64_t *clock_offset;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

static long raw_write(int fd, const void *bytes, size_t length) { return syscall(SYS_write, fd, bytes, length); }

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) syscall(SYS_pause);
}

static int below_root(const char *path) {
    return root_len && strncmp(path, root, root_len) == 0 && (path[root_len] == '/' || path[root_len] == 0);
}

/* The path of a descriptor, if it is a file or folder below the root. */
static int path_of(int fd, char *path) {
    if (!root_len || fd < 0) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return below_root(path);
}

/* The absolute path of a name, as it was given: links are not followed. */
static int path_at(int dir, const char *name, char *path) {
    if (!root_len || !name) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return below_root(path);
    }
    char base[PATH_MAX];
    if (dir == AT_FDCWD) {
        if (syscall(SYS_getcwd, base, sizeof base) <= 0) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        long n = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
        if (n <= 0) return 0;
        base[n] = 0;
    }
    while (name[0] == '.' && name[1] == '/') name += 2;
    if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) return 0;
    return below_root(path);
}

static void note_hit(enum kind kind, const char *path) {
    if (hit_fd < 0) return;
    char line[PATH_MAX + 64];
    int n = snprintf(line, sizeof line, "%s %s\n", NAMES[kind], path);
    raw_write(hit_fd, line, (size_t)n);
}

static int needs_room(enum kind kind) { return kind == K_WRITE || kind == K_MKDIR; }

/* Decides what happens to one call. Called with the lock held. */
static enum action decide(enum kind kind, const char *path, int creates) {
    counts[kind]++;
    if (action == A_NONE) return A_NONE;
    if (fired && persist) {
        int hit = fault_errno == ENOSPC || fault_errno == EDQUOT ? needs_room(kind) || creates
                                                                 : kind != K_CLOSE && (kind != K_OPEN || creates);
        if (hit) note_hit(kind, path);
        return hit ? A_FAIL : A_NONE;
    }
    if (fired || !chosen[kind] || ++counted != fault_n) return A_NONE;
    fired = 1;
    note_hit(kind, path);
    return action;
}

/* One operation in the log: kind, two numbers, inode, then two texts with their lengths. */
static void record(char op, uint64_t a, uint64_t inode, const char *path, const void *bytes, size_t length) {
    if (log_fd < 0) return;
    uint64_t head[5] = {(uint64_t)op, a, inode, strlen(path), length};
    raw_write(log_fd, head, sizeof head);
    raw_write(log_fd, path, strlen(path));
    const char *at = bytes;
    while (length > 0) {
        long n = raw_write(log_fd, at, length);
        if (n <= 0) break;
        at += n;
        length -= (size_t)n;
    }
}

static uint64_t inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) == 0 ? (uint64_t)found.st_ino : 0;
}

#define ENTER() int saved_inside = inside; inside = 1; pthread_mutex_lock(&lock)
#define LEAVE() pthread_mutex_unlock(&lock); inside = saved_inside

/* A call without bytes: rename, unlink, sync. OP is run unless the call is to fail. */
#define SIMPLE(KIND, PATH, OP, AFTER)                       \
    ENTER();                                                \
    enum action todo = decide(KIND, PATH, 0);               \
    long result;                                            \
    if (todo == A_KILL_BEFORE) die();                       \
    if (todo == A_FAIL || todo == A_SHORT) {                \
        result = -1;                                        \
        errno = fault_errno;                                \
    } else {                                                \
        result = (OP);                                      \
        int kept = errno;                                   \
        if (result >= 0) { AFTER; }                         \
        if (todo == A_KILL_AFTER || todo == A_KILL_HALF) die(); \
        errno = kept;                                       \
    }                                                       \
    LEAVE();                                                \
    return result

static int open_at(int dir, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (inside || !path_at(dir, name, path)) return (int)syscall(SYS_openat, dir, name, flags, mode);
    ENTER();
    int creates = (flags & O_CREAT) && syscall(SYS_faccessat, dir, name, F_OK) != 0;
    enum action todo = decide(K_OPEN, path, creates);
    int fd = -1;
    if (todo == A_KILL_BEFORE) die();
    if (todo == A_FAIL || todo == A_SHORT) {
        errno = fault_errno;
    } else {
        fd = (int)syscall(SYS_openat, dir, name, flags, mode);
        int kept = errno;
        if (fd >= 0 && creates) record('C', 0, inode_of(fd), path, "", 0);
        if (fd >= 0 && !creates && (flags & O_TRUNC)) record('T', 0, inode_of(fd), path, "", 0);
        if (todo == A_KILL_AFTER || todo == A_KILL_HALF) die();
        errno = kept;
    }
    LEAVE();
    return fd;
}

#define MODE() mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *name, int flags, ...) { MODE(); return open_at(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(); return open_at(AT_FDCWD, name, flags | O_LARGEFILE, mode); }
int openat(int dir, const char *name, int flags, ...) { MODE(); return open_at(dir, name, flags, mode); }
int openat64(int dir, const char *name, int flags, ...) { MODE(); return open_at(dir, name, flags | O_LARGEFILE, mode); }
int creat(const char *name, mode_t mode) { return open_at(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* Writes at an offset, or where the descriptor stands when it is negative. */
static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset) {
    char path[PATH_MAX];
#define REAL(N) (offset < 0 ? syscall(SYS_write, fd, bytes, (size_t)(N)) : syscall(SYS_pwrite64, fd, bytes, (size_t)(N), offset))
    if (inside || !path_of(fd, path)) return REAL(length);
    ENTER();
    ssize_t result = -1;
    if (failing_fd == fd) {
        failing_fd = -1;
        errno = fault_errno;
        LEAVE();
        return -1;
    }
    enum action todo = decide(K_WRITE, path, 0);
    if (todo == A_KILL_BEFORE) die();
    if (todo == A_FAIL) {
        errno = fault_errno;
    } else {
        int half = (todo == A_SHORT || todo == A_KILL_HALF) && length > 1;
        uint64_t at = (uint64_t)offset;
        if (offset < 0 && log_fd >= 0) {
            struct stat found;
            int appends = fcntl(fd, F_GETFL) & O_APPEND;
            at = appends && fstat(fd, &found) == 0 ? (uint64_t)found.st_size : (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
        }
        result = REAL(half ? length / 2 : length);
        int kept = errno;
        if (result > 0) record('W', at, inode_of(fd), path, bytes, (size_t)result);
        if (todo == A_KILL_AFTER || todo == A_KILL_HALF) die();
        if (todo == A_SHORT) failing_fd = fd;
        errno = kept;
    }
    LEAVE();
    return result;
}

ssize_t write(int fd, const void *bytes, size_t length) { return write_at(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return write_at(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return write_at(fd, bytes, length, offset); }

static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset) {
    char path[PATH_MAX];
    if (inside || !path_of(fd, path))
        return offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0);
    /* a short write is allowed: the first part that holds anything */
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len > 0) return write_at(fd, parts[i].iov_base, parts[i].iov_len, offset);
    return 0;
}
ssize_t writev(int fd, const struct iovec *parts, int count) { return write_parts(fd, parts, count, -1); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return write_parts(fd, parts, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return write_parts(fd, parts, count, offset); }

static long sync_call(long number, char op, int fd, long magic) {
    char path[PATH_MAX];
    if (inside || !path_of(fd, path)) return syscall(number, fd, 0, 0, 0, 0, magic);
    SIMPLE(K_SYNC, path, syscall(number, fd, 0, 0, 0, 0, magic), record(op, 0, inode_of(fd), path, "", 0));
}
#define MAGIC 0x5ca1ab1e
int fsync(int fd) { return (int)sync_call(SYS_fsync, 'S', fd, 0); }
int fdatasync(int fd) { return (int)sync_call(SYS_fdatasync, 'S', fd, 0); }
int syncfs(int fd) { return (int)sync_call(SYS_syncfs, 'A', fd, MAGIC); }

int ftruncate(int fd, off_t length) {
    char path[PATH_MAX];
    if (inside || !path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
    SIMPLE(K_TRUNCATE, path, syscall(SYS_ftruncate, fd, length), record('T', (uint64_t)length, inode_of(fd), path, "", 0));
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

static int rename_call(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    char path[PATH_MAX], target[PATH_MAX];
    if (inside || !path_at(from_dir, from, path) || !path_at(to_dir, to, target))
        return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    SIMPLE(K_RENAME, path, syscall(SYS_renameat2, from_dir, from, to_dir, to, flags),
           record('R', 0, 0, path, target, strlen(target)));
}
int rename(const char *from, const char *to) { return rename_call(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int fd, const char *from, int td, const char *to) { return rename_call(fd, from, td, to, 0); }
int renameat2(int fd, const char *from, int td, const char *to, unsigned f) { return rename_call(fd, from, td, to, f); }

static int unlink_call(int dir, const char *name, int flags) {
    char path[PATH_MAX];
    if (inside || !path_at(dir, name, path)) return (int)syscall(SYS_unlinkat, dir, name, flags);
    SIMPLE(K_UNLINK, path, syscall(SYS_unlinkat, dir, name, flags), record('U', 0, 0, path, "", 0));
}
int unlink(const char *name) { return unlink_call(AT_FDCWD, name, 0); }
int unlinkat(int dir, const char *name, int flags) { return unlink_call(dir, name, flags); }
int rmdir(const char *name) { return unlink_call(AT_FDCWD, name, AT_REMOVEDIR); }

static int mkdir_call(int dir, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (inside || !path_at(dir, name, path)) return (int)syscall(SYS_mkdirat, dir, name, mode);
    SIMPLE(K_MKDIR, path, syscall(SYS_mkdirat, dir, name, mode), record('M', 0, 0, path, "", 0));
}
int mkdir(const char *name, mode_t mode) { return mkdir_call(AT_FDCWD, name, mode); }
int mkdirat(int dir, const char *name, mode_t mode) { return mkdir_call(dir, name, mode); }

static int link_call(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    char path[PATH_MAX], target[PATH_MAX];
    if (inside || !path_at(from_dir, from, path) || !path_at(to_dir, to, target))
        return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
    SIMPLE(K_RENAME, path, syscall(SYS_linkat, from_dir, from, to_dir, to, flags),
           record('L', 0, 0, path, target, strlen(target)));
}
int link(const char *from, const char *to) { return link_call(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int fd, const char *from, int td, const char *to, int f) { return link_call(fd, from, td, to, f); }

/* close releases the descriptor whatever it answers, as on Linux */
int close(int fd) {
    char path[PATH_MAX];
    if (inside || !path_of(fd, path)) return (int)syscall(SYS_close, fd);
    ENTER();
    enum action todo = decide(K_CLOSE, path, 0);
    if (todo == A_KILL_BEFORE) die();
    int result = (int)syscall(SYS_close, fd), kept = errno;
    if (todo == A_KILL_AFTER || todo == A_KILL_HALF) die();
    if (todo == A_FAIL || todo == A_SHORT) {
        result = -1;
        kept = fault_errno;
    }
    errno = kept;
    LEAVE();
    return result;
}

static int64_t offset(void) { return clock_offset ? *clock_offset : 0; }
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) now->tv_sec += offset();
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec at;
    int result = clock_gettime(CLOCK_REALTIME, &at);
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return result;
}
time_t time(time_t *out) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (out) *out = at.tv_sec;
    return at.tv_sec;
}

/* rustix calls the kernel without libc: its syncfs comes as a signal, by a filter that lets the shim's own pass. */
static void on_trapped(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    ucontext_t *state = context;
    int kept = errno;
#if defined(__x86_64__)
    long result = sync_call(SYS_syncfs, 'A', (int)state->uc_mcontext.gregs[REG_RDI], MAGIC);
    state->uc_mcontext.gregs[REG_RAX] = result < 0 ? -errno : result;
#elif defined(__aarch64__)
    long result = sync_call(SYS_syncfs, 'A', (int)state->uc_mcontext.regs[0], MAGIC);
    state->uc_mcontext.regs[0] = (unsigned long)(result < 0 ? -errno : result);
#endif
    errno = kept;
}

static void trap_syncfs(void) {
#if defined(__x86_64__) || defined(__aarch64__)
    struct sigaction handler = {.sa_sigaction = on_trapped, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &handler, NULL);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_syncfs, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAGIC, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

static int own_file(const char *name, int flags) {
    const char *path = getenv(name);
    if (!path) return -1;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0644);
    /* out of the way of the program's own numbers */
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 600);
    if (high < 0) return fd;
    syscall(SYS_close, fd);
    return high;
}

static enum action action_of(const char *name) {
    static const char *const names[] = {"none", "fail", "short", "kill-before", "kill-after", "kill-half"};
    for (int i = 0; i < 6; i++)
        if (strcmp(name, names[i]) == 0) return (enum action)i;
    return A_NONE;
}

__attribute__((constructor)) static void start(void) {
    inside = 1;
    const char *text = getenv("FAULT_ROOT");
    if (text) root_len = strlen(strncpy(root, text, sizeof root - 1));
    const char *kinds = getenv("FAULT_KINDS");
    for (int i = 0; i < KINDS; i++) chosen[i] = kinds && strstr(kinds, NAMES[i]);
    if ((text = getenv("FAULT_ACTION"))) action = action_of(text);
    if ((text = getenv("FAULT_N"))) fault_n = atol(text);
    if ((text = getenv("FAULT_ERRNO"))) fault_errno = atoi(text);
    persist = getenv("FAULT_PERSIST") != NULL;
    log_fd = own_file("FAULT_LOG", O_CREAT | O_WRONLY | O_APPEND);
    hit_fd = own_file("FAULT_HIT", O_CREAT | O_WRONLY | O_APPEND);
    int clock = own_file("FAULT_CLOCK", O_RDONLY);
    if (clock >= 0) {
        void *at = mmap(NULL, 8, PROT_READ, MAP_SHARED, clock, 0);
        if (at != MAP_FAILED) clock_offset = at;
    }
    if (root_len) trap_syncfs();
    inside = 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    if (!path) return;
    inside = 1;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (int i = 0; i < KINDS; i++) {
        char line[64];
        raw_write(fd, line, (size_t)snprintf(line, sizeof line, "%s %ld\n", NAMES[i], counts[i]));
    }
}
