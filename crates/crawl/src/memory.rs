//! Giving memory back.

/// Returns to the system what this thread has freed. The allocator does so by itself after a while, and only when the
/// thread allocates again; what a page of several megabytes leaves behind on each thread that it passes would stay
/// with the process until then, and the next such page would come on top of it.
#[expect(unsafe_code, reason = "the allocator's own function, which the crate mimalloc does not wrap")]
pub fn give_back() {
    // SAFETY: takes no pointers and may be called at any time; in a program that runs on another allocator it finds
    // nothing to give back.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
