//! Pages of sites with their own rule (`sites.toml`).

use super::{Chosen, platform};
use crate::{page::Page, polish::Polish, rules::Part, selection::Selection};
use crawl_model::{Extractor, PageMetadata};

/// Elements that match the user's selector, if there is one.
pub(crate) fn selected(page: &Page<'_>) -> Option<Chosen> {
    let selectors = page.rules.selected.as_ref()?;
    let roots = platform::outermost(page, platform::elements(page, Part::Selected, 0));
    let found = roots.len();
    let selection = Selection::new(page, roots, vec![false; page.dom.len() as usize]);
    let reason = format!("{} words of {found} elements that match {selectors}", selection.words);
    Some(Chosen { extractor: Extractor::SiteRule, ..Chosen::by_platform(selection, reason, Polish::Nothing) })
}

/// Index of the rule and the content, if the page's template has a rule.
pub(crate) fn choose(page: &Page<'_>) -> Option<(u16, Chosen)> {
    let url = page.url.filter(|_| !page.rules.sites.site.is_empty())?;
    for (index, (site, template)) in (0_u16..).zip(page.rules.sites.templates()) {
        if !site.matches(url) || !template.matches(url) {
            continue;
        }
        let roots = platform::outermost(page, platform::elements(page, Part::SiteContent, index));
        let mut drop = vec![false; page.dom.len() as usize];
        for id in platform::elements(page, Part::SiteDrop, index) {
            drop[id as usize] = true;
            page.trace.mark(id, "the site's own drop list (sites.toml)");
        }
        let selection = Selection::new(page, roots, drop);
        if selection.words > 0 {
            let reason = format!("{} words by the rule for {} in sites.toml", selection.words, site.host());
            let chosen = Chosen {
                extractor: Extractor::SiteRule,
                ..Chosen::by_platform(selection, reason, Polish::Nothing)
            };
            return Some((index, chosen));
        }
    }
    None
}

/// Sets the title that the rule of a template selects, if the page has one.
pub(crate) fn set_title(page: &Page<'_>, index: u16, metadata: &mut PageMetadata) {
    let title = platform::elements(page, Part::SiteTitle, index).into_iter().find(|id| page.is_visible(*id));
    let Some(title) = title else { return };
    let text = page.visible_text(title).split_whitespace().collect::<Vec<_>>().join(" ");
    if !text.is_empty() {
        metadata.title = Some(text);
        metadata.sources.title = Some("site_rule".to_owned());
    }
}
