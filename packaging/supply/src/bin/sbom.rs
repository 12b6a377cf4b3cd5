//! `sbom [TARGET]`: writes the components of the binary `crawl` to standard output, as CycloneDX 1.5 in JSON.
//! Run it in the repository. Without a target the binary is one for Linux on x86-64.

use crawl_supply::sbom::document;
use std::{
    env,
    io::{self, Write},
    path::Path,
};

fn main() -> anyhow::Result<()> {
    let target = env::args().nth(1).unwrap_or_else(|| "x86_64-unknown-linux-gnu".into());
    let text = document(Path::new("Cargo.toml"), "crawl", &target)?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
