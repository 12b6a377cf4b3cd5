//! The binary `crawl`: flags to plain data, plain data to a run, a run to an exit code.

use clap::Parser;
use crawl::{cli::Cli, exit::Exit};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    crawl::descriptors::raise();
    let exit = match Cli::try_parse() {
        Ok(cli) => crawl::dispatch(cli),
        Err(error) => {
            // clap prints help and version to standard output, errors to standard error
            let _ = error.print();
            if error.use_stderr() { Exit::Usage } else { Exit::Done }
        }
    };
    ExitCode::from(exit as u8)
}
