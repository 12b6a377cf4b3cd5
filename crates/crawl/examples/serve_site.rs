//! Serves a folder on loopback: `serve_site FOLDER [PORT]`. Port 0, the default, picks a free one; the address is
//! printed as a URL. Used by the demo, and by hand to look at the fixture sites.

#[path = "../../../tests/support/mod.rs"]
mod support;

use std::{env, error::Error, io::Write, path::Path};
use support::{server::Server, site::Site};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let folder = args.next().ok_or("usage: serve_site FOLDER [PORT]")?;
    let port = args.next().map_or(Ok(0), |p| p.parse())?;
    let server = Server::start(port, Site::open(Path::new(&folder))?)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url("/"))?;
    out.flush()?;
    server.run();
    Ok(())
}
