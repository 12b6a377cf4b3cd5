//! From groups back to text.

use super::{Group, RobotsTxt};
use std::fmt::{self, Write};

/// The file in its shortest form: what was understood, in the order of the groups, patterns normalised. Parsing it
/// gives the same decisions.
impl fmt::Display for RobotsTxt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.groups.iter().try_for_each(|group| group.write(f))?;
        self.sitemaps.iter().try_for_each(|sitemap| writeln!(f, "Sitemap: {sitemap}"))
    }
}

impl Group {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line that names nobody begins a group nevertheless.
        if self.agents.is_empty() {
            f.write_str("User-agent:\n")?;
        }
        // A Crawl-delay holds for the agents above it, so it stays in its place among them; above the first it holds for
        // nobody.
        let mut delays = self.delays.iter().filter(|(count, _)| *count > 0).peekable();
        for named in 0..=self.agents.len() {
            while let Some((_, delay)) = delays.next_if(|(count, _)| *count <= named) {
                writeln!(f, "Crawl-delay: {}", delay.as_secs_f64())?;
            }
            if let Some(agent) = self.agents.get(named) {
                writeln!(f, "User-agent: {agent}")?;
            }
        }
        for rule in &self.rules {
            f.write_str(if rule.allow { "Allow: " } else { "Disallow: " })?;
            writeln!(f, "{}", rule.pattern)?;
        }
        // Without a rule the next group's agents would be this one's.
        if self.rules.is_empty() {
            f.write_str("Disallow:\n")?;
        }
        f.write_char('\n')
    }
}
