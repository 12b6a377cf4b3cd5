//! From groups back to text.

use super::{Group, RobotsTxt};
use std::fmt::{self, Write};

/// Writes the file in its shortest form: the parsed groups in order, with normalised patterns. Parsing it
/// gives the same verdicts.
impl fmt::Display for RobotsTxt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.groups.iter().try_for_each(|group| group.write(f))?;
        self.sitemaps.iter().try_for_each(|sitemap| writeln!(f, "Sitemap: {sitemap}"))
    }
}

impl Group {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line without names begins a group too.
        if self.agents.is_empty() {
            f.write_str("User-agent:\n")?;
        }
        // A Crawl-delay applies to the agents above it, so it keeps its place among them; above the first it
        // applies to none.
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
        // Without a rule the next group's agents would join this group.
        if self.rules.is_empty() {
            f.write_str("Disallow:\n")?;
        }
        f.write_char('\n')
    }
}
