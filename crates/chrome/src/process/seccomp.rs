//! System call filter of the browser and its child programs (seccomp(2)). It lies outside of Chromium's own
//! sandbox, which a page that breaks the browser escapes. A denied call fails with `EPERM`; a call of another
//! architecture ends its process.

use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// Calls that the browser does not need: other processes, mounts, the kernel and its modules, keys, and
/// kernel interfaces with a history of vulnerabilities.
const DENIED: &[i64] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setns,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // file systems
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // the kernel
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_vhangup,
    // keys
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];
/// Terminal requests by which a program injects commands into its parent shell.
const TERMINAL: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];
/// Socket families that the browser opens.
const FAMILIES: [i32; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
/// Socket types that bypass the proxy. The proxy resolves names, so no datagrams are needed.
const TYPES: [i32; 5] =
    [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP];
/// Bits of a socket's type without the flags.
const TYPE: u64 = 0xf;
/// Lowest call number of the x32 interface, which would give calls a second number.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Builds the filter in the format of `bwrap --seccomp`.
///
/// # Errors
/// Fails if the library does not know the architecture.
pub(super) fn filter() -> Result<Vec<u8>, BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(rules()?, SeccompAction::Allow, denied, arch)?;
    let program: Vec<sock_filter> = filter.try_into()?;
    Ok(prelude().iter().chain(&program).flat_map(bytes).collect())
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<_, _> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let terminal = TERMINAL.map(|request| rule(&[(1, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, terminal.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_socket, sockets()?);
    Ok(rules)
}

/// Denies all sockets but local ones and those of TCP.
fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
    let [_, internet @ ..] = FAMILIES;
    let others: Vec<_> = FAMILIES.iter().map(|family| (0, SeccompCmpOp::Ne, number(*family))).collect();
    let mut rules = vec![rule(&others)?];
    for family in internet {
        let family = (0, SeccompCmpOp::Eq, number(family));
        for kind in TYPES {
            rules.push(rule(&[family.clone(), (1, SeccompCmpOp::MaskedEq(TYPE), number(kind))])?);
        }
        let tcp = number(libc::IPPROTO_TCP);
        rules.push(rule(&[family, (2, SeccompCmpOp::Ne, 0), (2, SeccompCmpOp::Ne, tcp)])?);
    }
    Ok(rules)
}

/// Builds a rule that denies a call whose arguments meet all conditions.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
    let conditions = conditions
        .iter()
        .map(|(argument, operator, value)| SeccompCondition::new(*argument, Dword, operator.clone(), *value));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

const fn number(constant: i32) -> u64 {
    constant.cast_unsigned() as u64
}

/// Ends a process that makes a call of the x32 interface.
#[cfg(target_arch = "x86_64")]
fn prelude() -> Vec<sock_filter> {
    let step = |code: u32, jf, k| sock_filter { code: code as u16, jt: 0, jf, k };
    vec![
        // the number of the call is the first field of `struct seccomp_data`
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_KILL_PROCESS),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
const fn prelude() -> Vec<sock_filter> {
    Vec::new()
}

/// `struct sock_filter` in memory.
fn bytes(step: &sock_filter) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&step.code.to_ne_bytes());
    bytes[2..4].copy_from_slice(&[step.jt, step.jf]);
    bytes[4..].copy_from_slice(&step.k.to_ne_bytes());
    bytes
}
