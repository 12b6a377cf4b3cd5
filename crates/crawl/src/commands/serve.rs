//! `crawl serve` and `crawl mcp`: the servers of projects.

use crate::{
    cli::{McpArgs, ServeArgs},
    logging::{self, say},
};
use crawl_engine::{
    config,
    exit::{Exit, Failure},
};
use crawl_server::{mcp, rest};

/// Runs `crawl serve`.
pub fn rest(args: &ServeArgs) -> Result<Exit, Failure> {
    let settings = config::load(args.database.config.as_deref(), config::environment()?, args.overrides())?;
    logging::start(&settings.log)?;
    rest::run(&settings, &say)
}

/// Runs `crawl mcp`.
pub fn mcp(args: &McpArgs) -> Result<Exit, Failure> {
    let settings =
        config::load(args.database.config.as_deref(), config::environment()?, args.database.overrides())?;
    logging::start(&settings.log)?;
    mcp::run(settings)
}
