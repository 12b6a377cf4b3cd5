//! The binary `crawl`: parses the flags, runs the command, and returns its exit code.

use crawl::{
    cli::Cli,
    usage_error::{shortened, without_secrets},
};
use crawl_engine::{descriptors, exit::Exit, memory};
use std::{io::Write, process::ExitCode};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    descriptors::raise_limit();
    memory::set_purge_delay();
    let exit = match Cli::of_process() {
        Ok(cli) => crawl::dispatch(cli),
        Err(error) => {
            if error.use_stderr() {
                let words = || std::env::args_os().map(|word| word.to_string_lossy().into_owned());
                let text = shortened(&without_secrets(&error.render().to_string(), words()), words());
                // a closed standard error is not worth an error
                let _ = std::io::stderr().write_all(text.as_bytes());
                Exit::Usage
            } else {
                // help and version go to standard output
                let _ = error.print();
                Exit::Done
            }
        }
    };
    ExitCode::from(exit as u8)
}
